// slice: consecutive elements along a dimension.
#pragma once

#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/plan/slice_plan.hpp>
#include <meshtf/tensor/shifted.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// `Part` before it is split: no layout has a rule for this dimension.
template<class Part>
struct whole_part : dim<Part::size> {};

template<class From, class To>
[[noreturn]] void throw_slice_outside(extent first) {
  throw software_error("slice of " + std::string{name_of<From>()} + " starts at " + std::to_string(first) +
                       ", expected 0 to " + std::to_string(From::size - To::size) + ": " +
                       std::string{name_of<To>()} + " takes " + std::to_string(To::size) + " of its " +
                       std::to_string(From::size) + " elements");
}

/// The slice where `To` is whole. The gradient is dz between zeros; that of a parameter stays unreduced.
template<class From, class To, class T, class L, class... D>
constexpr auto sliced(tensor<T, L, D...> const& x, extent first) {
  using plan = slice_plan<actual<L>, shape<D...>, From, To>;
  auto& m    = x.machine();
  auto z     = tensor_of<T, L, typename plan::result>::uninitialised(m);
  m.run(task::take_part<T>{first}, plan::part, x.data(), z.data());
  record_linear(z, x, [first](auto const& to, auto const& dz, axis_set unreduced) {
    tensor<T, L, D...> dx{dz.machine()};
    dz.machine().run(task::put_part<T>{first}, plan::part, dx.data(), dz.data());
    contribute(to, dx, unreduced);
  });
  return z;
}

/// `x`, whose dimension `whole_part<To>` every process has whole, with `To` in its place, which is split:
/// each process keeps its part.
template<class To, class T, class L, class... D>
constexpr auto own_part(tensor<T, L, D...> const& x) {
  using cut    = shape<D...>;
  using result = replaced<cut, whole_part<To>, shape<To>>;
  using kept   = tensor_of<T, L, result>;
  return relocation_under<actual<L>>::template keep_part<kept, To>(x);
}

/// A search leaves the parts `To` of results whole where operands are partial sums: when they are finished,
/// copies would be made of copies.
template<class... To, Operand X>
constexpr void constrain_partial_sum(X const& operand) {
  if constexpr (PartialSum<X>)
    operand.machine().constrain(unsplit{split_over<actual<layout_in<X>>, shape<To...>>});
}

/// The slice where `To` may be split: it is then taken as a whole dimension first, or where `From` is split
/// alike, moved to the front.
template<class From, class To, class T, class L, class... D>
constexpr auto sliced_and_split(tensor<T, L, D...> const& x, extent first) {
  if constexpr (parts_correspond<actual<L>, From, To>) return moved_in_parts<From, To>(x, -first);
  else if constexpr (stays_whole<actual<L>, To>) return sliced<From, To>(x, first);
  else return own_part<To>(sliced<From, whole_part<To>>(x, first));
}

/// The same; under a layout that has yet to be chosen parts may correspond or not
/// (search/undecided_shifts.hpp).
template<class L>
struct slice_under {
  template<class From, class To, class X>
  static constexpr auto apply(X const& x, extent first) {
    return sliced_and_split<From, To>(x, first);
  }
};

}  // namespace detail

/// The elements `first` to `first + To::size - 1` of `x` along `From`, as the dimension `To` in its place.
///
///     auto positions = slice<max_length, length>(position_table, 0);   // [max_length, model] -> [length,
///     model]
///
/// `From` is whole under the layout; where `To` is split, each process keeps its part of the slice. Local.
/// Gradient: dz between zeros. That of a parameter stays unreduced; that of another value is gathered over
/// the axes that split `To`.
///
/// `From` may be split too if both have parts of one size over the same axes: 1024 elements and the 1023 from
/// the second on, where the rule of the latter is `padded`. Each process then hands the `first` rows of its
/// part to the process before it, as `shift` does, and the gradient hands them back. Errors: `software_error`
/// if the slice would reach outside, or past what is counted. A partial sum stays partial: its local terms
/// are sliced. `To` must not be split over an axis over which the sum may be unreduced.
template<Dimension From, Dimension To, detail::Operand X>
constexpr auto slice(X const& operand, extent first,
                     std::source_location at = std::source_location::current()) {
  using L            = detail::layout_in<X>;
  using in           = detail::shape_in<X>;
  using plan         = slice_plan<actual<L>, in, From, To>;
  using partial_fits = detail::partial_sum_verdict<L, shape<To>, detail::unreduced_axes_in<X>>;
  using verdict      = typename plan::verdict;
  static_assert(accepted<partial_fits>,
                "meshtf: slice can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: slice can't take this part of this dimension");
  if constexpr (!accepted<first_objection<partial_fits, verdict>>) {
    return detail::rejected{};
  } else {
    if (first < 0 || first > From::size - To::size) detail::throw_slice_outside<From, To>(first);
    if constexpr (CountedDimension<From>)
      if (extent const there = detail::local_terms(operand).machine().counted().template of<From>(),
          wanted             = first + detail::local_terms(operand).machine().counted().template of<To>();
          there < wanted)
        detail::throw_counted_less({"slice", at, false}, name_of<From>(), there, wanted);
    detail::constrain_partial_sum<To>(operand);
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      x.machine().begin_operation("slice", at);
      return detail::slice_under<actual<L>>::template apply<From, To>(x, first);
    });
  }
}

MESHTF_ACCEPT_REJECTED(slice)

}  // namespace v0
}  // namespace meshtf
