// A direct path from one placement to another, and the price by which paths are compared.
#pragma once

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/reshard/placement_state.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What the search for a path minimises: bytes sent; if these are equal calls, then messages, then shards
/// held at once, then moves.
struct path_price {
  extent sent     = 0;  // times the number of processes
  int calls       = 0;
  extent messages = 0;  // that one process sends one after the other: latencies
  extent peak     = 0;  // elements, without buffers
  int moves       = 0;

  friend constexpr bool operator==(path_price const&, path_price const&) = default;
  friend constexpr bool operator<(path_price const& a, path_price const& b) {
    if (a.sent != b.sent) return a.sent < b.sent;
    if (a.calls != b.calls) return a.calls < b.calls;
    if (a.messages != b.messages) return a.messages < b.messages;
    if (a.peak != b.peak) return a.peak < b.peak;
    return a.moves < b.moves;
  }
};

/// Consecutive messages that a process waits for.
constexpr extent messages_of(transfer_kind kind, extent along) {
  return kind == transfer_kind::slice ? 0 : meshtf::messages_of(collective_of(kind), along);
}

/// The moves of a path, each with the placement state after it.
struct reshard_path {
  struct transition {
    transfer_kind kind = transfer_kind::slice;
    placement_state after{};
  };
  path_price price{};
  small_array<transition, max_moves> transitions{};
};

/// The price of a path with one more move. `source` elements live throughout, besides the shard before the
/// move and its result.
constexpr path_price and_then(path_price before, reshard_problem const& problem, transfer_kind kind,
                              extent source, extent local, extent result, extent along) {
  bool const first    = before.moves == 0;
  bool const in_place = kind == transfer_kind::all_reduce && !first;
  extent const lives  = source + (first ? 0 : local) + (in_place ? 0 : result);
  return {.sent     = before.sent + problem.price(kind, local, along),
          .calls    = before.calls + (kind == transfer_kind::slice ? 0 : 1),
          .messages = before.messages + messages_of(kind, along),
          .peak     = before.peak > lives ? before.peak : lives,
          .moves    = before.moves + 1};
}

/// A direct path to the goal. A dimension keeps the axes that both its lists start with. The other axes of
/// the list leave, innermost first, before the other axes of the goal come, outermost first. Slices come
/// first, then reduce-scatters and all-to-alls, and all-gathers last, each as soon as the order of axes
/// allows: the bytes scale with the shard, which slices and reduce-scatters shrink and all-gathers grow. Axes
/// that fit no such order are gathered and sliced.
class direct_path {
public:
  constexpr explicit direct_path(reshard_problem const& problem)
      : problem_{problem}, now_{problem.lists_of(problem.start)}, goal_{problem.lists_of(problem.goal)} {}

  /// False if it takes more than `max_moves`.
  constexpr bool find(reshard_path& path) {
    axis_set wanted = 0;
    for (auto const& list : goal_.over) wanted |= list.set();
    axis_set const summed = now_.unreduced & ~wanted;
    source_               = problem_.shard(problem_.start);
    extent smallest_shard = source_;
    int smallest          = 0;  // the shard is smallest before this move
    int count             = 0;
    small_array<step, max_moves + 1> steps{};
    for (;;) {
      axis_set const leaving = all_leaving();
      axis_set const coming  = all_coming();
      if ((leaving | coming) == 0) break;
      transfer_kind kind = transfer_kind::slice;
      axis_set set       = ready(coming & now_.unused);
      if (set == 0) {
        kind = transfer_kind::reduce_scatter;
        set  = ready(coming & now_.unreduced);
      }
      if (set == 0) {
        kind = transfer_kind::all_to_all;
        set  = ready(coming & leaving);
      }
      if (set == 0) {
        kind = transfer_kind::all_gather;
        set  = gathered_next();
      }
      if (set == 0) set = ready(leaving);
      if (count == max_moves - (summed != 0)) return false;
      steps[count++] = {kind, set};
      take(kind, set);
      if (extent const local = problem_.shard(problem_.state_of(now_)); local <= smallest_shard) {
        smallest       = count;
        smallest_shard = local;
      }
    }
    if (summed != 0) {  // the all-reduce goes where the shard is smallest
      for (int i = count++; i > smallest; --i) steps[i] = steps[i - 1];
      steps[smallest] = {transfer_kind::all_reduce, summed};
    }

    now_ = problem_.lists_of(problem_.start);
    for (int i = 0; i < count; ++i) {
      step const& s      = steps[i];
      extent const local = problem_.shard(problem_.state_of(now_));
      take(s.kind, s.set);
      placement_state const after = problem_.state_of(now_);
      path.price          = and_then(path.price, problem_, s.kind, source_, local, problem_.shard(after),
                                     problem_.along(s.set));
      path.transitions[i] = {s.kind, after};
    }
    return true;
  }

private:
  struct step {
    transfer_kind kind = transfer_kind::slice;
    axis_set set       = 0;
  };

