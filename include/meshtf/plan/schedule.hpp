// Schedules of pipelines: in which order each stage works on which micro-batch, as values that the compiler
// proves: they end, they need no more buffers than they have, and their gradients have the bits of one stage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <meshtf/core/placement.hpp>

namespace meshtf {
inline namespace v0 {

/// What a stage does in one turn: the forward or the backward pass of a micro-batch.
struct stage_pass {
  enum class direction : std::uint8_t { forward, backward };

  direction way   = direction::forward;
  int micro_batch = 0;

  friend constexpr bool operator==(stage_pass const&, stage_pass const&) = default;
};

/// The forward and the backward pass of a micro-batch, to write a schedule with.
constexpr stage_pass forward_pass(int micro_batch) { return {stage_pass::direction::forward, micro_batch}; }
constexpr stage_pass backward_pass(int micro_batch) { return {stage_pass::direction::backward, micro_batch}; }

/// For each of `K` stages its passes over `M` micro-batches in order: 2 M turns.
template<int K, int M>
struct schedule_table {
  static_assert(K >= 1 && M >= 1, "meshtf: a schedule has at least one stage and one micro-batch");
  static constexpr int stages        = K;
  static constexpr int micro_batches = M;
  static constexpr int turns         = 2 * M;

  std::array<std::array<stage_pass, std::size_t{2 * M}>, std::size_t{K}> passes{};

  constexpr stage_pass& at(int stage, int turn) {
    return passes[static_cast<std::size_t>(stage)][static_cast<std::size_t>(turn)];
  }
  constexpr stage_pass const& at(int stage, int turn) const {
    return passes[static_cast<std::size_t>(stage)][static_cast<std::size_t>(turn)];
  }
};

/// GPipe: each stage does all forward passes, then all backward passes, so it holds M micro-batches. Backward
/// passes are those of micro-batches 0, 1, ..., M - 1, as everywhere here; the paper's go from the last to
/// the first, which adds up gradients in another order. Source: Huang et al., GPipe (2019), section 2.
struct gpipe {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    schedule_table<K, M> t;
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < M; ++i) {
        t.at(k, i)     = forward_pass(i);
        t.at(k, M + i) = backward_pass(i);
      }
    return t;
  }
};

/// 1F1B: stage k begins with K - 1 - k forward passes, then does one forward and one backward pass in turn,
/// so it holds at most K - k micro-batches. Source: Narayanan et al., PipeDream (2019), section 3.2, without
/// its stale weights, as in Megatron-LM (2021), section 2.2.
struct one_forward_one_backward {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    schedule_table<K, M> t;
    for (int k = 0; k < K; ++k) {
      int const first = K - 1 - k < M ? K - 1 - k : M;
      int turn        = 0;
      int begun       = 0;
      for (; begun < first; ++begun) t.at(k, turn++) = forward_pass(begun);
      for (int ended = 0; ended < M; ++ended) {
        if (begun < M) t.at(k, turn++) = forward_pass(begun++);
        t.at(k, turn++) = backward_pass(ended);
      }
    }
    return t;
  }
};

/// A stage has at most N messages in each direction that the next stage has not yet received. One: the shard
/// that was sent lives until the next one is to be sent. A send may end only when it is received
/// (`MPI_Issend`), so nothing relies on buffers of MPI.
template<int N>
struct in_flight {
  static_assert(N >= 1, "meshtf: a stage needs a message in flight: two stages that send to each other wait");
  static constexpr int count = N;
};

// The objections to a schedule. Stages and turns are numbered from 0.

/// In this turn of this stage, the schedule does a pass again, or one of a micro-batch that there is not.
template<int Stage, int Turn>
struct pass_is_not_due {};
/// In this turn of this stage, the backward pass comes before the forward pass of its micro-batch.
template<int Stage, int Turn>
struct backward_comes_before_forward {};
/// Backward passes are those of micro-batches 0, 1, 2, ... on each stage: another order adds up gradients
/// with other bits.
template<int Stage, int Turn>
struct backward_is_out_of_order {};
/// In this turn, this stage receives what the neighbouring stage sent for another micro-batch.
template<int Stage, int Turn>
struct receives_another_micro_batch {};
/// In this turn, this stage waits for ever: for a message, or until the one before it has been received.
template<int Stage, int Turn>
struct stage_waits_for_ever {};

