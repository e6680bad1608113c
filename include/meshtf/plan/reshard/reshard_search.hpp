// The cheapest path from one placement to another: a shortest path over placement states.
#pragma once

#include <meshtf/core/growing.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/reshard/direct_path.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A* over placement states. The bound never falls by more than the price of a move, so a state is settled
/// when it is first expanded.
class reshard_search {
public:
  constexpr explicit reshard_search(reshard_problem const& problem)
      : problem_{problem}, source_{problem.shard(problem.start)} {}

  /// The cheapest path that is cheaper than `known`, or `known`. If there are too many states to expand, it
  /// is the cheapest path found.
  constexpr reshard_path find(reshard_path const& known) {
    limit_ = known.price;
    nodes_.push_back({.state = problem_.start, .left = problem_.lower_bound(problem_.start)});
    for (index current = 0; current >= 0 && nodes_.size() < max_nodes; current = next()) {
      at(current).settled = true;
      expand(current);
    }
    return best_ < 0 ? known : path_to(best_);
  }

private:
  using index                    = int;
  static constexpr int max_nodes = 3000;

  struct node {
    placement_state state{};
    transfer_kind kind = transfer_kind::slice;
    bool settled       = false;
    index before       = -1;
    path_price price{};
    extent left = 0;  // lower bound of what is still to be sent
  };

  constexpr node& at(index i) { return nodes_[i]; }
  constexpr node const& at(index i) const { return nodes_[i]; }

  constexpr static path_price total_price(node const& n) {
    path_price p = n.price;
    p.sent += n.left;
    return p;
  }

  /// The most promising state that is not expanded yet; none if no path through one can be cheaper than the
  /// best known.
  constexpr index next() const {
    index found       = -1;
    path_price lowest = limit_;
    for (index i = 0; i < nodes_.size(); ++i) {
      node const& n = at(i);
      if (path_price const p = total_price(n); !n.settled && p < lowest) {
        found  = i;
        lowest = p;
      }
    }
    return found;
  }

  constexpr reshard_path path_to(index i) const {
    reshard_path path{.price = at(i).price};
    for (int k = path.price.moves; k-- > 0; i = at(i).before) path.transitions[k] = {at(i).kind, at(i).state};
    return path;
  }

  constexpr index find_node(placement_state s) {
    if (table_.size() < 2 * nodes_.size() + 2) {
      table_.more(table_.size() + 64);
      for (index slot = 0; slot < table_.size(); ++slot) table_[slot] = -1;
      for (index i = 0; i < nodes_.size(); ++i) table_[slot_of(nodes_[i].state)] = i;
    }
    return table_[slot_of(s)];
  }
  constexpr index slot_of(placement_state s) const {
    auto const mixed = static_cast<std::size_t>((s.places ^ s.places >> 23) * 0x9e3779b97f4a7c15U >> 20);
    auto slot        = static_cast<index>(mixed % static_cast<std::size_t>(table_.size()));
    while (table_[slot] >= 0 && at(table_[slot]).state != s) slot = slot + 1 == table_.size() ? 0 : slot + 1;
    return slot;
  }

  /// Records that one move over `along` processes leads to `to`.
  constexpr void relax(transfer_kind kind, placement_state to, extent along) {
    extent const result    = problem_.shard(to);
    path_price const price = and_then(from_price_, problem_, kind, source_, from_shard_, result, along);
    if (price.moves > max_moves || !(price < limit_)) return;
    index i = find_node(to);
    if (i < 0) {
      node n{.state = to, .kind = kind, .before = from_, .price = price, .left = problem_.lower_bound(to)};
      if (!(total_price(n) < limit_)) return;
      i                   = nodes_.size();
      table_[slot_of(to)] = i;
      nodes_.push_back(n);
    } else {
      node& n = at(i);
      if (n.settled || !(price < n.price)) return;
      n.kind   = kind;
      n.before = from_;
      n.price  = price;
    }
    if (to == problem_.goal) {
      best_  = i;
      limit_ = price;
    }
  }

  constexpr void expand(index lists) {
    from_                   = lists;
    from_price_             = at(lists).price;
    placement_state const s = at(lists).state;
    from_shard_             = problem_.shard(s);
    lists_                  = problem_.lists_of(s);
    for (int d = 0; d < problem_.rank; ++d) {
      local_[d] = problem_.global_extent(d);
      for (int a : lists_.over[d]) local_[d] /= problem_.along(a);
    }
    come(transfer_kind::slice, s, lists_.unused, false, 0, 0, 1);
    come(transfer_kind::reduce_scatter, s, lists_.unreduced, false, 0, 0, 1);
    for (axis_set set = lists_.unreduced; set != 0; set = (set - 1) & lists_.unreduced) {
      placement_state to = s;
      for (int a = 0; a < problem_.axis_count; ++a)
        if (among(set, a)) to.put(a, placement_state::unused);
      relax(transfer_kind::all_reduce, to, problem_.along(set));
    }
    go(s, 0, 0, 0, 1);
    axis_set rest = lists_.unused;
    for (int d = 0; d < problem_.rank; ++d) rest |= lists_.over[d].set();
    placement_state bare = s;
    for (int a = 0; a < problem_.axis_count; ++a)
      if (among(rest, a)) bare.put(a, placement_state::unused);
    place_axes(s, bare, rest, 0, 0, problem_.rank > 0 ? problem_.global_extent(0) / local_[0] : 1);
  }

