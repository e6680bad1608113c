// Loops whose parts run on all threads of the process. What a part is depends on the work alone, never on the
// number of threads.
#pragma once

#include <algorithm>
#include <concepts>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/kernel/thread_team.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// The threads that share the work of this process.
inline int thread_count() { return team.threads(); }

/// From now on `n` threads share the work. `environment` calls this; tests and benchmarks may.
inline void use_threads(int n) { team.resize(n); }

/// Work with fewer elements than this is not divided: it takes less time than threads take to wake up.
inline constexpr extent worth_dividing = extent{1} << 15;

/// The most parts of a piece of work. More of them would share it more evenly, but each has a cost of its
/// own.
inline constexpr extent max_parts = 16;

/// The number of parts into which `n` things are divided, which are `work` elements, and of which `grain`
/// stay together.
constexpr extent parts_of(extent n, extent grain, extent work) {
  if (work < worth_dividing || n <= grain) return 1;
  return std::min({max_parts, (n + grain - 1) / grain, work / (worth_dividing / 4)});
}

/// The part-th of `parts` ranges of 0, ..., n - 1 that begin at multiples of `grain`.
struct part_range {
  extent begin;
  extent end;
};
constexpr part_range range_of_part(extent n, extent grain, extent parts, extent part) {
  extent const grains = (n + grain - 1) / grain;
  return {grains * part / parts * grain, std::min(n, grains * (part + 1) / parts * grain)};
}

/// f(part, thread) for parts 0, ..., parts - 1, on all threads. An exception reaches the caller; within a
/// part, this runs on one thread.
template<class F>
void parallel_parts(extent parts, F const& f) {
  if (team.threads() == 1 || parts <= 1) {
    for (extent part = 0; part < parts; ++part) f(part, 0);
    return;
  }
  team.run(
      parts, [](void const* work, extent part, int thread) { (*static_cast<F const*>(work))(part, thread); },
      &f);
}

/// f(begin, end), or f(begin, end, thread), for ranges that together are 0, ..., n - 1 and begin at multiples
/// of `grain`; `work` elements in all.
template<class F>
void parallel_for(extent n, extent grain, extent work, F const& f) {
  auto const call = [&](extent begin, extent end, int thread) {
    if constexpr (std::invocable<F const&, extent, extent, int>) f(begin, end, thread);
    else f(begin, end);
  };
  extent const parts = parts_of(n, grain, work);
  if (parts == 1) return call(0, n, 0);
  parallel_parts(parts, [&](extent part, int thread) {
    auto const [begin, end] = range_of_part(n, grain, parts, part);
    call(begin, end, thread);
  });
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
