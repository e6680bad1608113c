// Which moves bring a value from one placement to another, decided before it runs.
#pragma once

#include <array>
#include <span>

#include <meshtf/plan/moves.hpp>

namespace meshtf::inline v0 {

namespace detail {

constexpr bool among(axis_set set, int axis) { return (set >> axis & 1) != 0; }

constexpr extent elements_of(std::span<extent const> sizes) {
  extent n = 1;
  for (extent s : sizes) n *= s;
  return n;
}

/// Elements from one coordinate to the next in an array that is blocks within blocks.
struct block_strides {
  std::array<extent, max_axes> along_axis{};
  std::array<extent, max_rank> along_dim{};
};

/// A value on its way: where it is and where it shall be. A dimension keeps the axes that both its lists start with; the rest of the list leaves, innermost
/// first, before the rest of the goal comes, outermost first. Every shard on the way is a rectangle, so a move never has to know the moves before it.
struct resharding {
  std::span<extent const> axes;
  axis_set owed = 0;
  int rank      = 0;
  bool too_deep = false;
  std::array<extent, max_rank> local{};
  std::array<axis_list, max_rank> over{}, goal{};

  constexpr std::size_t kept(std::size_t d) const {
    int n = 0;
    while (n < over[d].count && n < goal[d].count && over[d][n] == goal[d][n]) ++n;
    return static_cast<std::size_t>(n);
  }

  static constexpr axis_list tail(axis_list const& list, std::size_t from, axis_set only) {
    axis_list rest;
    for (int i = static_cast<int>(from); i < list.count; ++i)
      if (among(only, list[i])) rest.push_back(list[i]);
    return rest;
  }

  constexpr axis_list leaving(std::size_t d, axis_set only = ~axis_set{0}) const { return tail(over[d], kept(d), only); }
  constexpr axis_list coming(std::size_t d, axis_set only = ~axis_set{0}) const { return tail(goal[d], kept(d), only); }
  constexpr std::size_t dims() const { return static_cast<std::size_t>(rank); }

  constexpr axis_set all_leaving() const {
    axis_set set = 0;
    for (std::size_t d = 0; d < dims(); ++d) set |= leaving(d).set();
    return set;
  }

  constexpr axis_set all_coming() const {
    axis_set set = 0;
    for (std::size_t d = 0; d < dims(); ++d) set |= coming(d).set();
    return set;
  }

  /// The largest subset of `set` that one move can take: none waits for an axis outside of it. Inner axes leave before outer ones, outer ones come before
  /// inner ones, and none comes to a dimension that others still have to leave.
  constexpr axis_set ready(axis_set set) const {
    for (axis_set before = 0; before != set;) {
      before = set;
      for (std::size_t d = 0; d < dims(); ++d) {
        axis_list const out = leaving(d), in = coming(d);
        bool blocked = false;
        for (int i = out.count; i-- > 0;) {
          blocked = blocked || !among(set, out[i]);
          if (blocked) set &= ~(axis_set{1} << out[i]);
        }
        blocked = out.count > 0;
        for (int axis : in) {
          blocked = blocked || !among(set, axis);
          if (blocked) set &= ~(axis_set{1} << axis);
        }
      }
    }
    return set;
  }

  /// Of a row-major shard in which the axes `cuts` of a dimension count blocks of it, outermost first.
  constexpr block_strides strides_of_shard(std::array<axis_list, max_rank> const& cuts, std::array<extent, max_rank> const& block) const {
    block_strides s;
    extent run = 1;
    for (std::size_t d = dims(); d-- > 0;) {
      s.along_dim[d] = run;
      run *= block[d];
      for (int i = cuts[d].count; i-- > 0;) {
        auto const axis    = static_cast<std::size_t>(cuts[d][i]);
        s.along_axis[axis] = run;
        run *= axes[axis];
      }
    }
    return s;
  }

  /// Of a message buffer: one block for each process along `set`, the processes in the order of their ranks.
  constexpr block_strides strides_of_messages(axis_set set, std::array<extent, max_rank> const& block) const {
    block_strides s = strides_of_shard({}, block);
    extent run      = elements_of(std::span{block}.first(dims()));
    for (std::size_t axis = axes.size(); axis-- > 0;)
      if (among(set, static_cast<int>(axis))) {
        s.along_axis[axis] = run;
        run *= axes[axis];
      }
    return s;
  }

  constexpr nest_steps copy(axis_set set, std::array<extent, max_rank> const& block, block_strides const& from, block_strides const& to) {
    nest_steps nest{.operands = 2};
    auto const loop = [&](extent size, extent source, extent target) {
      if (size == 1) return;
      if (nest.rank == max_rank) nest = collapsed(nest);
      if (nest.rank == max_rank) {
        too_deep = true;
        return;
      }
      auto const i      = static_cast<std::size_t>(nest.rank++);
      nest.size[i]      = size;
      nest.stride[0][i] = source;
      nest.stride[1][i] = target;
    };
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if (among(set, static_cast<int>(axis))) loop(axes[axis], from.along_axis[axis], to.along_axis[axis]);
    for (std::size_t d = 0; d < dims(); ++d) loop(block[d], from.along_dim[d], to.along_dim[d]);
    return collapsed(nest);
  }

  static constexpr bool moves_elements(nest_steps const& copy) {
    return copy.rank > 1 || (copy.rank == 1 && (copy.stride[0][0] != 1 || copy.stride[1][0] != 1));
  }

  constexpr extent shard() const { return elements_of(std::span{local}.first(dims())); }

