// Which moves bring a value from one placement to another, decided before it runs.
#pragma once

#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/reshard/reshard_search.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The strides of an array of blocks within blocks: elements from one coordinate to the next.
struct block_strides {
  small_array<extent, max_axes> along_axis{};
  small_array<extent, max_rank> along_dim{};
};

/// Makes a move from the states before and after it. Every shard on the path is a rectangle, so the earlier
/// moves do not matter.
class move_maker {
public:
  constexpr explicit move_maker(reshard_problem const& problem) : problem_{problem} {}

  constexpr bool too_deep() const { return too_deep_; }

  constexpr reshard_move between(placement_state before, transfer_kind kind, placement_state after) {
    reshard_move m{.kind = kind, .send = problem_.shard(before), .result = problem_.shard(after)};
    placement_lists const lists = problem_.lists_of(before);
    placement_lists const next  = problem_.lists_of(after);
    if (kind == transfer_kind::permute) return permutation(m, lists, next);

    // the axes that leave and enter the inner end of each dimension
    small_array<axis_list, max_rank> out{};
    small_array<axis_list, max_rank> in{};
    small_array<extent, max_rank> block{};
    for (int d = 0; d < problem_.rank; ++d) {
      out[d]   = tail(lists.over[d], next.over[d].count);
      in[d]    = tail(next.over[d], lists.over[d].count);
      block[d] = problem_.global_extent(d) / problem_.along(lists.over[d].set() | in[d].set());
      m.over |= out[d].set() | in[d].set();
    }
    if (kind == transfer_kind::all_reduce) m.over = lists.unreduced & ~next.unreduced;
    m.processes = problem_.along(m.over);
    m.block     = elements_of(block);

    block_strides const source   = strides_of_shard(in, block);
    block_strides const target   = strides_of_shard(out, block);
    block_strides const messages = strides_of_messages(m.over, block);
    if (kind == transfer_kind::slice) {
      m.pack   = copy(0, block, source, target);
      m.packs  = true;
      m.offset = source.along_axis;
    }
    if (kind == transfer_kind::reduce_scatter || kind == transfer_kind::all_to_all) {
      m.pack  = copy(m.over, block, source, messages);
      m.packs = moves_elements(m.pack);
    }
    if (kind == transfer_kind::all_to_all || kind == transfer_kind::all_gather) {
      m.unpack  = copy(m.over, block, messages, target);
      m.unpacks = moves_elements(m.unpack);
    }
    return m;
  }

private:
  static constexpr axis_list tail(axis_list const& list, int from) {
    axis_list rest;
    for (int i = from; i < list.count; ++i) rest.push_back(list[i]);
    return rest;
  }

  constexpr extent elements_of(small_array<extent, max_rank> const& sizes) const {
    extent n = 1;
    for (int d = 0; d < problem_.rank; ++d) n *= sizes[d];
    return n;
  }

  /// Shards are numbered dimension by dimension, the parts of each dimension in order. The numbers do not
  /// change, since each dimension keeps as many parts.
  constexpr reshard_move permutation(reshard_move& m, placement_lists const& lists,
                                     placement_lists const& next) const {
    extent run = 1;
    for (int d = problem_.rank; d-- > 0;) {
      extent parts = run;
      for (int i = lists.over[d].count; i-- > 0; parts *= problem_.along(lists.over[d][i]))
        m.holds[lists.over[d][i]] = parts;
      parts = run;
      for (int i = next.over[d].count; i-- > 0; parts *= problem_.along(next.over[d][i]))
        m.wants[next.over[d][i]] = parts;
      run = parts;
    }
    for (std::size_t a = 0; a < max_axes; ++a)
      if (m.holds[a] != m.wants[a]) m.over |= axis_set{1} << a;
    for (std::size_t a = 0; a < max_axes; ++a)
      if (m.holds[a] == m.wants[a]) m.holds[a] = m.wants[a] = 0;
    m.processes = problem_.along(m.over);
    m.block     = m.send;
    return m;
  }

  /// The strides of a row-major shard in which the axes `cuts` of a dimension count blocks of it, outermost
  /// first.
  constexpr block_strides strides_of_shard(small_array<axis_list, max_rank> const& cuts,
                                           small_array<extent, max_rank> const& block) const {
    block_strides s;
    extent run = 1;
    for (int d = problem_.rank; d-- > 0;) {
      s.along_dim[d] = run;
      run *= block[d];
      for (int i = cuts[d].count; i-- > 0;) {
        s.along_axis[cuts[d][i]] = run;
        run *= problem_.along(cuts[d][i]);
      }
    }
    return s;
  }

