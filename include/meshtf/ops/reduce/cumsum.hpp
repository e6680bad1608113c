// cumsum: running sums along a dimension.
#pragma once

#include <meshtf/ops/reduce/running.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> running_sums(tensor<T, L, D...> const& x, running which) {
  constexpr bool stays_whole = is_undecided<wet<L>> && NarrowElement<T>;  // a search for a layout does not split the lines of narrow elements
  if constexpr (!cumsum_plan<wet<L>, shape<D...>, Along>::in_parts || stays_whole) return run_along<reduction::sum, Along>(x, which);
  else if constexpr (NarrowElement<T>)  // the sums of parts are not rounded
    return each<T, shape<D...>>(function::identity{}, running_sums<Along>(each<computed<T>, shape<D...>>(function::identity{}, x), which));
  else return run_on<reduction::sum, Along>(x, joined_before<reduction::sum, Along>(x, which.reverse), which);
}

}  // namespace detail

/// For each element the sum of all elements up to it along `Along`, itself included; of the same shape and placement as `x`.
///
///     auto const before = cumsum<expert>(chosen, {.exclusive = true});   // also .reverse = true: from the last element on
///
/// Within a process, sums of floats are kept in double; what goes from part to part is rounded to float, of bfloat16 too, while doubles and integers
/// stay what they are. Local where `Along` is whole; where it is split, one scan over its axes, of one number for each remaining element, hands the
/// sums from part to part. An open sum stays open. Gradient: the running sum of dz from the other end, which sends as much and owes nothing; a
/// parameter's stays open.
/// Source: Blelloch, Prefix Sums and Their Applications (1990).
template<Dimension Along, detail::Operand X>
constexpr auto cumsum(X const& operand, running which = {}, std::source_location at = std::source_location::current()) {
  using verdict = cumsum_verdict<wet<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<verdict>, "meshtf: cumsum can't work along this dimension");
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not added: cumsum<...>(cast<int>(x)) counts them");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::summed>(operand, [&](auto const& x) {
      x.machine().enter("cumsum", at);
      auto z = detail::running_sums<Along>(x, which);
      detail::record_linear(z, x, [which](auto const& to, auto const& dz, axis_set owed) {
        detail::contribute(to, detail::running_sums<Along>(dz, {which.exclusive, !which.reverse}), owed);
      });
      return z;
    });
  }
}

}  // namespace v0
}  // namespace meshtf
