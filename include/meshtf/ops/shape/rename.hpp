// rename: the same elements under another dimension's name.
#pragma once

#include <source_location>

#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/tensor/open_sums.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Errors: `software_error` if there are fewer elements of `From` than of `To`.
template<class From, class To, class Machine>
constexpr void expect_elements_for(Machine const& m) {
  if constexpr (CountedDimension<From>)
    if (extent const there = m.counted().template of<From>(), wanted = m.counted().template of<To>(); there < wanted)
      throw_counted_less(m.now(), name_of<From>(), there, wanted);
}

/// `Riding`: the axes over which x is an addend.
template<class From, class To, axis_set Riding, class T, class L, class... D>
constexpr auto renamed(tensor<T, L, D...> const& x, std::source_location at) {
  using renamed = replaced<shape<D...>, From, shape<To>>;
  using plan    = renaming_reshard_plan<wet<L>, shape<D...>, wet<L>, renamed, 0, Riding>;
  using verdict = first_objection<dims_are_in<shape<D...>, From>, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: rename can't give this dimension that name");
  if constexpr (!accepted<verdict>) {
    return rejected{};
  } else {
    x.machine().enter("rename", at);
    expect_elements_for<From, To>(x.machine());
    return relocate<tensor_of<T, L, renamed>, relocation<wet<L>, shape<D...>, wet<L>, renamed>>(x, 0, plan::steps);
  }
}

/// Under an undecided layout nothing is planned and nothing moves.
template<class From, class To, axis_set, class T, class L, class... D>
  requires is_undecided<L>
constexpr auto renamed(tensor<T, L, D...> const& x, std::source_location at) {
  using renamed = replaced<shape<D...>, From, shape<To>>;
  using size    = std::conditional_t<From::size == To::size, legal, dims_differ_in_size<From, To>>;
  using verdict = first_objection<dims_are_in<shape<D...>, From>, size, placement_verdict_of<wet<L>, renamed>>;
  static_assert(accepted<verdict>, "meshtf: rename can't give this dimension that name");
  if constexpr (!accepted<verdict>) {
    return rejected{};
  } else {
    x.machine().enter("rename", at);
    return renamed_undecided<tensor_of<T, L, renamed>, From, shape<To>>(x);
  }
}

}  // namespace detail

/// `x` with `To` in the place of `From`, which has the same size. If elements of `From` are counted at run time, there are at least as many as of `To`.
///
/// Where the layout splits both alike, nothing is copied and the result shares the shard. Otherwise it is a reshard: from whole to split a slice
/// (free), from split to whole an all-gather, from one axis to another what `reshard_plan` says. Gradient: the reverse; see `detail::relocate`.
template<Dimension From, Dimension To, class T, class L, class... D>
constexpr auto rename(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  return detail::renamed<From, To, 0>(x, at);
}

/// An open sum stays open: its addends are renamed. `To` must not be split over an axis that the sum may owe; in that case reshard first.
template<Dimension From, Dimension To, class T, class L, class... D, class Over>
constexpr auto rename(partial<tensor<T, L, D...>, Over> const& p, std::source_location at = std::source_location::current()) {
  using verdict = detail::open_verdict<L, replaced<shape<D...>, From, shape<To>>, Over>;
  static_assert(!is_undecided<L>, "meshtf: rename can't be recorded of an open sum without a layout: finish(p)");
  static_assert(accepted<verdict>, "meshtf: rename can't split an open sum over an axis that it owes: reshard or finish it first");
  if constexpr (is_undecided<L> || !accepted<verdict>) return detail::rejected{};
  else return detail::handed_through<algebra::use::moved>(p, detail::renamed<From, To, detail::may_owe<L, Over>>(p.addend(), at));
}

}  // namespace v0
}  // namespace meshtf
