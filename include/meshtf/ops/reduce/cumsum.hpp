// cumsum: running sums along a dimension.
#pragma once

#include <meshtf/ops/reduce/running.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> running_sums(tensor<T, L, D...> const& x, running which) {
  using under = running_under<actual<L>>;
  if constexpr (!cumsum_plan<actual<L>, shape<D...>, Along>::in_parts) {
    return run_along<reduction::sum, Along>(x, which);
  } else if constexpr (NarrowElement<T>) {
    return under::template narrow_sums<Along>(x, which);
  } else {
    auto const before = under::template joined_before<reduction::sum, Along>(x, which.reverse);
    return under::template run_on<reduction::sum, Along>(x, before, which);
  }
}

}  // namespace detail

/// For each element the sum of all elements up to it along `Along`, itself included; of the same shape and
/// placement as `x`.
///
///     auto const before = cumsum<expert>(chosen, {.exclusive = true});   // also .reverse = true: from the
///     last element on
///
/// Within a process, sums of floats are kept in double; what goes from part to part is rounded to float, of
/// bfloat16 too, while doubles and integers stay what they are. Local where `Along` is whole; where it is
/// split, one scan over its axes, of one number for each remaining element, hands the sums from part to part.
/// A partial sum stays partial. Gradient: the running sum of dz from the other end, which sends as much and
/// needs no reduction; a parameter's stays unreduced.
/// Source: Blelloch, Prefix Sums and Their Applications (1990).
template<Dimension Along, detail::Operand X>
constexpr auto cumsum(X const& operand, running which = {},
                      std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using verdict = cumsum_verdict<actual<L>, detail::shape_in<X>, Along>;
  static_assert(accepted<verdict>, "meshtf: cumsum can't work along this dimension");
  static_assert(NumberElement<detail::element_in<X>>,
                "meshtf: bools are not added: cumsum<...>(cast<int>(x)) counts them");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::summed>(operand, [&](auto const& x) {
      x.machine().begin_operation("cumsum", at);
      // the sums may be copies, which nothing unreduced can be
      if constexpr (NarrowElement<detail::element_in<X>>)
        if (detail::PartialSum<X> || (detail::wants_gradient(x) && x.gradient_stays_unreduced()))
          x.machine().constrain(unsplit{split_over<actual<L>, shape<Along>>});
      auto z = detail::running_sums<Along>(x, which);
      detail::record_linear(z, x, [which](auto const& to, auto const& dz, axis_set unreduced) {
        detail::contribute(to, detail::running_sums<Along>(dz, {which.exclusive, !which.reverse}), unreduced);
      });
      return z;
    });
  }
}

MESHTF_ACCEPT_REJECTED(cumsum)
MESHTF_ACCEPT_REJECTED_WITH(rejected, cumsum, running)

}  // namespace v0
}  // namespace meshtf