  /// The strides of a message buffer: one block for each process along `set`, in rank order.
  constexpr block_strides strides_of_messages(axis_set set,
                                              small_array<extent, max_rank> const& block) const {
    block_strides s = strides_of_shard({}, block);
    extent run      = elements_of(block);
    for (int a = problem_.axis_count; a-- > 0;)
      if (among(set, a)) {
        s.along_axis[a] = run;
        run *= problem_.along(a);
      }
    return s;
  }

  constexpr nest_steps copy(axis_set set, small_array<extent, max_rank> const& block,
                            block_strides const& from, block_strides const& to) {
    nest_steps nest{.operands = 2};
    auto const loop = [&](extent size, extent source, extent target) {
      if (size == 1) return;
      if (nest.rank == max_rank) nest = collapsed(nest);
      if (nest.rank == max_rank) {
        too_deep_ = true;
        return;
      }
      int const i       = nest.rank++;
      nest.size[i]      = size;
      nest.stride[0][i] = source;
      nest.stride[1][i] = target;
    };
    for (int a = 0; a < problem_.axis_count; ++a)
      if (among(set, a)) loop(problem_.along(a), from.along_axis[a], to.along_axis[a]);
    for (int d = 0; d < problem_.rank; ++d) loop(block[d], from.along_dim[d], to.along_dim[d]);
    return collapsed(nest);
  }

  static constexpr bool moves_elements(nest_steps const& copy) {
    return copy.rank > 1 || (copy.rank == 1 && (copy.stride[0][0] != 1 || copy.stride[1][0] != 1));
  }

  reshard_problem const& problem_;
  bool too_deep_ = false;
};

/// Elements of a dimension in all parts together, padding included. In these terms every cut is even.
constexpr extent padded_size(placed const& d) { return d.parts * d.allocated_extent(); }

/// Whether both cut a dimension, and into blocks of different sizes that padding can't make equal: on the way
/// the dimension is whole.
constexpr bool cuts_clash(placed const& from, placed const& to) {
  return from.parts > 1 && to.parts > 1 && padded_size(from) != padded_size(to);
}

/// A copy from a shard of allocated extents `before` to one of allocated extents `after`: of the elements
/// that are in both. What lies past them in the result is padding.
constexpr reshard_move refitted(std::span<extent const> before, std::span<extent const> after) {
  reshard_move m{.kind = transfer_kind::slice, .packs = true, .send = 1, .result = 1};
  small_array<extent, max_rank> common{};
  small_array<dim_list, max_operands> all{};
  small_array<std::span<extent const>, max_operands> extents{};
  extents[0] = before;
  extents[1] = after;
  for (std::size_t d = 0; d < before.size(); ++d) {
    common[d] = before[d] < after[d] ? before[d] : after[d];
    m.send *= before[d];
    m.result *= after[d];
    all[0].push_back(static_cast<int>(d));
  }
  all[1] = all[0];
  m.pack = plan_nest(common.first(all[0].count), all.first(2), extents.first(2));
  return m;
}

/// The allocated extents of the shards on the path between two placements whose cuts do not clash: as it is,
/// as the first move wants it, as the last move leaves it, and as it shall be.
struct extents_on_path {
  small_array<small_array<extent, max_rank>, 4> source{};
  int rank = 0;

  constexpr std::span<extent const> operator[](int i) const { return source[i].first(rank); }
  constexpr bool differ(int i, int j) const {
    for (int d = 0; d < rank; ++d)
      if (source[i][d] != source[j][d]) return true;
    return false;
  }
};

}  // namespace detail

