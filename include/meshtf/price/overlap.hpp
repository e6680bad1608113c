// Collectives that go on while the process computes: how much of their time that hides.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <meshtf/core/growing.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/reason.hpp>
#include <meshtf/price/machine_model.hpp>

namespace meshtf {
inline namespace v0 {

/// Work of a process between two points of its program, as `cost` counts it.
struct computed_work {
  extent flops  = 0;  // of contractions
  extent passed = 0;  // bytes of everything else

  constexpr double seconds(machine_model const& machine) const {
    return static_cast<double>(flops) / machine.flops_per_second +
           static_cast<double>(passed) / machine.memory_bytes_per_second;
  }
  friend constexpr computed_work operator-(computed_work const& a, computed_work const& b) {
    return {a.flops - b.flops, a.passed - b.passed};
  }
  friend constexpr computed_work operator+(computed_work const& a, computed_work const& b) {
    return {a.flops + b.flops, a.passed + b.passed};
  }
  friend constexpr computed_work operator*(extent n, computed_work const& a) {
    return {n * a.flops, n * a.passed};
  }
  friend constexpr bool operator==(computed_work const&, computed_work const&) = default;
};

/// The same in one number, with the precision of a float: a cost has thousands of them, and a compiler counts
/// the numbers in a constant. (clang 19 fails at -O0 from 65536 on.)
class rounded_work {
public:
  constexpr rounded_work() = default;
  constexpr rounded_work(computed_work const& w)
      : both_(std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(w.flops))} << 32 |
              std::bit_cast<std::uint32_t>(static_cast<float>(w.passed))) {}

  /// Of contractions.
  constexpr double flops() const { return number(both_ >> 32); }
  /// Bytes of everything else.
  constexpr double passed() const { return number(both_); }
  constexpr bool is_nothing() const { return both_ == 0; }
  /// In whole numbers, which are rounded if they have more than 24 bits.
  constexpr computed_work whole() const {
    return {static_cast<extent>(flops()), static_cast<extent>(passed())};
  }
  constexpr double seconds(machine_model const& machine) const {
    return flops() / machine.flops_per_second + passed() / machine.memory_bytes_per_second;
  }
  friend constexpr bool operator==(rounded_work const&, rounded_work const&) = default;

private:
  static constexpr double number(std::uint64_t bits) {
    return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  }

  std::uint64_t both_ = 0;
};

namespace detail {

/// The times of a program's collectives, some of which go on while it computes.
///
/// `gathers_ahead`: the prefetch distance k of weights that are kept in parts. A gather of weights may begin
/// where the k-th gather before it was made, and a sum of their gradients goes on until the end.
///
/// There are two resources, the processor and the network; each takes one thing after the other, in the order
/// in which the program begins them. A collective that blocks makes the processor wait for its end; one that
/// goes on makes it wait where the program needs the result.
///
/// `Cost` says how long a collective takes.
template<class Cost>
class message_times {
public:
  constexpr message_times(machine_model const& machine, int gathers_ahead)
      : machine_{machine}, gathers_ahead_{gathers_ahead} {}

  /// The program computes before the next call.
  constexpr void compute(double seconds) { computed_ += seconds; }
  /// It calls a collective.
  constexpr void begin(auto const& call) {
    wait_for_those_needed(computed_);
    double const takes    = Cost::seconds_of(call, machine_);
    bool const of_weights = gathers_ahead_ > 0 && call.why != nullptr && call.why->of_weights;
    double begin          = computed_ + waited_;
    if (of_weights && call.kind == collective::all_gather) begin = prefetched(begin);
    if (begin < network_) begin = network_;
    messages_ += takes;
    network_ = begin + takes;
    if (of_weights && call.kind == collective::reduce_scatter) return;
    if (call.until.is_nothing()) wait({computed_, network_});
    else begun_.push_back({computed_ + call.until.seconds(machine_), network_});
  }
  /// The seconds that the program has computed and waited, when nothing that goes on is needed.
  constexpr double passed() {
    wait_for_those_needed(computed_);
    return computed_ + waited_;
  }
  /// The seconds of messages during which the program computes, if it computes for `end` seconds in all.
  constexpr double hidden(double end) {
    wait_for_those_needed(end);
    for (; next_ < begun_.size(); ++next_) wait(begun_[next_]);  // rounding
    wait({end, network_});
    return messages_ - waited_;
  }

private:
  struct in_flight {
    double needed;  // in seconds of computing alone
    double end;
  };

  constexpr void wait(in_flight const& call) {
    if (double const moment = call.needed + waited_; call.end > moment) waited_ += call.end - moment;
  }
  constexpr void wait_for_those_needed(double moment) {
    for (; next_ < begun_.size() && begun_[next_].needed <= moment; ++next_) wait(begun_[next_]);
  }
  constexpr double prefetched(double now) {
    gathers_.push_back({now, 0});
    return gathers_.size() <= gathers_ahead_ ? 0 : gathers_[gathers_.size() - 1 - gathers_ahead_].needed;
  }

  machine_model machine_;
  int gathers_ahead_;
  growing<in_flight> begun_{};
  growing<in_flight> gathers_{};  // when each was needed
  int next_        = 0;
  double computed_ = 0;
  double waited_   = 0;  // by the processor
  double network_  = 0;  // free from then on
  double messages_ = 0;
};

/// The seconds of a program's messages during which it computes.
template<class Cost>
constexpr double hidden_seconds(Cost const& cost, machine_model const& machine, int gathers_ahead) {
  message_times<Cost> times{machine, gathers_ahead};
  cost.for_each_call([&](auto const& call) {
    times.compute(call.since.seconds(machine));
    times.begin(call);
  });
  return times.hidden(computed_work{cost.flops(), cost.elementwise_bytes()}.seconds(machine));
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
