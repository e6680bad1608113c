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

/// `w`, which its block has gathered, in the elements of `Whole`; its gradient arrives in its own.
template<class Whole, class T, class L, class... D, class Found>
constexpr Whole out_of_message(tensor<T, L, D...> const& w, Found const& found, std::source_location at) {
  using used = actual<typename Whole::layout_type>;
  w.machine().begin_operation("reshard", at);
  Whole z = found.block->template used<Whole>(*found.weight);
  if (meshtf::detail::wants_gradient(w))
    meshtf::detail::record<meshtf::detail::incoming::as_it_is>(
        z,
        [w = w.without_value()](auto const& dz, axis_set unreduced) {
          using back = meshtf::detail::relocation<actual<L>, shape<D...>, used, shape<D...>>;
          meshtf::detail::contribute_moved<back>(w, meshtf::detail::converted<T>(dz), unreduced);
        },
        w.gradient_stays_unreduced());
  return z;
}

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
    else if constexpr (is_kept_elsewhere<X, W>) {
      using used_in = meshtf::detail::element_in<X>;
      if constexpr (meshtf::detail::is_kept_part_of<layout_of_x, actual<typename W::layout_type>>)
        if (auto const found = meshtf::detail::find_packed<used_in>(w))
          return out_of_message<tensor_of<used_in, meshtf::detail::layout_in<X>, typename W::shape_type>>(
              w, found, at);
      return reshard<layout_of_x>(cast<used_in>(w, at), at);
    } else if constexpr (same) return (w);
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