namespace detail {

enum class schedule_fault : std::uint8_t { none, not_due, before_forward, order, another, blocked };

/// What becomes of a schedule whose passes take one unit of time and messages none.
template<int K, int M>
struct schedule_run {
  schedule_fault fault = schedule_fault::none;
  int stage            = 0;  // of the fault
  int turn             = 0;
  int ticks            = 0;                    // until the last stage has done its last pass
  std::array<int, std::size_t{K}> max_held{};  // micro-batches between their two passes on each stage
  std::array<std::array<int, std::size_t{2 * M}>, std::size_t{K}> ended_at{};  // the pass of stage and turn
};

/// The passes of each stage by themselves: each once, in an order that gradients can have.
template<int K, int M>
constexpr schedule_run<K, M> look_at_stages(schedule_table<K, M> const& t) {
  using direction = stage_pass::direction;
  schedule_run<K, M> r;
  for (int k = 0; k < K; ++k) {
    std::array<bool, std::size_t{M}> begun{};
    int ended = 0;
    int held  = 0;
    int& max  = r.max_held[static_cast<std::size_t>(k)];
    for (int turn = 0; turn < 2 * M; ++turn) {
      stage_pass const p = t.at(k, turn);
      auto const fault   = [&](schedule_fault f) {
        r.fault = f;
        r.stage = k;
        r.turn  = turn;
        return r;
      };
      bool const is_there = p.micro_batch >= 0 && p.micro_batch < M;
      if (!is_there) return fault(schedule_fault::not_due);
      bool& has_begun = begun[static_cast<std::size_t>(p.micro_batch)];
      if (p.way == direction::forward) {
        if (has_begun) return fault(schedule_fault::not_due);
        has_begun = true;
        if (++held > max) max = held;
      } else {
        if (p.micro_batch < ended) return fault(schedule_fault::not_due);
        if (!has_begun) return fault(schedule_fault::before_forward);
        if (p.micro_batch != ended) return fault(schedule_fault::order);
        ++ended;
        --held;
      }
    }
  }
  return r;
}

/// The messages from one stage to a neighbour: of which micro-batches, when they were sent and received.
template<int M>
struct stage_channel {
  std::array<int, std::size_t{M}> micro_batch{};
  std::array<int, std::size_t{M}> sent_at{};
  std::array<int, std::size_t{M}> received_at{};
  int sent     = 0;
  int received = 0;
};

/// Runs all stages until each has done its passes, or none can go on.
template<int K, int M>
class schedule_simulation {
public:
  constexpr schedule_simulation(schedule_table<K, M> const& t, int in_flight)
      : t_(t), in_flight_(in_flight) {}

  constexpr schedule_run<K, M> run() {
    schedule_run<K, M> r = look_at_stages(t_);
    if (r.fault != schedule_fault::none) return r;
    for (bool goes_on = true; goes_on && r.fault == schedule_fault::none;) {
      goes_on = false;
      for (int k = 0; k < K && r.fault == schedule_fault::none; ++k)
        while (step(k, r)) goes_on = true;
    }
    for (int k = 0; k < K; ++k) {
      stage const& s = stages_[static_cast<std::size_t>(k)];
      if (s.time > r.ticks) r.ticks = s.time;
      // (the other way round clang takes the `<` for that of a template: detail has one called `turn`)
      if (r.fault == schedule_fault::none && 2 * M > s.turn) {
        r.fault = schedule_fault::blocked;
        r.stage = k;
        r.turn  = s.turn;
      }
    }
    return r;
  }

private:
  struct stage {
    int turn      = 0;
    int time      = 0;
    bool computed = false;  // the pass of this turn: what is left is to send
  };