  constexpr int kept(int d) const {
    int n = 0;
    while (n < now_.over[d].count && n < goal_.over[d].count && now_.over[d][n] == goal_.over[d][n]) ++n;
    return n;
  }
  constexpr axis_set leaving(int d) const { return after(now_.over[d], kept(d)); }
  constexpr axis_set coming(int d) const { return after(goal_.over[d], kept(d)); }
  static constexpr axis_set after(axis_list const& list, int from) {
    axis_set set = 0;
    for (int i = from; i < list.count; ++i) set |= axis_set{1} << list[i];
    return set;
  }
  constexpr axis_set all_leaving() const {
    axis_set set = 0;
    for (int d = 0; d < problem_.rank; ++d) set |= leaving(d);
    return set;
  }
  constexpr axis_set all_coming() const {
    axis_set set = 0;
    for (int d = 0; d < problem_.rank; ++d) set |= coming(d);
    return set;
  }

  /// The largest subset of `set` that one move can take: no axis in it waits for one outside it. Inner axes
  /// leave before outer ones, outer axes come before inner ones, and none comes to a dimension that others
  /// still have to leave.
  constexpr axis_set ready(axis_set set) const {
    for (axis_set before = 0; before != set;) {
      before = set;
      for (int d = 0; d < problem_.rank; ++d) {
        int const from = kept(d);
        bool blocked   = false;
        for (int i = now_.over[d].count; i-- > from;) {
          blocked = blocked || !among(set, now_.over[d][i]);
          if (blocked) set &= ~(axis_set{1} << now_.over[d][i]);
        }
        blocked = now_.over[d].count > from;
        for (int i = from; i < goal_.over[d].count; ++i) {
          blocked = blocked || !among(set, goal_.over[d][i]);
          if (blocked) set &= ~(axis_set{1} << goal_.over[d][i]);
        }
      }
    }
    return set;
  }

  /// The axes of the next all-gather. Axes that leave their dimension go alone, since the next moves
  /// may shrink the shard; the others go together.
  constexpr axis_set gathered_next() const {
    axis_set const all = ready(all_leaving() & ~all_coming());
    for (int d = 0; d < problem_.rank; ++d) {
      axis_set const own = leaving(d);
      if ((own & all) != 0 && (coming(d) != 0 || (own & ~all) != 0)) return own & all;
    }
    return all;
  }

  constexpr void take(transfer_kind kind, axis_set set) {
    bool const comes = kind == transfer_kind::slice || kind == transfer_kind::reduce_scatter ||
                       kind == transfer_kind::all_to_all;
    for (int d = 0; d < problem_.rank; ++d) {
      axis_list& list = now_.over[d];
      int const from  = kept(d);
      bool left       = false;
      while (list.count > from && among(set, list[list.count - 1])) {
        --list.count;
        left = true;
      }
      if (comes && !left)
        for (int i = from; i < goal_.over[d].count && among(set, goal_.over[d][i]); ++i)
          list.push_back(goal_.over[d][i]);
    }
    now_.unreduced &= ~set;
    now_.unused = comes ? now_.unused & ~set : now_.unused | set;
  }

  reshard_problem const& problem_;
  placement_lists now_;
  placement_lists goal_;
  extent source_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
