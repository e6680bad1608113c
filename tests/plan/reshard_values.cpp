// Resharding: the moves bring every element to its place. All processes of a mesh are simulated in one.
#include "../catch.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <meshtf/plan/reshard_moves.hpp>

namespace {

using namespace meshtf;
using vec        = std::vector<extent>;
using placements = std::vector<placed>;
using shards     = std::vector<vec>;   // one for each process

std::size_t at(extent i) { return static_cast<std::size_t>(i); }

extent product(vec const& v) { return std::accumulate(v.begin(), v.end(), extent{1}, std::multiplies<>{}); }

// Row-major, as ranks and shards are.
vec coordinates(extent index, vec const& sizes) {
  vec c(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0; index /= sizes[i]) c[i] = index % sizes[i];
  return c;
}

// The value of one element: every process has a part of its own in a sum over `owed`.
extent element_of_sum(extent index, axis_set owed, vec const& who) {
  extent salt = 0;
  for (std::size_t a = 0; a < who.size(); ++a)
    if (owed >> a & 1) salt = salt * 7 + who[a] + 1;
  return index + 1 + salt * (index % 11 + 3);
}

extent summed(extent index, axis_set owed, vec const& mesh) {
  extent sum = 0;
  for (extent p = 0; p < product(mesh); ++p) {
    vec const who = coordinates(p, mesh);
    bool counts   = true;   // one process for each coordinate on the owed axes
    for (std::size_t a = 0; a < mesh.size(); ++a) counts = counts && ((owed >> a & 1) || who[a] == 0);
    if (counts) sum += element_of_sum(index, owed, who);
  }
  return sum;
}

// By the definition of a placement, and by nothing that the moves know.
template<class Value>
vec shard_of(placements const& dims, vec const& who, vec const& mesh, Value value) {
  vec local, start;
  for (placed const& d : dims) {
    extent part = 0;
    for (int a : d.over) part = part * mesh[at(a)] + who[at(a)];
    local.push_back(d.size / d.parts);
    start.push_back(part * local.back());
  }
  vec shard;
  for (extent i = 0; i < product(local); ++i) {
    vec const c  = coordinates(i, local);
    extent index = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) index = index * dims[d].size + start[d] + c[d];
    shard.push_back(value(index));
  }
  return shard;
}

vec walked(nest_steps const& nest, vec const& source, extent offset, extent size) {
  vec target(at(size), -1);
  vec const sizes(nest.size.begin(), nest.size.begin() + nest.rank);
  for (extent i = 0; i < product(sizes); ++i) {
    extent from = offset, to = 0;
    vec const c = coordinates(i, sizes);
    for (std::size_t l = 0; l < c.size(); ++l) from += c[l] * nest.stride[0][l], to += c[l] * nest.stride[1][l];
    target.at(at(to)) = source.at(at(from));
  }
  return target;
}

shards after(reshard_move const& m, shards const& before, vec const& mesh) {
  shards packed = before, arrived(before.size()), result(before.size());
  std::map<extent, std::vector<std::size_t>> groups;   // processes that differ along `over` only, by rank in their communicator
  for (std::size_t p = 0; p < before.size(); ++p) {
    REQUIRE(std::ssize(before[p]) == m.send);
    vec const who = coordinates(static_cast<extent>(p), mesh);
    if (m.what == transfer::slice) {
      extent offset = 0;
      for (std::size_t a = 0; a < mesh.size(); ++a) offset += who[a] * m.offset[a];
      result[p] = walked(m.pack, before[p], offset, m.result);
      continue;
    }
    extent others = 0;
    for (std::size_t a = 0; a < mesh.size(); ++a) others = others * mesh[a] + ((m.over >> a & 1) ? 0 : who[a]);
    groups[others].push_back(p);
    if (m.packs) packed[p] = walked(m.pack, before[p], 0, m.send);
  }
  for (auto const& [others, group] : groups) {
    REQUIRE(std::ssize(group) == m.processes);
    for (std::size_t me = 0; me < group.size(); ++me) {
      vec& mine        = arrived[group[me]];
      auto const block = at(m.block);
      if (m.what == transfer::all_reduce || m.what == transfer::reduce_scatter) {
        std::size_t const first = m.what == transfer::all_reduce ? 0 : me * block;
        mine.assign(block, 0);
        for (std::size_t p : group)
          for (std::size_t i = 0; i < block; ++i) mine[i] += packed[p].at(first + i);
      } else {
        std::size_t const first = m.what == transfer::all_gather ? 0 : me * block;
        for (std::size_t p : group)
          for (std::size_t i = 0; i < block; ++i) mine.push_back(packed[p].at(first + i));
      }
      REQUIRE(std::ssize(mine) == m.result);
      result[group[me]] = m.unpacks ? walked(m.unpack, mine, 0, m.result) : mine;
    }
  }
  return result;
}

// Is there an order of moves at all? Tries every set of axes at every turn.
using orders = std::vector<std::vector<int>>;