  /// Adds axes of `rest` at the inner ends of the dimensions from `dim` on, except the `closed` ones; if
  /// `all`, every axis of `rest`.
  constexpr void come(transfer_kind kind, placement_state s, axis_set rest, bool all, axis_set closed,
                      int dim, extent along) {
    for (int d = dim; d < problem_.rank; ++d) {
      if (among(closed, d)) continue;
      for (int a = 0; a < problem_.axis_count; ++a) {
        extent const n = problem_.along(a);
        if (!among(rest, a) || local_[d] % n != 0) continue;
        placement_state to  = s;
        axis_set const left = rest & ~(axis_set{1} << a);
        to.put(a, placement_state::at(d, lists_.over[d].count));
        lists_.over[d].push_back(a);
        local_[d] /= n;
        extent const of_all = all ? along : along * n;
        if (!all || left == 0) relax(kind, to, of_all);
        if (left != 0) come(kind, to, left, all, closed, d, of_all);
        local_[d] *= n;
        --lists_.over[d].count;
      }
    }
  }

  /// Removes axes from the inner ends of the dimensions from `dim` on. An all-gather drops them, an
  /// all-to-all adds them to other dimensions.
  constexpr void go(placement_state s, int dim, axis_set gone, axis_set closed, extent along) {
    if (dim == problem_.rank) {
      if (gone == 0) return;
      relax(transfer_kind::all_gather, s, along);
      come(transfer_kind::all_to_all, s, gone, true, closed, 0, along);
      return;
    }
    go(s, dim + 1, gone, closed, along);
    axis_list const list = lists_.over[dim];
    for (int i = list.count; i-- > 0;) {
      s.put(list[i], placement_state::unused);
      gone |= axis_set{1} << list[i];
      along *= problem_.along(list[i]);
      go(s, dim + 1, gone, closed | axis_set{1} << dim, along);
    }
  }

  /// Gives the dimensions from `dim` on axes of `rest` that make as many parts as they have at `s`. `parts`
  /// of these are left to `dim`.
  constexpr void place_axes(placement_state s, placement_state to, axis_set rest, int dim, int position,
                            extent parts) {
    if (dim == problem_.rank) {
      if (to != s) relax(transfer_kind::permute, to, 1);
      return;
    }
    if (parts == 1) {
      place_axes(s, to, rest, dim + 1, 0,
                 dim + 1 < problem_.rank ? problem_.global_extent(dim + 1) / local_[dim + 1] : 1);
      return;
    }
    for (int a = 0; a < problem_.axis_count; ++a)
      if (among(rest, a) && parts % problem_.along(a) == 0) {
        placement_state then = to;
        then.put(a, placement_state::at(dim, position));
        place_axes(s, then, rest & ~(axis_set{1} << a), dim, position + 1, parts / problem_.along(a));
      }
  }

  reshard_problem const& problem_;
  extent source_ = 0;
  growing<node> nodes_;
  growing<index> table_;
  path_price limit_{};  // of the best path known
  index best_ = -1;     // its last node, if the search found it
  // the node being expanded
  index from_ = 0;
  path_price from_price_{};
  extent from_shard_ = 0;
  placement_lists lists_{};
  small_array<extent, max_rank> local_{};
};

/// The cheapest path. A direct path that sends no more than the lower bound, in one call, needs no search.
constexpr reshard_path cheapest_path(reshard_problem const& problem) {
  if (problem.start == problem.goal) return {};
  reshard_path direct;
  bool const found = direct_path{problem}.find(direct);
  if (!found) {  // all-reduce, gather and slice everything: a path of at most three moves
    direct                = {};
    placement_lists lists = problem.lists_of(problem.start);
    placement_lists goal  = problem.lists_of(problem.goal);
    placement_state state = problem.start;
    auto const go         = [&](transfer_kind kind, axis_set set, placement_state to) {
      if (set == 0) return;
      direct.price = and_then(direct.price, problem, kind, problem.shard(problem.start), problem.shard(state),
                                      problem.shard(to), problem.along(set));
      direct.transitions[direct.price.moves - 1] = {kind, to};
      state                                      = to;
    };
    axis_set leaving = 0;
    axis_set coming  = 0;
    for (int d = 0; d < problem.rank; ++d) {
      leaving |= lists.over[d].set();
      coming |= goal.over[d].set();
    }
    axis_set const unreduced = lists.unreduced;
    lists.unreduced          = 0;
    go(transfer_kind::all_reduce, unreduced, problem.state_of(lists));
    go(transfer_kind::all_gather, leaving, {});
    go(transfer_kind::slice, coming, problem.goal);
  }
  if (direct.price.calls <= 1 && direct.price.sent == problem.lower_bound(problem.start)) return direct;
  return reshard_search{problem}.find(direct);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
