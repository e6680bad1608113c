// Collectives that go on while the process computes: how much of their time that hides.
#pragma once

#include <cstddef>

#include <meshtf/core/unchecked_vector.hpp>
#include <meshtf/price/machine_model.hpp>

namespace meshtf {
inline namespace v0 {

/// What a process computes between two moments.
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
  friend constexpr bool operator==(computed_work const&, computed_work const&) = default;
};

namespace detail {

/// The seconds of messages during which the process computes.
///
/// There are two resources, the processor and the network; each takes one thing after the other, in the order
/// in which the program begins them. A collective that blocks makes the processor wait for its end; one that
/// goes on makes it wait where the program needs the result.
template<class Cost>
constexpr double hidden_seconds(Cost const& cost, machine_model const& machine) {
  struct in_flight {
    double needed;  // in seconds of computing alone
    double end;
  };
  unchecked_vector<in_flight> begun{};
  std::size_t next = 0;
  double computed  = 0;
  double waited    = 0;  // by the processor
  double network   = 0;  // free from then on
  double messages  = 0;
  auto const wait  = [&](double until, double needed) {
    if (double const moment = needed + waited; until > moment) waited += until - moment;
  };
  auto const wait_for_those_needed = [&](double moment) {
    for (; next < begun.size() && begun[next].needed <= moment; ++next)
      wait(begun[next].end, begun[next].needed);
  };
  cost.for_each_call([&](auto const& call) {
    computed += call.since.seconds(machine);
    wait_for_those_needed(computed);
    double const takes = Cost::seconds_of(call, machine);
    double const begin = computed + waited > network ? computed + waited : network;
    messages += takes;
    network = begin + takes;
    if (call.until == computed_work{}) wait(network, computed);
    else begun.push_back({computed + call.until.seconds(machine), network});
  });
  for (; next < begun.size(); ++next) wait(begun[next].end, begun[next].needed);
  return messages - waited;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
