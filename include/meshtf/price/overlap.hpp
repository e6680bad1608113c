// Collectives that go on while the process computes: how much of their time that hides.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <meshtf/core/unchecked_vector.hpp>
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

/// The seconds of messages during which the process computes.
///
/// `gathers_ahead`: the prefetch distance k of weights that are kept in parts. A gather of weights may begin
/// where the k-th gather before it was made, and a sum of their gradients goes on until the step ends.
///
/// There are two resources, the processor and the network; each takes one thing after the other, in the order
/// in which the program begins them. A collective that blocks makes the processor wait for its end; one that
/// goes on makes it wait where the program needs the result.
template<class Cost>
constexpr double hidden_seconds(Cost const& cost, machine_model const& machine, int gathers_ahead) {
  struct in_flight {
    double needed;  // in seconds of computing alone
    double end;
  };
  unchecked_vector<in_flight> begun{};
  unchecked_vector<in_flight> gathers{};  // when each was needed
  std::size_t next         = 0;
  double computed          = 0;
  double waited            = 0;  // by the processor
  double network           = 0;  // free from then on
  double messages          = 0;
  double const end_of_step = computed_work{cost.flops(), cost.elementwise_bytes()}.seconds(machine);
  auto const wait          = [&](in_flight const& call) {
    if (double const moment = call.needed + waited; call.end > moment) waited += call.end - moment;
  };
  auto const wait_for_those_needed = [&](double moment) {
    for (; next < begun.size() && begun[next].needed <= moment; ++next) wait(begun[next]);
  };
  auto const prefetched = [&](double now) {
    auto const ahead = static_cast<std::size_t>(gathers_ahead);
    gathers.push_back({now, 0});
    return gathers.size() <= ahead ? 0 : gathers[gathers.size() - 1 - ahead].needed;
  };
  cost.for_each_call([&](auto const& call) {
    computed += call.since.seconds(machine);
    wait_for_those_needed(computed);
    bool const of_weights = gathers_ahead > 0 && call.why != nullptr && call.why->of_weights;
    double const takes    = Cost::seconds_of(call, machine);
    double begin          = computed + waited;
    if (of_weights && call.kind == collective::all_gather) begin = prefetched(begin);
    if (begin < network) begin = network;
    messages += takes;
    network = begin + takes;
    if (of_weights && call.kind == collective::reduce_scatter) return;
    if (call.until.is_nothing()) wait({computed, network});
    else begun.push_back({computed + call.until.seconds(machine), network});
  });
  wait_for_those_needed(end_of_step);
  for (; next < begun.size(); ++next) wait(begun[next]);  // rounding
  wait({end_of_step, network});
  return messages - waited;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
