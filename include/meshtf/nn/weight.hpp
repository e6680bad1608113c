// Weights in mixed precision: a layer's weights in the elements in which it computes.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/product/einsum.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
namespace detail {

using namespace meshtf::detail;

/// A weight as a layer uses it with `X`: itself if the elements are the same, otherwise cast to those of `X`.
/// Each use has a cast of its own, so the gradients of all uses are added up in the weight's own type.
/// Source: Micikevicius et al., Mixed Precision Training (2018), section 3.1: weights are kept in single
/// precision, and rounded where they are used.
template<class X, Tensor W>
constexpr decltype(auto) weight_for(W const& w, std::source_location at) {
  if constexpr (AnyRejected<X>) return (w);
  else if constexpr (std::is_same_v<element_in<X>, typename W::element_type> ||
                     !FloatingElement<element_in<X>>)
    return (w);
  else return cast<element_in<X>>(w, at);
}

/// A scale or bias as it is where the norm of `X` takes it so, otherwise cast.
template<class X, Tensor W>
constexpr decltype(auto) vector_for(W const& w, std::source_location at) {
  if constexpr (AnyRejected<X>) return (w);
  else if constexpr (std::is_same_v<computed<element_in<X>>, typename W::element_type>) return (w);
  else return weight_for<X>(w, at);
}

/// Whether `einsum<Out...>` of `X` and a weight is one product of tensors, and they have other elements.
template<class Out, Operand X, Tensor W>
constexpr bool casts_for_product() {
  using cast_weight = tensor_of<element_in<X>, typename W::layout_type, typename W::shape_type>;
  using in_x        = shape_in<X>;
  using in_w        = typename W::shape_type;
  if constexpr (std::is_same_v<element_in<X>, typename W::element_type> || !FloatingElement<element_in<X>> ||
                OpenSum<X>)
    return false;
  else if constexpr (summed_in_x_alone<Out, in_x, in_w>::rank > 0 ||
                     summed_in_x_alone<Out, in_w, in_x>::rank > 0)
    return false;
  else
    return accepted<
        first_objection<operands_fit<X, cast_weight>, typename product_of<Out, X, cast_weight>::verdict>>;
}

/// einsum<Out...>(x, w) in the elements of x. A weight of another type is cast for the product and once more
/// for the gradient of x: the tape keeps the weight, which lives anyway, and not its image.
template<class... Out, Operand X, class T, class L, class... W>
constexpr auto product(shape<Out...>, X const& operand, tensor<T, L, W...> const& w,
                       std::source_location at) {
  if constexpr (casts_for_product<shape<Out...>, X, tensor<T, L, W...>>()) {
    using U       = element_in<X>;
    auto const& x = entered(operand);
    x.machine().enter("einsum", at);
    auto z = contracted<shape<Out...>>(x, each<U, shape<W...>>(conversion<U, T>{}, w));
    add_up_unless_open<X>(z);
    if (wants_gradient(x, w))
      record(z.value, [x = keep(x, w.needs_gradient()), w = keep(w, x.needs_gradient())](auto const& dz) {
        if (x.needs_gradient())
          contribute_product(x.target(), axis_set{0}, dz,
                             each<U, shape<W...>>(conversion<U, T>{}, w.value()));
        if (w.needs_gradient()) {
          auto const g = contracted<shape<W...>>(dz, x.value());
          contribute(w.target(), each<T, shape<W...>>(conversion<T, U>{}, g.value), g.owed, g.why);
        }
      });
    return std::move(z.value);
  } else {
    return einsum<Out...>(operand, weight_for<X>(w, at), at);
  }
}
MESHTF_ACCEPT_REJECTED(product)

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
