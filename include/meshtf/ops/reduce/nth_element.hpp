// nth_element: the element that has a given place in the order along a dimension.
#pragma once

#include <meshtf/ops/reduce/max_and_argmax.hpp>
#include <meshtf/ops/reduce/top_k.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The first elements in order, and the last of these.
template<extent N>
struct first_ones : dim<N> {};
struct last_one : dim<1> {};

/// The last of the elements along `Ranks`.
template<class Ranks, class Out, class T, class L, class... D>
constexpr auto last_of(tensor<T, L, D...> const& x) {
  using plan = slice_plan<actual<L>, shape<D...>, Ranks, last_one>;
  auto& m    = x.machine();
  auto last  = tensor_of<T, L, typename plan::result>::uninitialised(m);
  m.run(task::take_part<T>{Ranks::size - 1}, plan::part, x.data(), last.data());
  return tensor_of<T, L, Out>{m, last.handle()};
}

}  // namespace detail

/// The element number `N` (from 0) along `Along` if they are ordered from the smallest on, and its index;
/// with `{.descending = true}` from the largest on.
///
///     auto const [median, where] = nth_element<sample, sample::size / 2>(errors);   // [sample, task] ->
///     [task] twice
///
/// Made as `top_k` of N + 1 elements, so ties, NaNs, a split `Along` and what is sent are as there. Gradient:
/// dz of the value goes to the element at the index; it sends nothing and needs no reduction. The index has
/// none.
template<Dimension Along, extent N, detail::NumberOperand X>
constexpr auto nth_element(X const& operand, ordering order = {},
                           std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using out     = without<in, shape<Along>>;
  using there   = std::conditional_t<(N >= 0 && N < Along::size), legal,
                                     dim_has_no_element_number<Along, Along::size, N>>;
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = first_objection<reduce_verdict<actual<L>, in, Along>, there, detail::index_verdict<Along>>;
  static_assert(accepted<whole>,
                "meshtf: nth_element needs a finished value: write nth_element<...>(finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: nth_element can't take this element along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected_pair{};
  } else {
    using ranks   = detail::first_ones<N + 1>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("nth_element", at);
    auto const first = detail::first_ranks<Along, ranks>(x, order.descending);
    auto value       = detail::last_of<ranks, out>(first.value);
    auto index       = detail::last_of<ranks, out>(first.index);
    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(x))
        detail::record(value, [x = x.without_value(), index = detail::keep(index)](auto const& dz) {
          auto const here = detail::indices<std::int32_t, L, Along>(dz.machine());
          detail::contribute(x, detail::each<T, in>(function::where_found{}, dz, index.value(), here));
        });
    return value_and_index<decltype(value), decltype(index)>{std::move(value), std::move(index)};
  }
}

template<Dimension Along, extent N>
constexpr detail::rejected_pair nth_element(rejected, ordering = {}, std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
