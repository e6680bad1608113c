// Placement state: where the axes of a mesh are while a value moves from one placement to another, and a
// lower bound of what is still to be sent.
#pragma once

#include <cstdint>
#include <span>

#include <meshtf/core/odometer.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/reshard/moves.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Where each axis of a mesh stands, in one byte each: unused, unreduced, or in the list of a dimension. Two
/// values of one shape are placed equally if their states are equal.
struct placement_state {
  static constexpr int unused    = 0;
  static constexpr int unreduced = 1;
  static constexpr int first     = 2;
  static_assert(first + max_rank * max_axes < 256 && max_axes <= 8);

  std::uint64_t places = 0;

  static constexpr int at(int dim, int position) { return first + dim * max_axes + position; }
  static constexpr int dim_of(int place) { return (place - first) / max_axes; }
  static constexpr int position_of(int place) { return (place - first) % max_axes; }

  constexpr int of(int axis) const { return static_cast<int>(places >> (8 * axis) & 0xff); }
  constexpr void put(int axis, int place) {
    places &= ~(std::uint64_t{0xff} << (8 * axis));
    places |= static_cast<std::uint64_t>(place) << (8 * axis);
  }
  friend constexpr bool operator==(placement_state, placement_state) = default;
};

/// A placement state as lists, which are easier to walk through.
struct placement_lists {
  axis_set unreduced = 0;
  axis_set unused    = 0;
  small_array<axis_list, max_rank> over{};
};

/// The reshard to be planned. An axis of one process is in no list.
struct reshard_problem {
  small_array<extent, max_axes> axes{};
  int axis_count   = 0;
  int rank         = 0;
  extent processes = 1;
  small_array<extent, max_rank> size{};
  placement_state start{};
  placement_state goal{};

  constexpr extent along(int axis) const { return axes[axis]; }
  constexpr extent along(axis_set set) const { return processes_along(axes, set); }
  constexpr extent global_extent(int dim) const { return size[dim]; }

  constexpr placement_lists lists_of(placement_state s) const {
    placement_lists lists;
    for (int a = 0; a < axis_count; ++a) {
      int const place = s.of(a);
      if (along(a) == 1) continue;
      if (place == placement_state::unused) lists.unused |= axis_set{1} << a;
      else if (place == placement_state::unreduced) lists.unreduced |= axis_set{1} << a;
      else {
        axis_list& list                                  = lists.over[placement_state::dim_of(place)];
        list.number[placement_state::position_of(place)] = static_cast<signed char>(a);
        ++list.count;
      }
    }
    return lists;
  }

  constexpr placement_state state_of(placement_lists const& lists) const {
    placement_state s;
    for (int a = 0; a < axis_count; ++a)
      if (among(lists.unreduced, a)) s.put(a, placement_state::unreduced);
    for (int d = 0; d < rank; ++d)
      for (int i = 0; i < lists.over[d].count; ++i) s.put(lists.over[d][i], placement_state::at(d, i));
    return s;
  }

  constexpr extent elements() const {
    extent n = 1;
    for (int d = 0; d < rank; ++d) n *= global_extent(d);
    return n;
  }

  /// Elements of one process at `s`.
  constexpr extent shard(placement_state s) const {
    extent n = elements();
    for (int a = 0; a < axis_count; ++a)
      if (s.of(a) >= placement_state::first) n /= along(a);
    return n;
  }

  /// What one process sends in a move of a shard of `local` elements, times `processes`, which makes it a
  /// whole number whatever the sizes.
  constexpr extent price(transfer_kind kind, extent local, extent n) const {
    switch (kind) {
      case transfer_kind::slice: return 0;
      case transfer_kind::reduce_scatter:
      case transfer_kind::all_to_all: return local * (n - 1) * (processes / n);
      case transfer_kind::all_reduce: return 2 * local * (n - 1) * (processes / n);
      case transfer_kind::all_gather: return local * (n - 1) * processes;
      case transfer_kind::permute: return local * processes;
    }
    return 0;
  }

