// How long a process has worked, and not waited in collectives.
#pragma once

#include <cstdint>

#include <meshtf/runtime/call_ring.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A moment of this process. In a step all processes take the same time, since they wait for one another in
/// collectives; between two moments they differ in what they have not waited.
struct own_time {
  std::int64_t nanosecond = nanoseconds();
  std::int64_t tick       = ticks();
  std::int64_t waited     = last_calls.ticks_in_calls();

  double seconds_since(own_time const& before) const {
    auto const passed  = 1e-9 * static_cast<double>(nanosecond - before.nanosecond);
    auto const in_all  = static_cast<double>(tick - before.tick);
    auto const in_wait = static_cast<double>(waited - before.waited);
    return in_all > 0 ? passed * (1 - in_wait / in_all) : 0;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
