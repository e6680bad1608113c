// Operations that move elements along a dimension, under an undecided layout: slice, pad, shift and flip.
// What they ask for is priced when a layout is named.
#pragma once

#include <meshtf/ops/shape/flip.hpp>
#include <meshtf/ops/shape/pad.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What a shift asks for along a split dimension. Array: x. Numbers: the offset,
/// and whether it wraps.
template<class T>
struct shifted_parts {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const& numbers) {
    placed const& along = l.dim[l.along[0]];
    bool const wraps    = numbers[1] != 0;
    extent elements     = 1;
    for (int d : l.operand[0]) elements *= l.dim[d].allocated_extent();
    move_rows<T>(m, displace_steps::plan(l, full_extents(l)),
                 {along.allocated_extent(), elements / along.allocated_extent(), along.parts},
                 wraps ? shortest_roll(numbers[0], along.size) : numbers[0], wraps, T{}, nullptr, nullptr);
  }
};

/// The loops of elements that move along a dimension that gets another name, as the record keeps them: the
/// first one says how many parts there are, since no axis may split two loops.
constexpr undecided_loops opened_by_first(undecided_loops l) {
  if (l.along[0] != l.along[1]) l.dim[l.along[1]].open = 0;
  return l;
}

/// Notes what `moved_by` does where parts of `Along` and `To` correspond, and `alone` where both are whole.
template<class Along, class To, class T, class L, class... D, class F>
constexpr void move_either_way(tensor<T, L, D...> const& x, extent offset, bool wraps, F const& alone) {
  auto& m = x.machine();
  m.if_joined(
      split_over<actual<L>, shape<Along>>,
      [&] {
        m.template ask_in_parts<shifted_parts<T>>(
            opened_by_first(shift_plan<actual<L>, shape<D...>, Along, To>::lines.loops),
            {offset, wraps ? 1 : 0});
      },
      alone);
}

/// Whether it depends on the layout whether parts of `D` and `E` correspond: they do for some small number of
/// parts, and both may be split. These are then split alike or not at all.
template<class L, class D, class E>
inline constexpr bool parts_may_correspond = [] {
  if constexpr (CountedDimension<D> || CountedDimension<E>) return false;
  else if constexpr (stays_whole<L, D> || stays_whole<L, E>) return false;
  else {
    for (extent parts = 2; parts <= 8; ++parts)
      if (placed{.size = D::size, .parts = parts}.allocated_extent() ==
          placed{.size = E::size, .parts = parts}.allocated_extent())
        return true;
    return false;
  }
}();

/// The slice where a record leaves it open whether parts of `From` and `To` correspond: as a whole or, if
/// they are split, moved to the front.
template<class From, class To, class T, class L, class... D>
constexpr auto sliced_either_way(tensor<T, L, D...> const& x, extent first) {
  using plan = slice_plan<actual<L>, shape<D...>, From, To>;
  auto part  = plan::part;
  // both are whole where this is done
  for (int const loop : {part.loops.along[0], part.loops.along[1]}) part.loops.dim[loop].open = 0;
  auto& m = x.machine();
  m.constrain(parts_in_step{split_over<actual<L>, shape<From>>, split_over<actual<L>, shape<To>>});
  auto z = tensor_of<T, L, typename plan::result>::uninitialised(m);
  move_either_way<From, To>(x, -first, false,
                            [&] { m.run(task::take_part<T>{first}, part, x.data(), z.data()); });
  record_linear(z, x, [first, part](auto const& to, auto const& dz, axis_set unreduced) {
    auto& back = dz.machine();
    auto dx    = tensor<T, L, D...>::uninitialised(back);
    move_either_way<To, From>(dz, first, false, [&] {
      back.fill(dx.size, T{}, dx.data());
      back.run(task::put_part<T>{first}, part, dx.data(), dz.data());
    });
    contribute(to, dx, unreduced);
  });
  return z;
}

/// What `flip` asks for along a split dimension. Array: x.
template<class T>
struct flipped_parts {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    extent part = 1;
    for (int d : l.operand[0]) part *= l.dim[d].allocated_extent();
    auto* const flipped = m.template take<T>(part);
    m.run(task::displace<T>{}, displace_steps::plan(l, full_extents(l)));
    m.template permute<T>(part);
    m.give(flipped, part);
  }
};

// ---- the operations

template<class... Open>
struct slice_under<undecided_layout<Open...>> {
  template<class From, class To, class X>
  static constexpr auto apply(X const& x, extent first) {
    if constexpr (parts_may_correspond<undecided_layout<Open...>, From, To>)
      return sliced_either_way<From, To>(x, first);
    else return sliced_and_split<From, To>(x, first);
  }
};

template<class... Open>
struct pad_under<undecided_layout<Open...>> {
  using L = undecided_layout<Open...>;

  template<class From, class To, class X>
  static constexpr auto apply(X const& x, extent before, typename X::element_type value) {
    if constexpr (parts_may_correspond<L, From, To>) {
      x.machine().constrain(parts_in_step{split_over<L, shape<From>>, split_over<L, shape<To>>});
      return moved_in_parts<From, To>(x, before, value);
    } else {
      return padded_and_split<From, To>(x, before, value);
    }
  }
};

template<class... Open>
struct shift_under<undecided_layout<Open...>> {
  using L = undecided_layout<Open...>;

  template<class Along, class To, class X>
  static constexpr auto apply(X const& x, extent offset, bool wraps, typename X::element_type) {
    using T    = typename X::element_type;
    using plan = shift_plan<L, typename X::shape_type, Along, To>;
    auto& m    = x.machine();
    if (wraps) m.constrain(equal_parts{split_over<L, shape<Along>>});
    auto z = tensor_of<T, typename X::layout_type, typename plan::result>::uninitialised(m);
    undecided_steps<displace_steps> const lines{opened_by_first(plan::lines.loops)};
    move_either_way<Along, To>(x, offset, wraps,
                               [&] { m.run(task::displace<T>{}, lines, x.data(), z.data()); });
    return z;
  }
};

template<class... Open>
struct flip_under<undecided_layout<Open...>> {
  using L = undecided_layout<Open...>;

  template<class Along, class X>
  static constexpr X apply(X const& x) {
    using T    = typename X::element_type;
    using plan = flip_plan<L, typename X::shape_type, Along>;
    auto& m    = x.machine();
    m.constrain(equal_parts{split_over<L, shape<Along>>});
    auto z = X::uninitialised(m);
    m.if_joined(
        split_over<L, shape<Along>>, [&] { m.template ask_in_parts<flipped_parts<T>>(plan::lines.loops); },
        [&] { m.run(task::displace<T>{}, plan::lines, x.data(), z.data()); });
    return z;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
