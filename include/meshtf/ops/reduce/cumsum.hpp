// cumsum: running sums along a dimension.
#pragma once

#include <meshtf/ops/reduce/running.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The running sums of narrow elements, for the search for a layout: lines that are split are widened, and
/// their sums narrowed again.
template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> narrow_sums_either_way(tensor<T, L, D...> const& x, running which) {
  using plan             = cumsum_plan<actual<L>, shape<D...>, Along>;
  using wide             = tensor<computed<T>, L, D...>;
  using result           = tensor<T, L, D...>;
  using handle           = typename result::handle_type;
  constexpr dim_set over = split_over<actual<L>, shape<Along>>;
  auto& m                = x.machine();
  if (m.may_be_split(over) == 0) return run_along<reduction::sum, Along>(x, which);
  handle own = m.when_joined(over, [&] {
    wide const widened = each<computed<T>, shape<D...>>(function::identity{}, x);
    wide sums          = [&] {
      auto before = reduced<reduction::sum, typename plan::each_line>(function::identity{}, widened).value;
      m.exclusive_scan(reduction::sum, computed<T>{}, before.data(), before.size, plan::over, which.reverse);
      auto z = wide::uninitialised(m);
      m.run(task::run_on<reduction::sum, computed<T>>{which.reverse, which.exclusive}, plan::lines,
                     widened.data(), before.data(), z.data());
      return z;
    }();
    return each<T, shape<D...>>(function::identity{}, sums).handle();
  });
  m.if_joined(over, [] {}, [&] { run_along<reduction::sum, Along>(x, which).handle()->alias_as(*own); });
  return result{m, std::move(own)};
}

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> running_sums(tensor<T, L, D...> const& x, running which) {
  if constexpr (!cumsum_plan<actual<L>, shape<D...>, Along>::in_parts)
    return run_along<reduction::sum, Along>(x, which);
  else if constexpr (NarrowElement<T> && is_undecided<actual<L>>)
    return narrow_sums_either_way<Along>(x, which);
  else if constexpr (NarrowElement<T>)  // the sums of parts are not rounded
    return each<T, shape<D...>>(
        function::identity{},
        running_sums<Along>(each<computed<T>, shape<D...>>(function::identity{}, x), which));
  else return run_on<reduction::sum, Along>(x, joined_before<reduction::sum, Along>(x, which.reverse), which);
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
      if constexpr (is_undecided<actual<L>> && NarrowElement<detail::element_in<X>>)
        if (detail::PartialSum<X> || (detail::wants_gradient(x) && x.gradient_stays_unreduced()))
          x.machine().keep_whole(split_over<actual<L>, shape<Along>>);
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
