// accumulate: the gradients of several micro-batches, added up before anything of them is sent; under a
// layout with stages, a pipeline.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/ops/function/pipeline.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/shape/stop_gradient.hpp>

namespace meshtf {
inline namespace v0 {

/// Under a layout with stages along `Stages`, micro-batches are worked on by all stages in turn, which needs
/// the machine: `accumulate<N>(m, step)`.
template<class Stages>
struct pipeline_needs_machine {};

namespace detail {

/// The loss as data, after its backward pass. Where no gradients are wanted, the loss.
template<class Loss>
constexpr Loss gone_back(Loss const& loss, bool more_follow) {
  more_terms const guard{loss.machine(), more_follow};
  if (loss.machine().records_gradients()) backward(loss);
  return stop_gradient(loss);
}

/// A machine, and no function of the program.
template<class M>
concept OnMesh = requires { typename M::mesh_type; };

template<class L>
struct accumulates_without_machine : std::type_identity<legal> {};
template<class L>
  requires is_staged<L>
struct accumulates_without_machine<L> : std::type_identity<pipeline_needs_machine<stage_axis<L>>> {};

[[noreturn]] inline void throw_counts_differ(extent micro_batch) {
  throw software_error(
      "accumulate expects each micro-batch to count as many elements as the first, since the sum of their "
      "means is no mean otherwise, got other counts in micro-batch " +
      std::to_string(micro_batch) +
      ": write accumulate<N>(m, loss, weight), with the sum of the losses of a " +
      "micro-batch and the number of its terms");
}

/// A step that tells under which counts its losses are made.
template<class F>
struct counting_step {
  F const& step;
  bool has_begun          = false;
  unsigned first_counted  = 0;  // the number of the counts of the first loss
  extent counts_otherwise = -1;

  constexpr auto operator()(extent i) {
    auto loss = step(i);
    if constexpr (std::remove_cvref_t<decltype(loss.machine())>::computes) note(loss.handle()->counted(), i);
    return loss;
  }
  constexpr void expect_equal_counts() const {
    if (counts_otherwise >= 0) throw_counts_differ(counts_otherwise);
  }

private:
  constexpr void note(unsigned counted, extent i) {
    if (!detail::exchange(has_begun, true)) first_counted = counted;
    if (counted != first_counted && counts_otherwise < 0) counts_otherwise = i;
  }
};

/// A machine that may count what one micro-batch asks for several times, instead of running them.
template<class M>
concept CountsAlike = requires(M& m) { m.counts_alike_batches(); };

template<int N, class F>
constexpr auto accumulated(F const& step) {
  auto total      = gone_back(step(extent{0}), N > 1);
  extent i        = 1;
  auto const next = [&] {
    auto sum = total + gone_back(step(i), i + 1 < N);
    total    = std::move(sum);
    ++i;
  };
  if constexpr (N > 2 && CountsAlike<std::remove_reference_t<decltype(total.machine())>>) {
    // the first one makes the gradients, and all others add to them: the last stands for them
    if (auto& m = total.machine(); m.counts_alike_batches()) {
      auto const before = m.times_noted();
      i                 = N - 1;
      next();
      m.count_again(before, N - 2);
    }
  }
  while (i < N) next();
  return total;
}
template<int N, class F>
constexpr auto accumulated_of_equal_counts(F const& step) {
  counting_step<F> counting{step};
  return accumulated<N>([&counting](extent i) {
    auto loss = counting(i);
    counting.expect_equal_counts();
    return loss;
  });
}

/// The passes of N micro-batches under `L`, whose step gives losses.
template<class L, int N, class Schedule, class Machine, class F>
constexpr auto accumulated_on(Machine& m, F const& step) {
  if constexpr (!is_staged<L>) {
    return accumulated<N>(step);
  } else {
    using verdict = schedule_verdict<Schedule, stage_count<L>, N>;
    static_assert(accepted<verdict>,
                  "meshtf: this schedule does not run with these numbers of stages and micro-batches");
    if constexpr (accepted<verdict>) return run_pipeline<L, N, Schedule>(m, step);
    else return rejected{};
  }
}

}  // namespace detail

/// Calls `step(i)` for the micro-batches 0 to N - 1. It returns a loss, a tensor without dimensions, of which
/// `backward` is called before the next: one micro-batch has intermediate values at a time. Returns the sum
/// of the losses, as data.
///
///     auto loss = accumulate<4>([&](extent i) { return net.loss(micro_batch<batch, quarter>(x, i)) / 4; });
///     opt.step(net.parameters());
///
/// The gradients of parameters are sums over the micro-batches. They stay unreduced, so each is sent once, by
/// the optimizer, whatever N is; sums over processes in the forward pass and of intermediate gradients are
/// sent for each micro-batch. For the mean over a batch, divide each loss by N.
/// Errors: `pipeline_needs_machine` under a layout with stages; `software_error` if losses are made under
/// different counts (`counted`), since the mean of their means is not that of all: see the form with weights.
template<int N, class F>
  requires(!detail::OnMesh<F>)
constexpr auto accumulate(F const& step) {
  static_assert(N > 0, "meshtf: accumulate has at least one micro-batch");
  using loss_type = decltype(step(extent{0}));
  if constexpr (detail::AnyRejected<loss_type>) {
    return rejected{};
  } else {
    using verdict = typename detail::accumulates_without_machine<typename loss_type::layout_type>::type;
    static_assert(accepted<verdict>, "meshtf: under staged<...>, write accumulate<N>(m, step)");
    if constexpr (accepted<verdict>) return detail::accumulated_of_equal_counts<N>(step);
    else return rejected{};
  }
}

/// The same; under a layout with stages, the pipeline: the stages work on different micro-batches at the same
/// time, in the order that `Schedule` says, and hand values on where the step calls `hand_on`. The bits of
/// loss and gradients do not depend on the number of stages. Under `no_gradient` there are forward passes
/// alone.
///
///     auto loss = accumulate<8>(m, [&](extent i) {
///       return mean(net.loss(micro_batch<batch, part>(ids, i))) / 8;
///     });
///
/// `step` begins at stage 0 and ends at the last; the loss is known to all stages afterwards, by one
/// all-reduce of one number over their axis.
/// Errors: those of `schedule_verdict` if the schedule does not run; `software_error` if `step` ends before
/// the last stage, reads a value of another one, or calls `accumulate`, and if losses are made under
/// different counts. Sources: Huang et al., GPipe (2019); Narayanan et al., Megatron-LM (2021), section 2.2.
template<int N, class Schedule = one_forward_one_backward, detail::OnMesh Machine, class F>
constexpr auto accumulate(Machine& m, F const& step) {
  static_assert(N > 0, "meshtf: accumulate has at least one micro-batch");
  using loss_type = decltype(step(extent{0}));
  if constexpr (detail::AnyRejected<loss_type>) {
    return rejected{};
  } else {
    using layout = typename loss_type::layout_type;
    if constexpr (!is_staged<layout>) {
      return detail::accumulated_of_equal_counts<N>(step);
    } else {  // where stages work on different micro-batches, all end before one throws
      detail::counting_step<F> counting{step};
      auto const counted_step = [&counting](extent i) { return counting(i); };
      auto total              = detail::accumulated_on<layout, N, Schedule>(m, counted_step);
      counting.expect_equal_counts();
      return total;
    }
  }
}

/// The mean over all micro-batches of what `step(i)` sums up: `weight(i)` is the number of terms in it, such
/// as the tokens that count. All weights are computed before the first micro-batch, from data that all stages
/// have, and each loss is divided by their sum; so micro-batches of different numbers of terms, or counts,
/// add up by term, as in one batch.
///
///     auto loss = accumulate<8>(m, [&](extent i) { return sum(masked_losses(i)); },
///                                  [&](extent i) { return sum(mask(i)); });
///
/// Errors: as above; `usage_error` on all processes if the weights add up to 0.
template<int N, class Schedule = one_forward_one_backward, detail::OnMesh Machine, class F, class W>
constexpr auto accumulate(Machine& m, F const& step, W const& weight) {
  static_assert(N > 0, "meshtf: accumulate has at least one micro-batch");
  using loss_type   = decltype(step(extent{0}));
  using weight_type = decltype(weight(extent{0}));
  if constexpr (detail::AnyRejected<loss_type, weight_type>) {
    return rejected{};
  } else {
    static_assert(
        std::is_same_v<std::remove_cvref_t<decltype(stop_gradient(std::declval<loss_type const&>()))>,
                       std::remove_cvref_t<decltype(stop_gradient(std::declval<weight_type const&>()))>>,
        "meshtf: a weight is a finished number of the type of the loss: sum(cast<float>(mask))");
    auto terms = stop_gradient(weight(extent{0}));
    for (extent i = 1; i < N; ++i) {
      auto sum = terms + stop_gradient(weight(i));
      terms    = std::move(sum);
    }
    if constexpr (Machine::computes)
      if (terms.value() == 0)
        throw usage_error("expected the weights of " + std::to_string(N) +
                          " micro-batches to add up to more than 0: no term counts");
    return detail::accumulated_on<typename loss_type::layout_type, N, Schedule>(
        m, [&step, &terms](extent i) { return step(i) / terms; });
  }
}

}  // namespace v0
}  // namespace meshtf