bool reachable(orders const& now, orders const& goal, int axes, std::set<orders>& seen) {
  if (now == goal) return true;
  if (!seen.insert(now).second) return false;
  auto const uses = [](orders const& o, int axis) {
    std::ptrdiff_t n = 0;
    for (auto const& d : o) n += std::count(d.begin(), d.end(), axis);
    return n;
  };
  for (unsigned set = 1; set < 1U << axes; ++set) {
    orders next = now;
    bool used = false, unused = false, wanted = false, unwanted = false;
    for (int a = 0; a < axes; ++a)
      if (set >> a & 1) {
        (uses(now, a) > 0 ? used : unused)      = true;
        (uses(goal, a) > 0 ? wanted : unwanted) = true;
      }
    bool legal = used != unused && wanted != unwanted && (used || wanted);   // one kind of move
    for (std::size_t d = 0; d < now.size() && legal; ++d) {
      auto& list = next[d];
      while (!list.empty() && (set >> list.back() & 1)) list.pop_back();
      bool const gives       = list.size() < now[d].size();
      std::size_t const kept = list.size();
      while (wanted && list.size() < goal[d].size() && (set >> goal[d][list.size()] & 1)) list.push_back(goal[d][list.size()]);
      bool const takes = list.size() > kept;
      legal            = !(gives && takes) && (!takes || std::equal(list.begin(), list.end(), goal[d].begin()));
    }
    for (int a = 0; a < axes && legal; ++a)
      if (set >> a & 1) legal = uses(next, a) == (wanted ? 1 : 0);
    if (legal && reachable(next, goal, axes, seen)) return true;
  }
  return false;
}

orders orders_of(placements const& dims, vec const& mesh) {
  orders o(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (int a : dims[d].over)
      if (mesh[at(a)] > 1) o[d].push_back(a);
  return o;
}

struct random_case {
  vec mesh;
  placements from, to;
  axis_set owed = 0;

  random_case(std::mt19937& random, vec const& axes) : mesh(axes), from(1 + random() % 3), to(from.size()) {
    axis_set split = 0;
    for (placements* side : {&from, &to}) {
      std::vector<int> order(mesh.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (int a : order)
        if (random() % 4 != 0) {
          placed& d = (*side)[random() % side->size()];
          d.over.push_back(a);
          d.parts *= mesh[at(a)];
          if (side == &from) split |= axis_set{1} << a;
        }
    }
    for (std::size_t d = 0; d < from.size(); ++d)
      from[d].size = to[d].size = std::lcm(from[d].parts, to[d].parts) * static_cast<extent>(1 + random() % 3);
    owed = static_cast<axis_set>(random()) & ((axis_set{1} << mesh.size()) - 1) & ~split;
  }
};

}  // namespace

TEST_CASE("moves bring every element to its place, or there is no way") {
  std::mt19937 random(7);
  int supported = 0, refused = 0, moved = 0;
  std::map<transfer, int> kinds;
  for (vec const& mesh : {vec{2, 2}, vec{2, 3}, vec{2, 2, 2}, vec{3, 1, 2}})
    for (int n = 0; n < 1500; ++n) {
      random_case const c(random, mesh);
      reshard_steps const steps = plan_reshard(c.from, c.to, c.owed, mesh);
      INFO("case " << n << " on " << mesh.size() << " axes");
      std::set<orders> seen;
      bool const way = reachable(orders_of(c.from, mesh), orders_of(c.to, mesh), static_cast<int>(mesh.size()), seen);
      REQUIRE(way == (steps.fault.what == reshard_fault::none));
      if (!way) {
        REQUIRE(steps.fault.what == reshard_fault::needs_permutation);
        REQUIRE(steps.count == 0);
        ++refused;
        continue;
      }

      shards value;
      for (extent p = 0; p < product(mesh); ++p) {
        vec const who = coordinates(p, mesh);
        value.push_back(shard_of(c.from, who, mesh, [&](extent index) { return element_of_sum(index, c.owed, who); }));
      }
      for (reshard_move const& m : steps) value = after(m, value, mesh), ++kinds[m.what], ++moved;

      bool right = true;
      for (extent p = 0; p < product(mesh); ++p)
        right = right && value[at(p)] == shard_of(c.to, coordinates(p, mesh), mesh, [&](extent index) { return summed(index, c.owed, mesh); });
      REQUIRE(right);
      ++supported;
    }
  CHECK(kinds.size() == 5);   // each kind of move has been seen
  INFO(supported << " supported by " << moved << " moves, " << refused << " refused");
  CHECK(supported > refused);
}

TEST_CASE("copies that need more loops than a nest has are a fault") {
  vec const mesh(8, 2);   // every axis goes to a dimension of its own: 8 loops over processes and 12 over elements
  placements from(12, placed{.size = 8}), to = from;
  for (int a = 0; a < 8; ++a) {
    from[at(a / 2)].over.push_back(a);
    to[at(4 + a)].over.push_back(a);
    from[at(a / 2)].parts = 4;
    to[at(4 + a)].parts   = 2;
  }
  reshard_steps const steps = plan_reshard(from, to, 0, mesh);
  CHECK(steps.fault.what == reshard_fault::too_many_loops);
  CHECK(steps.count == 0);
}
