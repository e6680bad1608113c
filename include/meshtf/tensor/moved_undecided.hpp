// Values that move between placements, without a layout: what they ask for where a layout makes them move, for the search for a layout.
#pragma once

#include <meshtf/tensor/relocate.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The loops of a move from shape `X` to shape `Z`. Arrays: before, after.
template<class L, class X, class Z>
inline constexpr undecided_loops loops_of_move =
    loops_of(placed_dims<L, united<X, Z>>.data(), united<X, Z>::rank, arrays_within<united<X, Z>, X, Z>, 2, numbers_within<united<X, Z>>, 0);

/// The moves between two arrays of the loops.
template<class M>
constexpr reshard_steps moves_between(M const& m, task_loops const& l, int from, int to) {
  small_array<placed, max_rank> before{}, after{};
  int n = 0;
  for (int d : l.operand[from]) before[n++] = l.dim[d];
  n = 0;
  for (int d : l.operand[to]) after[n++] = l.dim[d];
  reshard_steps const steps = plan_reshard(before.first(l.operand[from].count), after.first(n), 0, m.axis_sizes());
  if (steps.fault.what != reshard_fault::none) throw "meshtf: under this layout a value of the recorded step can't move to its place";
  return steps;
}

/// What moves ask for. The record holds the result already, and these arrays are taken in its place.
template<class T, class M>
constexpr void in_place_of_result(M& m, task_loops const& l) {
  extent result = 1;
  for (int d : l.operand[1]) result *= l.dim[d].room();
  m.give(static_cast<T*>(nullptr), result);
}
template<class T>
struct shard_moved {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    using handle = shared<storage<T, M>, M>;
    in_place_of_result<T>(m, l);
    shard_after(m, handle::make(m, m, 0), moves_between(m, l, 0, 1));
  }
};
/// The way back from the second array to the first is slices, which are undone.
template<class T>
struct shard_unsliced {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    using handle = shared<storage<T, M>, M>;
    in_place_of_result<T>(m, l);
    shard_before(m, handle::make(m, m, 0), moves_between(m, l, 1, 0));
  }
};

/// `x` as a `Z`: where a layout splits `over`, after what `Ask` notes; elsewhere the same elements.
template<class Ask, class Z, class T, class L, class... D>
constexpr Z moved_if_split(dim_set over, tensor<T, L, D...> const& x) {
  auto& m = x.machine();
  if (!x.handle()->may_serve_unless_split(over)) m.keep_whole(over);  // it is a copy itself under some layouts only
  if (m.may_be_split(over) == 0) return Z{m, x.handle()};
  auto own = m.when_joined(over, [&] {
    auto after = Z::handle_type::make(m, m, Z::size);
    m.template ask_in_parts<Ask>(loops_of_move<wet<L>, shape<D...>, typename Z::shape_type>);
    return after;
  });
  m.if_joined(over, [] {}, [&] { x.handle()->serve_as(*own); });
  return Z{m, std::move(own)};
}

/// `x`, of which every process has all, as a `Z`, of which it keeps its part where a layout splits `over`; as `relocate` does it.
template<class Z, class T, class L, class... D>
constexpr Z part_kept_if_split(dim_set over, tensor<T, L, D...> const& x) {
  x.machine().keep_in_order(over);
  Z z = moved_if_split<shard_moved<T>, Z>(over, x);
  if (!wants_gradient(x)) return z;
  bool const open = x.gradient_stays_open();
  record<incoming::as_it_is>(
      z,
      [x = x.without_value(), over, open](auto const& dz, axis_set owed) {
        using operand = tensor<T, L, D...>;
        if (open) {
          auto const dx = moved_if_split<shard_unsliced<T>, operand>(over, dz);
          return contribute(x, dx, owed | dz.machine().may_be_split(over));
        }
        if (owed != 0 && !dz.handle().alone()) dz.machine().keep_whole(over);  // what shares these elements would be finished before they move
        contribute(x, moved_if_split<shard_moved<T>, operand>(over, dz), owed);
      },
      open);
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
