// The last collectives of this process, which are read when a job does not go on: a flight recorder.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include <time.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/named_mesh.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>

#include <meshtf/core/json_text.hpp>
#include <meshtf/price/call_site.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Nanoseconds of a clock that is not set while the program runs.
inline std::int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The processor's own clock, one instruction; `call_ring` finds out how fast it is.
inline std::int64_t ticks() {
#if defined(__x86_64__) || defined(__i386__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return nanoseconds();
#endif
}

/// What a collective sends: the bytes of this process, along which axes of which mesh.
struct sent_by_call {
  std::int64_t bytes     = 0;
  axis_set over          = 0;
  named_mesh const* mesh = nullptr;
};

/// The collectives that this process has begun, of which the last ones are kept. The main thread writes, with
/// plain stores on common processors; any thread reads. The texts are literals.
class call_ring {
public:
  static constexpr std::size_t kept = 256;
  // a reader must not meet the entry that is written next; a power of 2, since each call divides by it
  static constexpr std::size_t slots = 2 * kept;

  void begin(char const* call, char const* operation, std::source_location const& at, bool backward,
             sent_by_call const& sent) {
    auto const number = begun_.load(relaxed);
    entry& e          = entries_[number % slots];
    e.call.store(call, relaxed);
    e.operation.store(operation, relaxed);
    e.at.store(at, relaxed);
    e.backward.store(backward, relaxed);
    e.bytes.store(sent.bytes, relaxed);
    e.over.store(sent.over, relaxed);
    e.mesh.store(sent.mesh, relaxed);
    e.end.store(0, relaxed);
    e.begin.store(ticks(), relaxed);
    begun_.store(number + 1, std::memory_order_release);
  }
  void end() {
    entry& e       = entries_[(begun_.load(relaxed) - 1) % slots];
    auto const now = ticks();
    e.end.store(now, relaxed);
    in_calls_ += now - e.begin.load(relaxed);
  }
  /// For the main thread: the sum of the times of all calls that have ended.
  std::int64_t ticks_in_calls() const { return in_calls_; }

  /// How many have begun.
  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }

  /// From here on times are counted.
  void start_clock();
  /// "all_reduce for mean, mlp.cpp:12" of the latest; empty if there is none.
  std::string latest() const;
  /// A line of each call that is kept: "  17  2103000 us  45 us  all_reduce for mean, mlp.cpp:12: 64 bytes
  /// over "rows"". Times are whole numbers: locales write points in their own ways.
  std::string text() const;
  /// The same as a list in JSON.
  std::string json() const;

private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  struct entry {
    std::atomic<char const*> call;
    std::atomic<char const*> operation;
    std::atomic<std::source_location> at;
    std::atomic<named_mesh const*> mesh;
    std::atomic<std::int64_t> begin;
    std::atomic<std::int64_t> end;  // 0: it has not ended
    std::atomic<std::int64_t> bytes;
    std::atomic<axis_set> over;
    std::atomic<bool> backward;
  };

  /// What is read of an entry.
  struct kept_call {
    std::uint64_t number;  // from 1
    std::string name;      // "all_reduce"
    std::string site;      // "mean's gradient, mlp.cpp:12"
    std::string axes;      // "rows cols"
    std::int64_t bytes;
    // in microseconds: the time after the clock has started, and how long it took, -1 if it has not ended
    long long begin;
    long long time;
  };

  kept_call read(std::uint64_t number) const;
  template<class F>
  void for_each(F const& f) const;
  long long microseconds_of(std::int64_t moment) const;

  std::atomic<std::uint64_t> begun_{0};
  std::array<entry, slots> entries_;
  std::int64_t in_calls_ = 0;
  std::int64_t zero_     = 0;
  std::int64_t ticks_    = 0;
};
inline call_ring last_calls;

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void call_ring::start_clock() {
  zero_  = nanoseconds();
  ticks_ = ticks();
}

MESHTF_DEFINE long long call_ring::microseconds_of(std::int64_t moment) const {
  auto const passed = static_cast<double>(std::max<std::int64_t>(ticks() - ticks_, 1));
  auto const time   = 1e-3 * static_cast<double>(nanoseconds() - zero_);
  return static_cast<long long>(static_cast<double>(moment - ticks_) / passed * time);
}

MESHTF_DEFINE call_ring::kept_call call_ring::read(std::uint64_t number) const {
  entry const& e  = entries_[number % slots];
  auto const text = [](std::atomic<char const*> const& from) {
    char const* const found = from.load(relaxed);
    return std::string{found == nullptr ? "" : found};
  };
  auto const at          = e.at.load(relaxed);
  std::string const op   = text(e.operation);
  auto const* const mesh = e.mesh.load(relaxed);
  std::int64_t const end = e.end.load(relaxed);
  long long const begin  = microseconds_of(e.begin.load(relaxed));
  kept_call found{.number = number + 1,
                  .name   = text(e.call),
                  .site   = op,
                  .axes   = {},
                  .bytes  = e.bytes.load(relaxed),
                  .begin  = begin,
                  .time   = end == 0 ? -1 : microseconds_of(end) - begin};
  if (e.backward.load(relaxed)) found.site += "'s gradient";
  if (at.line() != 0)
    (found.site += op.empty() ? "" : ", ") +=
        place_text(at.file_name(), static_cast<extent>(at.line())).view();
  for (int a = 0; mesh != nullptr && a < mesh->count(); ++a)
    if ((e.over.load(relaxed) >> a & 1) != 0) (found.axes += found.axes.empty() ? "" : " ") += mesh->axis(a);
  return found;
}

/// f(call) for each that is kept, the oldest first. One that is replaced meanwhile is left out.
template<class F>
void call_ring::for_each(F const& f) const {
  std::uint64_t const last = begun();
  for (std::uint64_t n = last - std::min<std::uint64_t>(last, kept); n < last; ++n) {
    kept_call const found = read(n);
    if (begun() < n + slots) f(found);
  }
}

MESHTF_DEFINE std::string call_ring::latest() const {
  auto const last = begun();
  if (last == 0) return "";
  kept_call const found = read(last - 1);
  if (found.site.empty()) return found.name;
  // a call that is known by its line alone: "agreed, mlp.cpp:12"
  bool const has_operation = entries_[(last - 1) % slots].operation.load(relaxed)[0] != '\0';
  return found.name + (has_operation ? " for " : ", ") + found.site;
}

MESHTF_DEFINE std::string call_ring::text() const {
  std::string out;
  for_each([&out](kept_call const& c) {
    out += "  " + std::to_string(c.number) + "  " + std::to_string(c.begin) + " us  ";
    out += c.time < 0 ? "has not ended  " : std::to_string(c.time) + " us  ";
    out += c.name;
    if (!c.site.empty()) (out += " for ") += c.site;
    if (!c.axes.empty()) out += ": " + std::to_string(c.bytes) + " bytes over \"" + c.axes + "\"";
    out += '\n';
  });
  return out;
}

MESHTF_DEFINE std::string call_ring::json() const {
  std::string out;
  for_each([&out](kept_call const& c) {
    if (!out.empty()) out += ",\n";
    out += "  {\"number\":" + std::to_string(c.number) + ",\"call\":" + json_text(c.name) +
           ",\"for\":" + json_text(c.site) + ",\"bytes\":" + std::to_string(c.bytes) +
           ",\"axes\":" + json_text(c.axes) + ",\"begin_us\":" + std::to_string(c.begin) +
           ",\"us\":" + std::to_string(c.time) + "}";
  });
  return "[\n" + out + "\n]";
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
