// The processes of a mesh in one process of a test: their shards, what they compute, what they join.
#pragma once

#include "../catch.hpp"
#include "placements.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace verified {

using shard   = std::vector<double>;
using indices = std::vector<std::int32_t>;

inline constexpr double unwritten      = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int32_t no_index = -7;  // the same in an array of numbers: it names no element

/// An index for each letter.
using position = std::array<extent, max_named>;

/// The letters of all lists, each once.
template<class... More>
dim_list united(dim_list all, More const&... more) {
  auto const add = [&](dim_list const& list) {
    for (int l : list)
      if (!all.has(l)) all.push_back(l);
  };
  (add(more), ...);
  return all;
}

/// f(at) for every position of the letters `over`; the others stay 0.
template<class F>
void for_each_index(setting const& s, dim_list const& over, F const& f) {
  position at{};
  for (int l : over)
    if (s.size(l) == 0) return;
  for (;;) {
    f(at);
    int i = over.count;
    while (i > 0) {
      auto const l = static_cast<std::size_t>(over[i - 1]);
      if (++at[l] < s.dim[l].size) break;
      at[l] = 0;
      --i;
    }
    if (i == 0) return;
  }
}

/// A tensor as a program sees it: all of its elements, which are small integers.
struct whole {
  dim_list letters{};
  std::vector<double> element{};

  std::size_t place(setting const& s, position const& at) const {
    extent p = 0;
    for (int l : letters) p = p * s.size(l) + at[static_cast<std::size_t>(l)];
    return static_cast<std::size_t>(p);
  }
  double& operator()(setting const& s, position const& at) { return element[place(s, at)]; }
  double operator()(setting const& s, position const& at) const { return element[place(s, at)]; }
};

inline whole zeros(setting const& s, dim_list const& letters) {
  extent n = 1;
  for (int l : letters) n *= s.size(l);
  return {letters, std::vector<double>(static_cast<std::size_t>(n))};
}
/// Integers from -5 to 5; `seed` tells tensors apart.
inline whole integers(setting const& s, dim_list const& letters, unsigned seed) {
  whole x        = zeros(s, letters);
  unsigned state = seed * 2654435761U + 12345U;
  for (double& e : x.element) {
    state = state * 1664525U + 1013904223U;
    e     = static_cast<double>(state >> 16 & 0xffU) - 128;
    e     = static_cast<double>(static_cast<int>(e) % 6);
  }
  return x;
}

/// Where element `at` of a tensor lies in the shard of the process at `here`; -1 if another process has it.
inline extent place_in_shard(setting const& s, dim_list const& letters, place_in_mesh const& here,
                             position const& at) {
  extent p = 0;
  for (int l : letters) {
    placed const& by   = s.dim[static_cast<std::size_t>(l)];
    extent const local = at[static_cast<std::size_t>(l)] - here.part_of(by.over) * by.allocated_extent();
    if (local < 0 || local >= by.allocated_extent()) return -1;
    p = p * by.allocated_extent() + local;
  }
  return p;
}
inline std::size_t allocated(setting const& s, dim_list const& letters) {
  extent n = 1;
  for (int l : letters) n *= s.dim[static_cast<std::size_t>(l)].allocated_extent();
  return static_cast<std::size_t>(n);
}

/// The shards of each process with one number everywhere.
inline std::vector<shard> filled(setting const& s, dim_list const& letters, double value) {
  return std::vector<shard>(s.processes(), shard(allocated(s, letters), value));
}
inline std::vector<shard> unwritten_shards(setting const& s, dim_list const& letters) {
  return filled(s, letters, unwritten);
}
inline std::vector<indices> unwritten_indices(setting const& s, dim_list const& letters) {
  return std::vector<indices>(s.processes(), indices(allocated(s, letters), no_index));
}
inline std::vector<indices> as_indices(std::vector<shard> const& all) {
  std::vector<indices> numbers;
  for (shard const& one : all) {
    numbers.emplace_back();
    for (double e : one) numbers.back().push_back(e == e ? static_cast<std::int32_t>(e) : no_index);
  }
  return numbers;
}
template<class Number>
std::vector<shard> as_shards(std::vector<std::vector<Number>> const& all) {
  std::vector<shard> shards;
  for (auto const& one : all) shards.emplace_back(one.begin(), one.end());
  return shards;
}