  constexpr stage_channel<M>& channel(int from, int to) {
    return channels_[static_cast<std::size_t>(2 * from + (to > from ? 1 : 0))];
  }
  /// The next thing that stage k does, if it can.
  constexpr bool step(int k, schedule_run<K, M>& r) {
    stage& s = stages_[static_cast<std::size_t>(k)];
    if (s.turn == 2 * M) return false;
    stage_pass const p    = t_.at(k, s.turn);
    bool const is_forward = p.way == stage_pass::direction::forward;
    int const from        = is_forward ? k - 1 : k + 1;
    int const to          = is_forward ? k + 1 : k - 1;
    if (!s.computed) {
      if (from >= 0 && from < K) {
        stage_channel<M>& c = channel(from, k);
        if (c.received == c.sent) return false;
        auto const next = static_cast<std::size_t>(c.received);
        if (c.micro_batch[next] != p.micro_batch) {
          r.fault = schedule_fault::another;
          r.stage = k;
          r.turn  = s.turn;
          return false;
        }
        if (c.sent_at[next] > s.time) s.time = c.sent_at[next];
        c.received_at[next] = s.time;
        ++c.received;
      }
      ++s.time;
      s.computed = true;

      r.ended_at[static_cast<std::size_t>(k)][static_cast<std::size_t>(s.turn)] = s.time;
    }
    if (to >= 0 && to < K) {
      stage_channel<M>& c = channel(k, to);
      if (c.sent - c.received >= in_flight_) return false;
      if (c.sent >= in_flight_)
        if (int const free_at = c.received_at[static_cast<std::size_t>(c.sent - in_flight_)];
            free_at > s.time)
          s.time = free_at;
      c.micro_batch[static_cast<std::size_t>(c.sent)] = p.micro_batch;
      c.sent_at[static_cast<std::size_t>(c.sent)]     = s.time;
      ++c.sent;
    }
    s.computed = false;
    ++s.turn;
    return true;
  }

  schedule_table<K, M> const& t_;
  int in_flight_;
  std::array<stage, std::size_t{K}> stages_{};
  std::array<stage_channel<M>, std::size_t{2 * K}> channels_{};
};

template<class S, int K, int M, class InFlight>
inline constexpr schedule_run<K, M> run_of = [] {
  auto const table = S::template table<K, M>();
  return schedule_simulation<K, M>{table, InFlight::count}.run();
}();

template<schedule_fault, int Stage, int Turn>
struct schedule_objection : std::type_identity<legal> {};
template<int Stage, int Turn>
struct schedule_objection<schedule_fault::not_due, Stage, Turn>
    : std::type_identity<pass_is_not_due<Stage, Turn>> {};
template<int Stage, int Turn>
struct schedule_objection<schedule_fault::before_forward, Stage, Turn>
    : std::type_identity<backward_comes_before_forward<Stage, Turn>> {};
template<int Stage, int Turn>
struct schedule_objection<schedule_fault::order, Stage, Turn>
    : std::type_identity<backward_is_out_of_order<Stage, Turn>> {};
template<int Stage, int Turn>
struct schedule_objection<schedule_fault::another, Stage, Turn>
    : std::type_identity<receives_another_micro_batch<Stage, Turn>> {};
template<int Stage, int Turn>
struct schedule_objection<schedule_fault::blocked, Stage, Turn>
    : std::type_identity<stage_waits_for_ever<Stage, Turn>> {};

template<class Verdict>
concept LegalSchedule = accepted<Verdict>;

}  // namespace detail

/// `legal`, or the objection to the schedule `S` of `K` stages and `M` micro-batches, with its stage and
/// turn.
template<class S, int K, int M, class InFlight = in_flight<1>>
using schedule_verdict = typename detail::schedule_objection<detail::run_of<S, K, M, InFlight>.fault,
                                                             detail::run_of<S, K, M, InFlight>.stage,
                                                             detail::run_of<S, K, M, InFlight>.turn>::type;

/// Whether the schedule `S` runs: it ends with synchronous sends and the messages in flight of `InFlight`,
/// and on each stage backward passes are those of micro-batches 0, 1, ..., M - 1.
///
///     static_assert(meshtf::runs<meshtf::one_forward_one_backward, 4, 16, meshtf::in_flight<1>>);
///
/// A schedule of the program's own is a struct with a function `table<K, M>()` that returns a
/// `schedule_table<K, M>`. (A concept, although it reads as a question: of a concept that fails compilers say
/// why, so the message has the objection with its stage and turn.)
template<class S, int K, int M, class InFlight = in_flight<1>>
concept runs = detail::LegalSchedule<schedule_verdict<S, K, M, InFlight>>;

/// The most micro-batches that stage `Stage` holds between their forward and backward passes.
template<class S, int K, int M, int Stage>
inline constexpr int held_micro_batches =
    detail::run_of<S, K, M, in_flight<1>>.max_held[static_cast<std::size_t>(Stage)];

/// The units of time of a schedule whose passes take one each, and whose messages take none: without a bubble
/// they would be 2 M. The bubble is 1 - 2 M / this; of `gpipe` and `one_forward_one_backward`
/// (K - 1) / (M + K - 1).
template<class S, int K, int M, class InFlight = in_flight<1>>
inline constexpr int schedule_ticks = detail::run_of<S, K, M, InFlight>.ticks;

}  // namespace v0
}  // namespace meshtf
