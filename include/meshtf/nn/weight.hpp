// Weights in mixed precision: a layer's weights in the elements in which it computes.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/shape/reshard.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
namespace detail {

template<class X, class W>
inline constexpr bool is_kept_elsewhere =
    !std::is_same_v<actual<meshtf::detail::layout_in<X>>, actual<typename W::layout_type>>;

/// A weight as a layer uses it with `X`: itself if elements and layout are the same, otherwise cast to those
/// of `X` and moved there. Each use has a cast of its own, so the gradients of all uses are added up in the
/// weight's own type, and a move of its own, so what was gathered dies after the use.
/// Source: Micikevicius et al., Mixed Precision Training (2018), section 3.1: weights are kept in single
/// precision, and rounded where they are used.
template<class X, Tensor W>
constexpr decltype(auto) weight_for(W const& w, std::source_location at) {
  if constexpr (meshtf::detail::AnyRejected<X>) {
    return (w);
  } else {
    constexpr bool same = std::is_same_v<meshtf::detail::element_in<X>, typename W::element_type> ||
                          !FloatingElement<meshtf::detail::element_in<X>>;
    using layout_of_x = actual<meshtf::detail::layout_in<X>>;
    if constexpr (is_kept_elsewhere<X, W> && same) return reshard<layout_of_x>(w, at);
    else if constexpr (is_kept_elsewhere<X, W>)
      return reshard<layout_of_x>(cast<meshtf::detail::element_in<X>>(w, at), at);
    else if constexpr (same) return (w);
    else return cast<meshtf::detail::element_in<X>>(w, at);
  }
}

/// A scale or bias as it is where the norm of `X` takes it so, otherwise cast.
template<class X, Tensor W>
constexpr decltype(auto) vector_for(W const& w, std::source_location at) {
  if constexpr (meshtf::detail::AnyRejected<X>) {
    return (w);
  } else {
    constexpr bool same = std::is_same_v<computed<meshtf::detail::element_in<X>>, typename W::element_type>;
    if constexpr (same && is_kept_elsewhere<X, W>)
      return reshard<actual<meshtf::detail::layout_in<X>>>(w, at);
    else if constexpr (same) return (w);
    else return weight_for<X>(w, at);
  }
}

/// Whether `einsum<Out...>` of `X` and a weight is one product of tensors, and the weight has other elements
/// or is kept under another layout.
template<class Out, meshtf::detail::Operand X, Tensor W>
constexpr bool casts_for_product() {
  using cast_weight =
      tensor_of<meshtf::detail::element_in<X>, meshtf::detail::layout_in<X>, typename W::shape_type>;
  using in_x = meshtf::detail::shape_in<X>;
  using in_w = typename W::shape_type;
  if constexpr ((std::is_same_v<meshtf::detail::element_in<X>, typename W::element_type> &&
                 !is_kept_elsewhere<X, W>) ||
                !FloatingElement<meshtf::detail::element_in<X>> || meshtf::detail::PartialSum<X>)
    return false;
  else if constexpr (meshtf::detail::summed_only_in<in_x, in_w, Out>::rank > 0 ||
                     meshtf::detail::summed_only_in<in_w, in_x, Out>::rank > 0)
    return false;
  else
    return accepted<first_objection<meshtf::detail::operands_fit<X, cast_weight>,
                                    typename meshtf::detail::product_of<Out, X, cast_weight>::verdict>>;
}

/// einsum<Out...>(x, w) in the elements of x and under its layout. A weight of another type is cast for the
/// product and once more for the gradient of x, and one that is kept under another layout is gathered for
/// each of the two: the tape keeps the weight, which lives anyway, and not its image. Source of the second:
/// Rajbhandari and others, ZeRO (2020), stage 3.
template<class... Out, meshtf::detail::Operand X, class T, class L, class... W>
constexpr auto einsum_with_weight(shape<Out...>, X const& operand, tensor<T, L, W...> const& w,
                                  std::source_location at) {
  if constexpr (casts_for_product<shape<Out...>, X, tensor<T, L, W...>>()) {
    return meshtf::detail::contract_and_record<meshtf::detail::sum_policy::reduce, shape<Out...>>(
        "einsum", at, operand, w);
  } else {
    return einsum<Out...>(operand, weight_for<X>(w, at), at);
  }
}
MESHTF_ACCEPT_REJECTED(einsum_with_weight)

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