/// f(p, here) for each process.
template<class F>
void for_each_process(setting const& s, F const& f) {
  for (std::size_t p = 0; p < s.processes(); ++p) {
    auto const coordinates = s.coordinates(p);
    f(p, place_in_mesh{coordinates, s.axes});
  }
}

/// f(place in the whole tensor, place in the shard) for each element that the process at `here` holds. These
/// are the loops that the tests spend their time in, so they have arrays of the language.
template<class F>
void for_each_held(setting const& s, dim_list const& letters, place_in_mesh const& here, F const& f) {
  int const n = letters.count;
  extent size[max_named];
  extent room[max_named];
  extent first[max_named];
  extent end[max_named];
  extent at[max_named];
  for (int k = 0; k < n; ++k) {
    placed const& by = s.dim[static_cast<std::size_t>(letters[k])];
    size[k]          = by.size;
    room[k]          = by.allocated_extent();
    first[k]         = here.part_of(by.over) * room[k];
    end[k]           = std::min(size[k], first[k] + room[k]);
    at[k]            = first[k];
    if (first[k] >= end[k]) return;
  }
  for (;;) {
    extent in_whole = 0;
    extent in_shard = 0;
    for (int k = 0; k < n; ++k) {
      in_whole = in_whole * size[k] + at[k];
      in_shard = in_shard * room[k] + at[k] - first[k];
    }
    f(static_cast<std::size_t>(in_whole), static_cast<std::size_t>(in_shard));
    int k = n - 1;
    for (; k >= 0 && ++at[k] == end[k]; --k) at[k] = first[k];
    if (k < 0) return;
  }
}

/// What each process holds of `x`. Padding is NaN, so a rule that reads it shows.
inline std::vector<shard> shards_of(setting const& s, whole const& x) {
  auto all                 = unwritten_shards(s, x.letters);
  double const* const from = x.element.data();
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    double* const to = all[p].data();
    for_each_held(s, x.letters, here,
                  [&](std::size_t in_whole, std::size_t in_shard) { to[in_shard] = from[in_whole]; });
  });
  return all;
}

/// The local terms of a pending sum over `over`: they differ between processes, and add up to `x`.
inline std::vector<shard> terms_of(setting const& s, whole const& x, axis_set over) {
  auto all = shards_of(s, x);
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    extent others = 1;
    extent rank   = 0;
    for (std::size_t axis = 0; axis < s.axes.size(); ++axis)
      if ((over >> axis & 1U) != 0) {
        others *= s.axes[axis];
        rank = rank * s.axes[axis] + here.coordinates[axis];
      }
    // the first has what the others have not
    for (std::size_t i = 0; i < all[p].size(); ++i) {
      double& e          = all[p][i];
      auto const of_rank = [&](extent r) { return static_cast<double>(7 * r + static_cast<extent>(i % 3)); };
      if (rank != 0 && e == e) e = of_rank(rank);  // padding stays NaN
      else
        for (extent r = 1; r < others; ++r) e -= of_rank(r);
    }
  });
  return all;
}

/// The processes that differ from process `p` along `over` alone, itself included, in the order of their
/// ranks.
inline std::vector<std::size_t> processes_beside(setting const& s, std::size_t p, axis_set over) {
  auto const mine = s.coordinates(p);
  std::vector<std::size_t> all;
  for (std::size_t q = 0; q < s.processes(); ++q) {
    auto const theirs = s.coordinates(q);
    bool same         = true;
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      same = same && ((over >> axis & 1U) != 0 || mine[axis] == theirs[axis]);
    if (same) all.push_back(q);
  }
  return all;
}

