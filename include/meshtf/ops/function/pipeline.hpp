// The pipeline that `accumulate` runs under a layout with stages.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/ops/function/hand_on.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/shape/copy.hpp>
#include <meshtf/ops/shape/stop_gradient.hpp>
#include <meshtf/plan/schedule.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

[[noreturn]] void throw_step_ends_early(int stage, int last);
[[noreturn]] void throw_pipeline_in_stage();

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void throw_step_ends_early(int stage, int last) {
  throw software_error("expected the step of a pipeline to end at its last stage, " + std::to_string(last) +
                       ", got stage " + std::to_string(stage) + ": hand_on(x, " + std::to_string(last) +
                       ") before the loss");
}
[[noreturn]] MESHTF_DEFINE void throw_pipeline_in_stage() {
  throw software_error(
      "accumulate in a stage of a pipeline: the step that one accumulate calls can't call another");
}

#endif

/// A pipeline while it runs: each micro-batch has a tape of its own between its two passes.
template<Layout L, int N, class Loss>
class running_pipeline {
  using machine_type = machine<L>;
  using data_type    = std::remove_cvref_t<decltype(stop_gradient(std::declval<Loss const&>()))>;

  static constexpr int last = stage_count<L> - 1;

public:
  constexpr explicit running_pipeline(machine_type& m)
      : m_(m),
        stage_(static_cast<int>(m.template coordinate<stage_axis<L>>())),
        outside_(m.exchange_tape(nullptr)) {}
  running_pipeline(running_pipeline const&) = delete;
  void operator=(running_pipeline const&)   = delete;
  /// What an exception leaves is dropped. (What is in flight is left to the machine: to wait for it would
  /// hang where another process has failed.)
  constexpr ~running_pipeline() {
    m_.unwind_tape(false);
    for (int i = 0; i < N; ++i) {
      m_.exchange_tape(detail::exchange(tapes_[at(i)], nullptr));
      m_.unwind_tape(false);
      if (losses_[at(i)] != nullptr) m_.destroy(losses_[at(i)]);
    }
    if (total_ != nullptr) m_.destroy(total_);
    m_.work_on(-1, false, 0);
    m_.keep_tape(kept_);
    m_.exchange_tape(outside_);
  }

  template<class F>
  constexpr void forward(F const& step, int i) {
    m_.begin_pass(false, i);
    work_on_stage<L>(m_, 0);
    losses_[at(i)] = m_.template create<Loss>(step(extent{i}));
    if (m_.stage() != last) throw_step_ends_early(m_.stage(), last);
    tapes_[at(i)] = m_.exchange_tape(nullptr);
  }

  constexpr void backward(int i) {
    more_terms const guard{m_, i + 1 < N};
    m_.begin_pass(true, i);
    m_.exchange_tape(detail::exchange(tapes_[at(i)], nullptr));
    work_on_stage<L>(m_, stage_);
    if (stage_ == last) meshtf::backward(*losses_[at(i)]);
    else m_.unwind_tape(true);
    add_loss(i);
  }

  /// The loss of micro-batch `i`, whose tape is not wanted.
  constexpr void add_loss(int i) {
    work_on_stage<L>(m_, last);
    auto const one = stop_gradient(*losses_[at(i)]);
    if (total_ == nullptr) {
      total_ = m_.template create<data_type>(one);
    } else {
      auto sum = *total_ + one;
      *total_  = std::move(sum);
    }
    m_.destroy(detail::exchange(losses_[at(i)], nullptr));
  }

  /// The sum of the losses, on all stages.
  constexpr data_type total() {
    m_.end_passes();
    end_messages(m_, false);
    end_messages(m_, true);
    m_.work_on(-1, false, 0);
    m_.keep_tape(kept_);
    for (stage_copy* c = m_.stage_copies(); c != nullptr; c = c->next) {
      c->end_send(c);
      if (m_.records_gradients()) c->give_back(c);
    }
    auto result             = result_of_last_stage();
    constexpr axis_set over = joining_among<typename L::mesh_type, axes<stage_axis<L>>>;
    if constexpr (over != 0) m_.all_reduce(reduction::sum, result.data(), 1, over);
    return result;
  }

private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  constexpr data_type result_of_last_stage() {
    m_.begin_operation("accumulate");
    if (stage_ == last) return copied(*total_);
    return data_type{m_};
  }

  machine_type& m_;
  int stage_;
  tape_entry* outside_;
  bool kept_ = m_.keeps_tape();
  std::array<tape_entry*, std::size_t{N}> tapes_{};
  std::array<Loss*, std::size_t{N}> losses_{};
  data_type* total_ = nullptr;
};

/// Forward and backward passes of N micro-batches as `Schedule` says; forward passes alone where no gradients
/// are wanted.
template<Layout L, int N, class Schedule, class F>
constexpr auto run_pipeline(machine<L>& m, F const& step) {
  using loss_type = decltype(step(extent{0}));
  if (m.stage() >= 0) throw_pipeline_in_stage();
  for (stage_copy* c = m.stage_copies(); c != nullptr; c = c->next) c->send(c);
  m.begin_operation("accumulate");
  running_pipeline<L, N, loss_type> p{m};
  if (m.records_gradients()) {
    constexpr auto table = Schedule::template table<stage_count<L>, N>();
    auto const stage     = static_cast<int>(m.template coordinate<stage_axis<L>>());
    for (int turn = 0; turn < 2 * N; ++turn) {
      stage_pass const pass = table.at(stage, turn);
      if (pass.way == stage_pass::direction::forward) p.forward(step, pass.micro_batch);
      else p.backward(pass.micro_batch);
    }
  } else {
    for (int i = 0; i < N; ++i) {
      p.forward(step, i);
      p.add_loss(i);
    }
  }
  return p.total();
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
