// The processes of a mesh, simulated in one: what each holds by the definition of a placement, and what moves
// make of it.
#pragma once

#include "../../catch.hpp"

#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace simulated {

using namespace meshtf;
using vec        = std::vector<extent>;
using placements = std::vector<placed>;
using shards     = std::vector<vec>;  // one for each process

inline std::size_t at(extent i) { return static_cast<std::size_t>(i); }

inline extent product(vec const& v) {
  return std::accumulate(v.begin(), v.end(), extent{1}, std::multiplies<>{});
}

// Row-major, as ranks and shards are.
inline vec coordinates(extent index, vec const& sizes) {
  vec c(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0; index /= sizes[i]) c[i] = index % sizes[i];
  return c;
}

// The value of one element: every process has a part of its own in a sum over `unreduced`.
inline extent element_of_sum(extent index, axis_set unreduced, vec const& who) {
  extent salt = 0;
  for (std::size_t a = 0; a < who.size(); ++a)
    if (unreduced >> a & 1) salt = salt * 7 + who[a] + 1;
  return index + 1 + salt * (index % 11 + 3);
}

inline extent summed(extent index, axis_set unreduced, vec const& mesh) {
  extent sum = 0;
  for (extent p = 0; p < product(mesh); ++p) {
    vec const who = coordinates(p, mesh);
    bool counts   = true;  // one process for each coordinate on the unreduced axes
    for (std::size_t a = 0; a < mesh.size(); ++a) counts = counts && ((unreduced >> a & 1) || who[a] == 0);
    if (counts) sum += element_of_sum(index, unreduced, who);
  }
  return sum;
}

// By the definition of a placement, and by nothing that the moves know.
template<class Value>
vec shard_of(placements const& dims, vec const& who, vec const& mesh, Value value) {
  vec local;
  vec start;
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

inline vec walked(nest_steps const& nest, vec const& source, extent offset, extent size) {
  vec target(at(size), -1);
  vec const sizes(nest.size.begin(), nest.size.begin() + nest.rank);
  for (extent i = 0; i < product(sizes); ++i) {
    extent from = offset;
    extent to   = 0;
    vec const c = coordinates(i, sizes);
    for (std::size_t l = 0; l < c.size(); ++l) {
      from += c[l] * nest.stride[0][l];
      to += c[l] * nest.stride[1][l];
    }
    target.at(at(to)) = source.at(at(from));
  }
  return target;
}

inline shards after(reshard_move const& m, shards const& before, vec const& mesh) {
  shards packed = before;
  shards arrived(before.size());
  shards result(before.size());
  // processes that differ along `over` only, by rank in their communicator
  std::map<extent, std::vector<std::size_t>> groups;
  for (std::size_t p = 0; p < before.size(); ++p) {
    REQUIRE(std::ssize(before[p]) == m.send);
    vec const who = coordinates(static_cast<extent>(p), mesh);
    if (m.kind == transfer_kind::slice) {
      extent offset = 0;
      for (std::size_t a = 0; a < mesh.size(); ++a) offset += who[a] * m.offset[a];
      result[p] = walked(m.pack, before[p], offset, m.result);
      continue;
    }
    extent others = 0;
    for (std::size_t a = 0; a < mesh.size(); ++a)
      others = others * mesh[a] + ((m.over >> a & 1) ? 0 : who[a]);
    groups[others].push_back(p);
    if (m.packs) packed[p] = walked(m.pack, before[p], 0, m.send);
  }
  for (auto const& [others, group] : groups) {
    REQUIRE(std::ssize(group) == m.processes);
    for (std::size_t me = 0; me < group.size(); ++me) {
      vec& mine        = arrived[group[me]];
      auto const block = at(m.block);
      if (m.kind == transfer_kind::permute) {
        auto const from = partners_of(m, mesh, static_cast<extent>(me)).from;
        REQUIRE(partners_of(m, mesh, from).to == static_cast<extent>(me));
        result[group[me]] = before[group.at(at(from))];
        continue;
      }
      if (m.kind == transfer_kind::all_reduce || m.kind == transfer_kind::reduce_scatter) {
        std::size_t const first = m.kind == transfer_kind::all_reduce ? 0 : me * block;
        mine.assign(block, 0);
        for (std::size_t p : group)
          for (std::size_t i = 0; i < block; ++i) mine[i] += packed[p].at(first + i);
      } else {
        std::size_t const first = m.kind == transfer_kind::all_gather ? 0 : me * block;
        for (std::size_t p : group)
          for (std::size_t i = 0; i < block; ++i) mine.push_back(packed[p].at(first + i));
      }
      REQUIRE(std::ssize(mine) == m.result);
      result[group[me]] = m.unpacks ? walked(m.unpack, mine, 0, m.result) : mine;
    }
  }
  return result;
}

/// Do the moves bring every element from where `from` has it to where `to` wants it, summed over `unreduced`?
inline bool right(placements const& from, placements const& to, axis_set unreduced, vec const& mesh,
                  reshard_steps const& steps) {
  shards value;
  for (extent p = 0; p < product(mesh); ++p) {
    vec const who = coordinates(p, mesh);
    value.push_back(
        shard_of(from, who, mesh, [&](extent index) { return element_of_sum(index, unreduced, who); }));
  }
  for (reshard_move const& m : steps) value = after(m, value, mesh);
  for (extent p = 0; p < product(mesh); ++p)
    if (value[at(p)] != shard_of(to, coordinates(p, mesh), mesh,
                                 [&](extent index) { return summed(index, unreduced, mesh); }))
      return false;
  return true;
}

}  // namespace simulated
