// The calls of all processes in one time: how far their clocks differ, and which calls belong together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <mpi.h>

#include <meshtf/runtime/trace.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Sixteen questions and answers with process 0: the answer of the shortest was given in the middle of it. A
/// difference that is smaller than half of that way can't be told from none: on one machine all have the same
/// clock.
MESHTF_DEFINE clock_reading trace_log::compare_clocks() const {
  constexpr int rounds = 16;
  clock_reading mine{now(), 0};
  for (int r = 1; r < size_; ++r) {
    std::int64_t shortest = -1;
    std::int64_t ahead    = 0;
    for (int i = 0; i < rounds; ++i) {
      std::int64_t sent   = now();
      std::int64_t theirs = 0;
      if (rank_ == 0) {
        MPI_Send(&sent, 1, MPI_INT64_T, r, 0, world_);
        MPI_Recv(&theirs, 1, MPI_INT64_T, r, 0, world_, MPI_STATUS_IGNORE);
        std::int64_t const way = now() - sent;
        if (shortest >= 0 && way >= shortest) continue;
        shortest = way;
        ahead    = theirs - (sent + way / 2);
        if (std::llabs(ahead) <= way / 2) ahead = 0;
      } else if (rank_ == r) {
        MPI_Recv(&theirs, 1, MPI_INT64_T, 0, 0, world_, MPI_STATUS_IGNORE);
        sent = now();
        MPI_Send(&sent, 1, MPI_INT64_T, 0, 0, world_);
      }
    }
    if (rank_ == 0) MPI_Send(&ahead, 1, MPI_INT64_T, r, 0, world_);
    if (rank_ == r) MPI_Recv(&mine.ahead, 1, MPI_INT64_T, 0, 0, world_, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(world_);
  return mine;
}

/// In the time of process 0. Between the two readings the clocks drift evenly.
MESHTF_DEFINE std::int64_t trace_log::in_time_of_all(std::int64_t t) const {
  if (end_.ahead == start_.ahead || end_.here == start_.here) return t - start_.ahead;
  double const passed = static_cast<double>(t - start_.here) / static_cast<double>(end_.here - start_.here);
  return t - start_.ahead -
         static_cast<std::int64_t>(passed * static_cast<double>(end_.ahead - start_.ahead));
}

/// For each call of this process: when the last of those that take part had come, and the arrow that joins
/// them.
MESHTF_DEFINE std::vector<trace_log::joint> trace_log::join_collectives() {
  constexpr int words   = sizeof(arrival) / sizeof(std::int64_t);
  constexpr int answers = sizeof(joint) / sizeof(std::int64_t);
  std::vector<arrival> mine;
  for (std::size_t i = 0; i < count_; ++i)
    if (auto const& c = call(i); c.number != 0) {
      auto const& mesh = meshes_[static_cast<std::size_t>(c.mesh)];
      // what is handed on is sent by one alone, and meets no other call
      std::int64_t const group = c.call == collective::hand_on ? -1 - rank_ : mesh.first_along(c.over);
      mine.push_back({mesh.key, c.over, c.among, group, in_time_of_all(c.begin), rank_,
                      static_cast<std::int64_t>(mine.size())});
    }
  MPI_Datatype one_arrival = MPI_DATATYPE_NULL;
  MPI_Datatype one_joint   = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(words, MPI_INT64_T, &one_arrival);
  MPI_Type_contiguous(answers, MPI_INT64_T, &one_joint);
  MPI_Type_commit(&one_arrival);
  MPI_Type_commit(&one_joint);

  int const count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(size_));
  std::vector<int> next(static_cast<std::size_t>(size_));
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world_);
  std::vector<arrival> all;
  std::vector<joint> of_all;
  std::vector<joint> of_mine(mine.size());
  if (rank_ == 0) {
    for (std::size_t r = 1; r < next.size(); ++r) next[r] = next[r - 1] + counts[r - 1];
    all.resize(static_cast<std::size_t>(next.back() + counts.back()));
  }
  MPI_Gatherv(mine.data(), count, one_arrival, all.data(), counts.data(), next.data(), one_arrival, 0,
              world_);
  if (rank_ == 0) {
    for (auto& a : all) a.index += next[static_cast<std::size_t>(a.rank)];
    of_all = joined(all);
  }
  MPI_Scatterv(of_all.data(), counts.data(), next.data(), one_joint, of_mine.data(), count, one_joint, 0,
               world_);
  MPI_Type_free(&one_arrival);
  MPI_Type_free(&one_joint);
  return of_mine;
}

MESHTF_DEFINE std::vector<trace_log::joint> trace_log::joined(std::vector<arrival>& all) {
  // qsort: std::sort takes every program that compiles this longer
  auto const before = [](void const* x, void const* y) {
    auto const& a = *static_cast<arrival const*>(x);
    auto const& b = *static_cast<arrival const*>(y);
    for (auto const field :
         {&arrival::mesh, &arrival::over, &arrival::number, &arrival::group, &arrival::begin, &arrival::rank})
      if (a.*field != b.*field) return a.*field < b.*field ? -1 : 1;
    return 0;
  };
  if (!all.empty()) std::qsort(all.data(), all.size(), sizeof(arrival), before);
  std::vector<joint> found(all.size());
  std::int64_t flow = 0;
  for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
    auto const& a = all[i];
    next          = i + 1;
    while (next < all.size() && all[next].mesh == a.mesh && all[next].over == a.over &&
           all[next].number == a.number && all[next].group == a.group)
      ++next;
    ++flow;
    for (std::size_t k = i; k < next; ++k) {
      // a flow's start, step and end in the trace event format; a call of one process has none
      std::int64_t role = 't';
      if (k + 1 == next) role = 'f';
      if (k == i) role = 's';
      if (next - i == 1) role = 0;
      found[static_cast<std::size_t>(all[k].index)] = {all[next - 1].begin, flow, role};
    }
  }
  return found;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