/// The cheapest moves from one placement to another of the same dimensions. `from` is also still a sum over
/// the axes `unreduced`, which split none of its dimensions; the result is finished over them. Over the axes
/// `riding` the value remains a sum, and no move touches them; they split nothing. The gradient of the result
/// goes back by a plan of its own: `to` and `from` exchanged, with the gradient's unreduced axes.
///
/// Cheapest means that no other sequence of slices, reduce-scatters, permutes, all-to-alls, all-reduces and
/// all-gathers sends fewer bytes by `sent_by_one`, or as many bytes in fewer calls, or in as many calls with
/// fewer consecutive messages, or then with fewer shards held at once. Each is one call on joint axes: a
/// slice, a reduce-scatter or an all-to-all adds axes at the inner ends of dimensions, an all-gather or an
/// all-to-all removes them there, and a permute replaces axes by any that make as many parts. An axis that
/// splits neither placement may help: processes that hold the same elements share the work. If there are
/// thousands of states (from four axes on, in many dimensions), the plan is the cheapest path found among
/// the first of them.
///
/// Axes of one process are ignored.
///
/// Where the parts of a dimension are uneven, whole blocks move, padding included; a copy within the process
/// adds or removes padding before and after. If a dimension is cut into blocks of one size and shall be cut
/// into blocks of another (10 over 2 and 10 over 4), it is whole in between.
/// Source: the states and the decision table of DTensor and Shardy's resharding, with ordered axes; prices as
/// in plan/collective.hpp.
constexpr reshard_steps plan_reshard(std::span<placed const> from, std::span<placed const> to,
                                     axis_set unreduced, std::span<extent const> axes, axis_set riding = 0) {
  using fault = reshard_fault;
  if (from.size() != to.size())
    return {
        .fault = {fault::sizes_differ, static_cast<int>(from.size() < to.size() ? from.size() : to.size())}};

  small_array<placed, max_rank> middle{};
  bool clash = false;
  for (std::size_t d = 0; d < from.size(); ++d) {
    bool const clashes = from[d].size == to[d].size && detail::cuts_clash(from[d], to[d]);
    middle[d]          = clashes ? placed{.size = from[d].size} : from[d];
    clash |= clashes;
  }
  if (clash) {
    std::span<placed const> const whole = middle.first(static_cast<int>(from.size()));
    reshard_steps steps                 = plan_reshard(from, whole, unreduced, axes, riding);
    reshard_steps const rest            = plan_reshard(whole, to, 0, axes, riding);
    if (steps.fault.reason != fault::none) return steps;
    if (rest.fault.reason != fault::none) return rest;
    if (steps.count + rest.count > max_moves) return {.fault = {fault::too_many_loops}};
    for (reshard_move const& m : rest) steps.moves[steps.count++] = m;
    return steps;
  }

  detail::reshard_problem problem{.axis_count = static_cast<int>(axes.size()),
                                  .rank       = static_cast<int>(from.size())};
  for (std::size_t a = 0; a < axes.size(); ++a) {
    problem.axes[a] = detail::among(riding, static_cast<int>(a)) ? 1 : axes[a];
    problem.processes *= problem.axes[a];
  }
  detail::placement_lists before;
  detail::placement_lists after;
  detail::extents_on_path shards{.rank = problem.rank};
  for (std::size_t d = 0; d < from.size(); ++d) {
    int const dim = static_cast<int>(d);
    if (from[d].size != to[d].size) return {.fault = {fault::sizes_differ, dim}};
    problem.size[d]     = detail::padded_size(to[d].parts > 1 ? to[d] : from[d]);
    shards.source[0][d] = from[d].allocated_extent();
    shards.source[1][d] = problem.size[d] / from[d].parts;
    shards.source[2][d] = problem.size[d] / to[d].parts;
    shards.source[3][d] = to[d].allocated_extent();
    for (int axis : from[d].over)
      if (problem.along(axis) > 1) {
        if (detail::among(unreduced, axis)) return {.fault = {fault::unreduced_axis_splits, dim, axis}};
        before.over[d].push_back(axis);
      }
    for (int axis : to[d].over)
      if (problem.along(axis) > 1) after.over[d].push_back(axis);
  }
  for (int a = 0; a < problem.axis_count; ++a)
    if (problem.along(a) > 1) before.unreduced |= unreduced & axis_set{1} << a;
  problem.start = problem.state_of(before);
  problem.goal  = problem.state_of(after);

  detail::reshard_path const path = detail::cheapest_path(problem);
  bool const widens               = shards.differ(0, 1);
  bool const narrows              = shards.differ(2, 3);
  if (path.price.moves + int{widens} + int{narrows} > max_moves) return {.fault = {fault::too_many_loops}};
  reshard_steps steps{.shard = 1};
  for (int d = 0; d < problem.rank; ++d) steps.shard *= shards.source[0][d];
  if (widens) steps.moves[steps.count++] = detail::refitted(shards[0], shards[1]);
  detail::move_maker maker{problem};
  detail::placement_state state = problem.start;
  for (int i = 0; i < path.price.moves; ++i) {
    steps.moves[steps.count++] = maker.between(state, path.transitions[i].kind, path.transitions[i].after);
    state                      = path.transitions[i].after;
  }
  if (narrows) steps.moves[steps.count++] = detail::refitted(shards[2], shards[3]);
  if (maker.too_deep()) return {.fault = {fault::too_many_loops}};
  return steps;
}

}  // namespace v0
}  // namespace meshtf
