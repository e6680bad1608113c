// Moves between all pairs of placements: every element arrives where the new placement has it, and pending
// sums are joined, or stay pending, on the way.
#include "../plan/reshard/simulated.hpp"
#include "processes.hpp"

#include <utility>

#include <meshtf/plan/reshard/reshape_moves.hpp>
#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace {

using namespace verified;
using meshtf::shape;

constexpr extent padding = -1000003;  // what lies past the local elements, which no move may bring to one

/// The settings of all layouts of `Dims`.
template<class Dims>
std::vector<setting> all_settings() {
  std::vector<setting> all;
  for_each_layout<Dims>([&]<class L>(setting const& s) { all.push_back(s); });
  return all;
}

std::vector<std::vector<extent>> as_numbers(std::vector<shard> const& shards) {
  std::vector<std::vector<extent>> all;
  for (shard const& one : shards) {
    all.emplace_back();
    for (double e : one) all.back().push_back(e == e ? static_cast<extent>(e) : padding);
  }
  return all;
}

/// `x`, a sum over `unreduced` and `riding` under `from`, moves to `to`, where it is a sum over `riding`.
bool arrives(setting const& from, setting const& to, dim_list const& dims, axis_set unreduced,
             axis_set riding) {
  std::vector<placed> before;
  std::vector<placed> after;
  for (int l : dims) {
    before.push_back(from.dim[static_cast<std::size_t>(l)]);
    after.push_back(to.dim[static_cast<std::size_t>(l)]);
  }
  auto const steps = meshtf::plan_reshard(before, after, unreduced, from.axes, riding);
  if (steps.fault.reason != meshtf::reshard_fault::none) return false;
  whole const x = integers(from, dims, 1);
  auto numbers  = as_numbers(terms_of(from, x, unreduced | riding));
  for (auto const& move : steps) numbers = simulated::after(move, numbers, from.axes);
  return equal(to, joined(to, as_shards(numbers), riding), x);
}

/// All pairs of placements on one mesh, and all sets of axes over which the value is a sum.
template<class Dims>
void check_moves(counter& count, std::vector<extent> const& sizes) {
  auto const settings = all_settings<Dims>();
  auto const split    = [](setting const& s) {
    axis_set axes = 0;
    for (placed const& by : s.dim) axes |= by.over.set();
    return axes;
  };
  for (setting const& from : settings)
    for (setting const& to : settings) {
      if (from.axes != to.axes) continue;
      ++count.placements;
      for_each_size(
          from, letters_of<Dims>,
          [&](setting const& now) {
            setting then = to;
            for (std::size_t i = 0; i < then.dim.size(); ++i) then.dim[i].size = now.dim[i].size;
            for_each_pending(now, [&](axis_set pending) {
              for (axis_set riding = 0; riding <= pending; ++riding)
                if ((riding & ~pending) == 0 && (riding & split(to)) == 0)
                  count.expect(arrives(now, then, letters_of<Dims>, pending & ~riding, riding), "value",
                               then);
            });
          },
          sizes);
    }
}

// rule moves: reshard/reshard_moves.hpp reshard/reshard_plan.hpp
// checks: x moved between each pair of placements of one mesh, whole and as a pending sum over each set of
// free axes, which the moves join or leave pending; the gradient of a move is a move back, so it is among the
// pairs sizes: 1 to 5 operations: shape/reshard.hpp shape/finish.hpp
TEST_CASE("moves bring every element to its place between all placements", "[verified]") {
  counter count{"moves"};
  check_moves<shape<a>>(count, {1, 2, 3, 4, 5});
  check_moves<shape<a, b>>(count, {1, 2, 3, 4, 5});
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

/// Whether each process has the elements of `a` in the same order as those of `b`, `c` and `d`, into which it
/// is split.
bool same_elements(setting const& s, dim_list const& parts) {
  bool same      = true;
  auto const one = letters_of<shape<a>>;
  for_each_process(s, [&](std::size_t, place_in_mesh const& here) {
    for_each_index(s, parts, [&](position at) {
      for (int l : parts) at[0] = at[0] * s.size(l) + at[static_cast<std::size_t>(l)];
      same = same && place_in_shard(s, one, here, at) == place_in_shard(s, parts, here, at);
    });
  });
  return same && allocated(s, one) == allocated(s, parts);
}

/// A dimension of all sizes of its parts, under all placements in which it can be viewed as them.
template<class Parts>
void check_views(counter& count) {
  for_each_layout<shape<a>>([&]<class L>(setting const& placed_whole) {
    ++count.placements;
    for_each_size(placed_whole, letters_of<Parts>, [&](setting s) {
      s.dim[0].size = 1;
      std::vector<placed> parts;
      for (int l : letters_of<Parts>) {
        parts.push_back({.size = s.size(l)});
        s.dim[0].size *= s.size(l);
      }
      if (meshtf::distribute(s.dim[0], parts, s.axes) != s.dim[0].over.count)
        return;  // split_runs_across_parts
      for (std::size_t i = 0; i < parts.size(); ++i) s.dim[i + 1] = parts[i];
      count.expect(same_elements(s, letters_of<Parts>), "view", s);
    });
  });
}

// rule views: reshard/reshape_moves.hpp reshard/reshape_plan.hpp
// checks: a dimension and the two or three that it is split into, or that are merged into it, have the same
// elements in the same order in each process, wherever the plan allows it. (Where the layout has the parts
// elsewhere, they then move: see moves.) sizes: 1 to 5, of the parts operations: shape/reshape.hpp
TEST_CASE("a dimension viewed as several has the same elements under every placement", "[verified]") {
  counter count{"views"};
  check_views<shape<b, c>>(count);
  check_views<shape<b, c, d>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
