// split_into: a tensor as several, one after the other along a dimension.
#pragma once

#include <initializer_list>
#include <source_location>
#include <tuple>
#include <utility>

#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/plan/split_into_plan.hpp>
#include <meshtf/tensor/pieces.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class From, class To, class T, class L, class... D>
constexpr auto piece(tensor<T, L, D...> const& x, extent first) {
  if constexpr (stays_whole<actual<L>, To>) {
    using plan = slice_plan<actual<L>, shape<D...>, From, To>;
    return piece_of<tensor_of<T, L, typename plan::result>>(x, plan::part, first);
  } else {
    return own_part<To>(piece<From, whole_part<To>>(x, first));
  }
}

constexpr extent sum_of_first(std::size_t n, std::initializer_list<extent> sizes) {
  extent sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += sizes.begin()[i];
  return sum;
}

template<class From, class... To, class T, class L, class... D>
constexpr auto pieces(tensor<T, L, D...> const& x) {
  auto const cut = to_be_cut(x);
  // such gradients would be unreduced over different dimensions, which a record can't put side by side
  if (wants_gradient(x) && x.gradient_stays_unreduced())
    x.machine().constrain(unsplit{split_over<actual<L>, shape<To...>>});
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{piece<From, To>(cut, sum_of_first(I, {To::size...}))...};  // braces: evaluated in order
  }(std::index_sequence_for<To...>{});
}

}  // namespace detail

/// A tuple of tensors: the first `First::size` elements of `x` along `From`, as the dimension `First` in its
/// place, then the next as the next dimension, up to the last. The inverse of `concat`. (Mesh TensorFlow's
/// `split`; here `split` is a rule of layouts.)
///
///     auto const [q, k, v] = split_into<all_heads, heads, key_heads, key_heads>(projected);
///
/// `From` is whole under the layout; where one of the others is split, each process keeps its part of that
/// piece. Local; pieces of a partial sum are partial sums. Gradient: those of the pieces side by side, with
/// zeros for a piece that has none; that of a parameter stays unreduced.
template<Dimension From, Dimension First, Dimension... Rest, detail::Operand X>
constexpr auto split_into(X const& operand, std::source_location at = std::source_location::current()) {
  using L            = detail::layout_in<X>;
  using partial_fits = detail::partial_sum_verdict<L, shape<First, Rest...>, detail::unreduced_axes_in<X>>;
  using verdict      = split_into_verdict<actual<L>, detail::shape_in<X>, From, First, Rest...>;
  static_assert(
      accepted<partial_fits>,
      "meshtf: split_into can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: split_into can't cut this dimension into these");
  if constexpr (!accepted<first_objection<partial_fits, verdict>>) {
    return std::tuple{detail::rejected{}, detail::rejected_for<Rest>{}...};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("split_into", at);
    detail::constrain_partial_sum<First, Rest...>(operand);
    return detail::pieces_as_in(operand, detail::pieces<From, First, Rest...>(x));
  }
}

template<Dimension From, Dimension First, Dimension... Rest>
constexpr auto split_into(rejected, std::source_location = {}) {
  return std::tuple{rejected{}, detail::rejected_for<Rest>{}...};
}

}  // namespace v0
}  // namespace meshtf
