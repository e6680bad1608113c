// staged_cost: what a pipeline costs the processes of each of its stages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/price/cost.hpp>
#include <meshtf/price/overlap.hpp>
#include <meshtf/price/stage_passes.hpp>

namespace meshtf {
inline namespace v0 {

/// Modelled seconds of a step that is a pipeline of `K` stages.
template<int K>
struct staged_time {
  std::array<double, std::size_t{K}> busy{};  // of each stage, within the passes
  double passes = 0;                          // from the first pass to the end of the last one of any stage
  double others = 0;                          // what comes before and after: of the longest stage
  double file   = 0;  // of arrays that leave for a file or come back: of the stage that has most

  /// What the file takes longer than all else: as `modelled_time::waited`.
  constexpr double waited() const { return file > passes + others ? file - passes - others : 0; }
  constexpr double total() const { return passes + others + waited(); }
  /// The share of the stages' time in which they wait.
  constexpr double bubble() const {
    double work = 0;
    for (double const b : busy) work += b;
    return passes > 0 ? 1 - work / (K * passes) : 0;
  }
};

/// The cost of each of `K` stages, which `dry_run` predicts under a layout with stages. All processes of a
/// stage cost the same. Its own figures are each the largest of any stage, so a budget that the pipeline
/// keeps is kept by every process.
///
///     constexpr auto cost = meshtf::dry_run<training, piped>();
///     static_assert(meshtf::fits<2 * meshtf::GiB>(cost));
///     static_assert(cost.stage(0).peak_bytes() >= cost.stage(3).peak_bytes());
template<Mesh M, int K>
class staged_cost {
public:
  using mesh_type             = M;
  static constexpr int stages = K;

  /// The cost of a process of stage number `k`.
  constexpr cost<M> const& stage(int k) const { return stages_[static_cast<std::size_t>(k)]; }
  constexpr cost<M>& stage(int k) { return stages_[static_cast<std::size_t>(k)]; }

  /// What a process of stage number `k` had done when each of its passes began.
  constexpr stage_passes const& passes(int k) const { return passes_[static_cast<std::size_t>(k)]; }
  constexpr stage_passes& passes(int k) { return passes_[static_cast<std::size_t>(k)]; }

  /// Modelled seconds of the step: the passes in the order of the schedule, each as long as its own work and
  /// collectives, and not before what it needs has come from the neighbouring stage. A message takes its time
  /// on the link and none of its sender; one of more than `machine.eager_limit` takes it from when its
  /// receiver waits. Before and after the passes, the longest of all stages counts. Sums of `early_sums` go
  /// on while a stage computes its last backward pass. Arrays that leave for a file or come back are copied
  /// where the stage asks for it; the file takes its time during the whole step.
  constexpr staged_time<K> time(machine_model const& machine = {}) const {
    staged_time<K> t;
    std::array<std::size_t, std::size_t{K}> at{};
    while (at[0] < passes(0).count) {  // one turn for each `accumulate`
      double before = 0;
      for (int k = 0; k < K; ++k) {
        auto const i          = at[static_cast<std::size_t>(k)];
        pass_begin const from = i == 0 ? pass_begin{} : passes(k)[i - 1];
        before                = std::max(before, seconds_between(k, from, passes(k)[i], machine));
      }
      t.others += before;
      run_passes(at, t, machine);
    }
    double after = 0;
    for (int k = 0; k < K; ++k) {
      auto const& c = stage(k);
      after         = std::max(
          after, seconds_between(
                     k, passes(k).count == 0 ? pass_begin{} : passes(k)[at[static_cast<std::size_t>(k)] - 1],
                     {false, -1, c.flops(), c.elementwise_bytes(), c.bytes_spilled(), c.collectives().size()},
                     machine));
    }
    t.others += after;
    t.file = static_cast<double>(bytes_spilled()) / machine.file_bytes_per_second;
    return t;
  }

  // ---- of each figure, the largest
  template<MeshAxis... A>
  constexpr extent bytes_sent() const {
    return largest([](cost<M> const& c) { return c.template bytes_sent<A...>(); });
  }
  template<MeshAxis... A>
  constexpr extent payload() const {
    return largest([](cost<M> const& c) { return c.template payload<A...>(); });
  }
  template<collective... Kind>
  constexpr extent calls() const {
    return largest([](cost<M> const& c) { return c.template calls<Kind...>(); });
  }
  constexpr extent flops() const {
    return largest([](cost<M> const& c) { return c.flops(); });
  }
  constexpr extent elementwise_flops() const {
    return largest([](cost<M> const& c) { return c.elementwise_flops(); });
  }
  constexpr extent bytes_touched() const {
    return largest([](cost<M> const& c) { return c.bytes_touched(); });
  }
  constexpr extent bytes_spilled() const {
    return largest([](cost<M> const& c) { return c.bytes_spilled(); });
  }
  constexpr extent operations() const {
    return largest([](cost<M> const& c) { return c.operations(); });
  }
  constexpr extent parameter_bytes() const {
    return largest([](cost<M> const& c) { return c.parameter_bytes(); });
  }
  constexpr extent optimizer_bytes() const {
    return largest([](cost<M> const& c) { return c.optimizer_bytes(); });
  }
  constexpr extent peak_bytes() const {
    return largest([](cost<M> const& c) { return c.peak_bytes(); });
  }
  constexpr extent live_bytes() const {
    return largest([](cost<M> const& c) { return c.live_bytes(); });
  }

  friend constexpr bool operator==(staged_cost const&, staged_cost const&) = default;

private:
  /// What a stage does between two moments, but for sending to other stages.
  constexpr double seconds_between(int k, pass_begin const& from, pass_begin const& to,
                                   machine_model const& machine) const {
    double seconds = static_cast<double>(to.flops - from.flops) / machine.flops_per_second +
                     static_cast<double>(to.elementwise_bytes - from.elementwise_bytes +
                                         2 * (to.bytes_spilled - from.bytes_spilled)) /
                         machine.memory_bytes_per_second;
    for (std::size_t i = from.calls; i < to.calls; ++i)
      if (auto const& c = stage(k).collectives()[i]; c.kind != collective::hand_on)
        seconds += cost<M>::seconds_of(c, machine);
    return seconds;
  }
  struct link_seconds {
    double eager      = 0;  // of messages that are on their way at once
    double rendezvous = 0;  // ... and of those that begin when their receiver waits
  };
  /// What it sends to a neighbouring stage between them.
  constexpr link_seconds seconds_on_link(int k, pass_begin const& from, pass_begin const& to,
                                         machine_model const& machine) const {
    link_seconds seconds;
    for (std::size_t i = from.calls; i < to.calls; ++i)
      if (auto const& c = stage(k).collectives()[i]; c.kind == collective::hand_on)
        (c.payload <= machine.eager_limit ? seconds.eager : seconds.rendezvous) +=
            cost<M>::seconds_of(c, machine);
    return seconds;
  }

  struct pass_seconds {
    double all  = 0;
    double sent = 0;  // until it sends to a neighbouring stage
  };
  /// A pass of a stage. Sums that go on are waited for where it ends, after it has sent.
  constexpr pass_seconds seconds_of_pass(int k, pass_begin const& from, pass_begin const& to,
                                         machine_model const& machine) const {
    auto const calls     = stage(k).collectives();
    double const blocked = seconds_between(k, from, to, machine);
    bool some_go_on      = false;
    for (std::size_t i = from.calls; i < to.calls; ++i) some_go_on |= !calls[i].until.is_nothing();
    if (!some_go_on) return {blocked, blocked};
    computed_work const before{from.flops, from.elementwise_bytes};
    computed_work const after{to.flops, to.elementwise_bytes};
    detail::message_times<cost<M>> times{machine, 0};
    times.compute(-before.seconds(machine));
    pass_seconds seconds{};
    for (std::size_t i = 0; i < to.calls; ++i) {
      times.compute(calls[i].since.seconds(machine));
      if (i < from.calls) continue;
      if (calls[i].kind == collective::hand_on) seconds.sent = times.passed();
      else times.begin(calls[i]);
    }
    seconds.all = blocked - times.hidden((after - before).seconds(machine));
    return seconds;
  }

  /// The passes up to the next end, from the entries `at`, which move past it.
  constexpr void run_passes(std::array<std::size_t, std::size_t{K}>& at, staged_time<K>& t,
                            machine_model const& machine) const {
    constexpr std::size_t most = stage_passes::max_count;
    struct arrival {
      double there      = -1;  // -1: not yet sent
      double rendezvous = 0;   // seconds after that, from when the receiver waits
    };
    struct arrivals {
      std::array<arrival, most> forward{};   // of the result of a forward pass, at the next stage
      std::array<arrival, most> backward{};  // ... and of the gradient, at the one before
      double now = 0;
    };
    std::array<arrivals, std::size_t{K}> all{};
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (int k = 0; k < K; ++k) {
        auto const stage_number = static_cast<std::size_t>(k);
        arrivals& own           = all[stage_number];
        std::size_t& i          = at[stage_number];
        for (; passes(k)[i].micro_batch >= 0; ++i) {
          pass_begin const& pass = passes(k)[i];
          auto const micro_batch = static_cast<std::size_t>(pass.micro_batch);
          arrival needed{.there = 0};
          if (!pass.backward && k > 0) needed = all[stage_number - 1].forward[micro_batch];
          if (pass.backward && k + 1 < K) needed = all[stage_number + 1].backward[micro_batch];
          if (needed.there < 0) break;
          double const begin = std::max(own.now, needed.there) + needed.rendezvous;
          auto const work    = seconds_of_pass(k, pass, passes(k)[i + 1], machine);
          auto const link    = seconds_on_link(k, pass, passes(k)[i + 1], machine);
          own.now            = begin + work.all;
          t.busy[stage_number] += work.all;
          arrival& sent = (pass.backward ? own.backward : own.forward)[micro_batch];
          sent          = {begin + work.sent + link.eager, link.rendezvous};
          goes_on       = true;
        }
      }
    }
    double end = 0;
    for (int k = 0; k < K; ++k) {
      end = std::max(end, all[static_cast<std::size_t>(k)].now);
      ++at[static_cast<std::size_t>(k)];
    }
    t.passes += end;
  }

  template<class F>
  constexpr extent largest(F const& f) const {
    extent found = 0;
    for (cost<M> const& c : stages_)
      if (extent const n = f(c); n > found) found = n;
    return found;
  }

  std::array<cost<M>, std::size_t{K}> stages_{};
  std::array<stage_passes, std::size_t{K}> passes_{};
};

}  // namespace v0
}  // namespace meshtf