  /// A lower bound of what any path from `s` to the goal sends (times `processes`, as prices are).
  ///
  /// A process must receive the elements that it shall hold but does not: on average, the goal's shard less
  /// what the two states have in common. If n local terms of each element are on different processes, n-1
  /// messages must arrive before one process has the sum, and one more at each other process that shall have
  /// it. With each move, both bounds fall by no more than the price of the move, as the search needs it.
  constexpr extent lower_bound(placement_state s) const {
    extent const wanted = shard(goal) * processes;
    extent bound        = wanted - in_common(s);
    extent terms        = 1;
    for (int a = 0; a < axis_count; ++a)
      if (s.of(a) == placement_state::unreduced) terms *= along(a);
    if (terms == 1) return bound;
    extent const sums = wanted + elements() * (terms - 2);
    return sums > bound ? sums : bound;
  }

private:
  /// Elements of the goal's shards that processes already hold at `s`, of all processes together.
  constexpr extent in_common(placement_state s) const {
    struct step {
      // elements along a dimension from one coordinate to the next
      extent from  = 0;
      extent to    = 0;
      int from_dim = 0;
      int to_dim   = 0;
    };
    small_array<extent, max_rank> from{};
    small_array<extent, max_rank> to{};
    for (int d = 0; d < rank; ++d) from[d] = to[d] = global_extent(d);
    small_array<int, max_axes> varying{};
    small_array<extent, max_axes> sizes{};
    small_array<step, max_axes> steps{};
    int varying_count  = 0;
    extent of_these    = 1;
    auto const strides = [&](placement_state in, small_array<extent, max_rank>& local, bool goes_to) {
      for (int position = 0; position < axis_count; ++position)
        for (int i = 0; i < varying_count; ++i) {
          int const a     = varying[i];
          int const place = in.of(a);
          if (place < placement_state::first || placement_state::position_of(place) != position) continue;
          int const d = placement_state::dim_of(place);
          extent& n   = local[d];
          n /= along(a);
          step& w                           = steps[i];
          (goes_to ? w.to : w.from)         = n;
          (goes_to ? w.to_dim : w.from_dim) = d;
        }
    };
    for (int a = 0; a < axis_count; ++a)
      if (s.of(a) >= placement_state::first || goal.of(a) >= placement_state::first) {
        sizes[varying_count]     = along(a);
        varying[varying_count++] = a;
        of_these *= along(a);
      }
    strides(s, from, false);
    strides(goal, to, true);
    constexpr extent max_walked = 256;
    if (of_these > max_walked) {  // along each dimension no more than the shorter of the two
      extent bound = processes;
      for (int d = 0; d < rank; ++d) bound *= from[d] < to[d] ? from[d] : to[d];
      return bound;
    }

    small_array<extent, max_axes> coordinate{};
    small_array<extent, max_rank> from_start{};
    small_array<extent, max_rank> to_start{};
    extent sum = 0;
    do {
      extent common = 1;
      for (int d = 0; d < rank && common > 0; ++d) {
        extent const first = from_start[d] > to_start[d] ? from_start[d] : to_start[d];
        extent const a     = from_start[d] + from[d];
        extent const b     = to_start[d] + to[d];
        extent const last  = a < b ? a : b;
        common *= last > first ? last - first : 0;
      }
      sum += common;
      // not `for_each_index`: a coordinate moves two of the starts only, and to add 0 to all others would
      // cost the compiler most of a search's time
    } while (count_up(static_cast<std::size_t>(varying_count), coordinate, sizes,
                      [&](std::size_t i, extent distance) {
                        step const& w = steps[i];
                        from_start[w.from_dim] += distance * w.from;
                        to_start[w.to_dim] += distance * w.to;
                      }));
    return sum * (processes / of_these);
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