/// An all-gather: what all processes along `over` have, one after the other.
template<class T>
std::vector<std::vector<T>> gathered(setting const& s, std::vector<std::vector<T>> const& parts,
                                     axis_set over) {
  std::vector<std::vector<T>> all(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (std::size_t q : processes_beside(s, p, over))
      all[p].insert(all[p].end(), parts[q].begin(), parts[q].end());
  return all;
}

/// The sum, or another join, over the processes along `over`: all of them have the result.
template<class Join = std::plus<double>>
std::vector<shard> joined(setting const& s, std::vector<shard> const& terms, axis_set over, Join join = {}) {
  std::vector<shard> all(terms.size());
  for (std::size_t p = 0; p < terms.size(); ++p)
    for (std::size_t q : processes_beside(s, p, over))
      if (all[p].empty()) all[p] = terms[q];
      else std::transform(all[p].begin(), all[p].end(), terms[q].begin(), all[p].begin(), join);
  return all;
}

/// The process that has the part `distance` after the one of process `p`, of a dimension split over `over`;
/// one past the last if there is none.
inline std::size_t process_of_part(setting const& s, std::size_t p, meshtf::axis_list const& over,
                                   extent distance, bool wraps) {
  auto const mine    = s.coordinates(p);
  extent const parts = meshtf::processes_along(s.axes, over.set());
  extent part        = place_in_mesh{mine, s.axes}.part_of(over) + distance;
  if (wraps) part = (part % parts + parts) % parts;
  for (std::size_t q : processes_beside(s, p, over.set())) {
    auto const theirs = s.coordinates(q);
    if (place_in_mesh{theirs, s.axes}.part_of(over) == part) return q;
  }
  return s.processes();
}

/// What processes send to those that have the part `distance` after theirs; `beyond` where nothing arrives.
inline std::vector<shard> arrived(setting const& s, std::vector<shard> const& leaving,
                                  meshtf::axis_list const& over, extent distance, bool wraps, double beyond) {
  auto arriving = leaving;
  for (std::size_t p = 0; p < leaving.size(); ++p) {
    std::size_t const from = process_of_part(s, p, over, -distance, wraps);
    if (from < leaving.size()) arriving[p] = leaving[from];
    else std::fill(arriving[p].begin(), arriving[p].end(), beyond);
  }
  return arriving;
}

/// f(p, here, steps) for each process with the steps that it plans for its own part.
template<class Steps, class F>
void for_each_plan(setting const& s, rule const& r, F const& f) {
  task_loops const loops = r.sized(s);
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    f(p, here, Steps::plan(loops, meshtf::extents_at(loops, here, {})));
  });
}

/// f(axes) for each set of axes that split no dimension, the empty set first: a tensor may be a pending sum
/// over them.
template<class F>
void for_each_pending(setting const& s, F const& f) {
  axis_set split = 0;
  for (placed const& by : s.dim) split |= by.over.set();
  for (axis_set pending = 0; pending >> s.axes.size() == 0; ++pending)
    if ((pending & split) == 0) f(pending);
}

/// Whether every process has its elements of `x`, to the bit.
inline bool equal(setting const& s, std::vector<shard> const& found, whole const& x) {
  bool same                    = true;
  double const* const expected = x.element.data();
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    double const* const got = found[p].data();
    for_each_held(s, x.letters, here, [&](std::size_t in_whole, std::size_t in_shard) {
      same = same && got[in_shard] == expected[in_whole];
    });
  });
  return same;
}

/// f(s) for all sizes of the letters `over` from `smallest` to 5.
template<class F>
void for_each_size(setting s, dim_list const& over, F const& f,
                   std::vector<extent> const& sizes = {1, 2, 3, 4, 5}) {
  for (placed& by : s.dim) by.size = 1;
  std::vector<std::size_t> turn(static_cast<std::size_t>(over.count));
  for (;;) {
    for (int i = 0; i < over.count; ++i)
      s.dim[static_cast<std::size_t>(over[i])].size = sizes[turn[static_cast<std::size_t>(i)]];
    f(s);
    std::size_t i = turn.size();
    while (i > 0 && ++turn[i - 1] == sizes.size()) turn[--i] = 0;
    if (i == 0) return;
  }
}

/// What a test has gone through. At its end it is compared with `tests/verified/counts.txt`, of which
/// `docs/verified.md` is made.
struct counter {
  std::string name;
  long placements = 0;
  long cases      = 0;
  bool failed     = false;

  /// One case: the first that fails is shown.
  void expect(bool holds, char const* what, setting const& s) {
    ++cases;
    if (holds || failed) return;
    failed = true;
    FAIL_CHECK("the rule '" << name << "' gives another " << what << " than its definition " << s.words());
  }
  void compare_with_page(std::string const& folder) const {
    std::string const counted = name + ": " + std::to_string(placements) + " " + std::to_string(cases);
    std::ifstream file(folder + "/verified/counts.txt");
    bool there = false;
    for (std::string line; std::getline(file, line);) there = there || line == counted;
    INFO("counted: " << counted);
    CHECK(there);
  }
};

}  // namespace verified