  constexpr reshard_move take(transfer what, axis_set set) {
    reshard_move m{.what = what, .over = set, .processes = processes_along(axes, set), .send = shard()};
    std::array<axis_list, max_rank> out{}, in{};
    std::array<extent, max_rank> block = local;
    for (std::size_t d = 0; d < dims(); ++d) {
      out[d] = leaving(d, set);
      in[d]  = coming(d, set);
      block[d] /= processes_along(axes, in[d].set());
    }
    block_strides const source   = strides_of_shard(in, block);
    block_strides const target   = strides_of_shard(out, block);
    block_strides const messages = strides_of_messages(set, block);
    if (what == transfer::slice) {
      m.pack   = copy(0, block, source, target);
      m.packs  = true;
      m.offset = source.along_axis;
    }
    if (what == transfer::reduce_scatter || what == transfer::all_to_all) {
      m.pack  = copy(set, block, source, messages);
      m.packs = moves_elements(m.pack);
    }
    if (what == transfer::all_to_all || what == transfer::all_gather) {
      m.unpack  = copy(set, block, messages, target);
      m.unpacks = moves_elements(m.unpack);
    }

    for (std::size_t d = 0; d < dims(); ++d) {
      local[d] = block[d] * processes_along(axes, out[d].set());
      over[d].count -= out[d].count;
      for (int axis : in[d]) over[d].push_back(axis);
    }
    owed &= ~set;
    m.block  = elements_of(std::span{block}.first(dims()));
    m.result = shard();
    return m;
  }

  /// What one all-gather takes. One that makes room in its dimension goes alone, since the next moves may shrink the shard; the others go together.
  constexpr axis_set gathered_next() const {
    axis_set const all = ready(all_leaving() & ~all_coming());
    for (std::size_t d = 0; d < dims(); ++d) {
      axis_set const own = leaving(d).set();
      if ((own & all) != 0 && (coming(d).count > 0 || (own & ~all) != 0)) return own & all;
    }
    return all;
  }
};

}  // namespace detail

/// The moves from one placement to another of the same dimensions. `from` is also still a sum over the axes `owed`, which split none of its dimensions; the
/// result owes nothing. The gradient of the result goes the way back, by a plan of its own: `to` and `from` exchanged, with what the gradient owes.
///
/// Slices come first, then reduce-scatters and all-to-alls, and all-gathers last, each as soon as the order of axes within the dimensions lets it: bytes
/// scale with the shard, which slices and reduce-scatters shrink and gathers grow. The all-reduce is where the shard is smallest. A move never takes away
/// what another waits for, so if these lead nowhere, no order of them does, and whole shards would have to change places. That is a fault: no axis that
/// splits a dimension of `to` is ever gathered instead. A dimension that gives up its axes for others that split nothing yet is gathered in between.
/// Axes of one process are as good as none.
constexpr reshard_steps plan_reshard(std::span<placed const> from, std::span<placed const> to, axis_set owed, std::span<extent const> axes) {
  using fault = reshard_fault;
  if (from.size() != to.size()) return {.fault = {fault::sizes_differ, static_cast<int>(from.size() < to.size() ? from.size() : to.size())}};

  detail::resharding value{.axes = axes, .rank = static_cast<int>(from.size())};
  axis_set wanted = 0;
  for (std::size_t d = 0; d < from.size(); ++d) {
    int const dim = static_cast<int>(d);
    if (from[d].size != to[d].size) return {.fault = {fault::sizes_differ, dim}};
    value.local[d] = from[d].local_size();
    for (int axis : from[d].over)
      if (axes[static_cast<std::size_t>(axis)] > 1) {
        if (detail::among(owed, axis)) return {.fault = {fault::owed_axis_splits, dim, axis}};
        value.over[d].push_back(axis);
      }
    for (int axis : to[d].over)
      if (axes[static_cast<std::size_t>(axis)] > 1) value.goal[d].push_back(axis);
    wanted |= value.goal[d].set();
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] > 1) value.owed |= owed & axis_set{1} << axis;
  axis_set const summed = value.owed & ~wanted;

  reshard_steps steps;
  extent least = value.shard();
  int smallest = 0;  // before this move the shard is the least
  for (;;) {
    axis_set const leaving = value.all_leaving(), coming = value.all_coming();
    if ((leaving | coming) == 0) break;
    transfer what = transfer::slice;
    axis_set set  = value.ready(coming & ~leaving & ~value.owed);
    if (set == 0) what = transfer::reduce_scatter, set = value.ready(coming & value.owed);
    if (set == 0) what = transfer::all_to_all, set = value.ready(coming & leaving);
    if (set == 0) what = transfer::all_gather, set = value.gathered_next();
    if (set == 0) {
      for (std::size_t d = 0; d < from.size(); ++d)
        for (int axis : value.leaving(d, coming)) return {.fault = {fault::needs_permutation, static_cast<int>(d), axis}};
    }
    steps.moves[static_cast<std::size_t>(steps.count++)] = value.take(what, set);
    if (value.shard() <= least) smallest = steps.count, least = value.shard();
  }
  if (value.too_deep) return {.fault = {fault::too_many_loops}};
  if (summed != 0) {
    for (int i = steps.count++; i > smallest; --i) steps.moves[static_cast<std::size_t>(i)] = steps.moves[static_cast<std::size_t>(i - 1)];
    steps.moves[static_cast<std::size_t>(smallest)] = {
        .what = transfer::all_reduce, .over = summed, .processes = processes_along(axes, summed), .send = least, .result = least, .block = least};
  }
  return steps;
}

}  // namespace meshtf::inline v0
