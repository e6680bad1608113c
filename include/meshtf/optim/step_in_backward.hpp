// backward(loss, opt, list): each parameter is updated in the backward pass as soon as its gradient is
// complete.
#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include <meshtf/ops/function/accumulate.hpp>
#include <meshtf/optim/updates_in_backward.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The result of `run`, an accumulation, during which `opt` updates the parameters of the list.
template<class Run, class Optimizer, class List>
constexpr auto with_updates(Run const& run, Optimizer& opt, List const& list, std::source_location at) {
  using loss_type = decltype(run());
  struct made_later {
    loss_type* loss = nullptr;
    constexpr ~made_later() {
      if (loss == nullptr) return;
      auto& m = loss->machine();
      m.destroy(loss);
    }
  };
  made_later made;
  opt.step_during(
      [&run, &made] {
        auto loss = run();
        auto& m   = loss.machine();
        made.loss = m.template create<loss_type>(std::move(loss));
      },
      list, at);
  return loss_type{*made.loss};
}

template<class Optimizer>
using update_verdict = std::conditional_t<UpdatesAlone<Optimizer>, legal, needs_all_gradients<Optimizer>>;

}  // namespace detail

/// `backward(loss)`, then `opt.step(list)`, with the same bits and the same messages, but each parameter is
/// updated, and its gradient discarded, as soon as nothing on the tape uses the parameter any more. So the
/// gradients of a deep model are not in memory together.
///
///     backward(loss(net, batch), opt, parameters(net));
///
/// Which gradients are complete is known as `early_sums` knows it: a weight that is used twice waits for both
/// terms, and one that a function of `recompute` captures for that function. Over the processes a gradient is
/// added up as in the step: a long one when it is complete; short ones share the step's messages, so these,
/// and what `early_sums` lists, are updated where the backward pass ends. `dry_run` promises calls, bytes
/// and the lower peak; call `opt.prepare(list)` first, or the first step makes the optimizer's arrays while
/// activations are alive. In a search for a layout nothing is updated before the end.
///
/// A parameter that the backward pass reads as data without a handle to it, such as one that the gradient of
/// a `custom_gradient` captures by reference, must not be listed.
/// Errors: `needs_all_gradients` for optimizers that scale by norms (`lamb`, `lars`), `adafactor`,
/// `averaged`, and classes of the program that do not name themselves `updates_alone`; `usage_error` on all
/// processes with `max_norm` or `skip_if_not_finite`. An exception discards the gradients; parameters that
/// came earlier in the pass have their new weights, and the step does not count, as in a step that fails
/// (`adam`).
/// Source: Li and others, Harmony: Overcoming the Hurdles of GPU Memory Capacity to Train Massive DNN Models
/// on Commodity Servers (2022), just-in-time updates.
template<FloatingElement T, class L, class... D, class Optimizer, class... Part>
constexpr void backward(tensor<T, L, D...> const& loss, Optimizer& opt, parameter_list<Part...> const& list,
                        std::source_location at = std::source_location::current()) {
  using verdict = detail::update_verdict<Optimizer>;
  static_assert(accepted<verdict>,
                "meshtf: this optimizer needs all gradients: call backward(loss), then opt.step(list)");
  if constexpr (accepted<verdict>) opt.step_during([&loss] { backward(loss); }, list, at);
}
/// Refused with a sentence: a model is not a list.
template<FloatingElement T, class L, class... D, class Optimizer, class Model>
  requires(!detail::is_parameter_list<Model>)
constexpr void backward(tensor<T, L, D...> const&, Optimizer&, Model const&) {
  static_assert(detail::is_parameter_list<Model>,
                "meshtf: backward updates a list of parameters: backward(loss, opt, parameters(model))");
}

/// `accumulate<N>(step)`, then `opt.step(list)`: the parameters are updated in the backward pass of the last
/// micro-batch. Before it begins, the gradients of the others are in memory together.
///
///     auto loss = accumulate<4>([&](extent i) { return net.loss(micro_batch<batch, part>(x, i)) / 4; },
///                               opt, parameters(net));
template<int N, class F, class Optimizer, class... Part>
  requires(!detail::OnMesh<F>)
constexpr auto accumulate(F const& step, Optimizer& opt, parameter_list<Part...> const& list,
                          std::source_location at = std::source_location::current()) {
  using verdict = detail::update_verdict<Optimizer>;
  static_assert(accepted<verdict>,
                "meshtf: this optimizer needs all gradients: call accumulate<N>(...), then opt.step(list)");
  if constexpr (detail::AnyRejected<decltype(accumulate<N>(step))> || !accepted<verdict>) return rejected{};
  else return detail::with_updates([&step] { return accumulate<N>(step); }, opt, list, at);
}

/// The same for `accumulate<N>(m, step)`: under a layout with stages, each stage updates its parameters in
/// its last backward pass.
template<int N, class Schedule = one_forward_one_backward, detail::OnMesh Machine, class F, class Optimizer,
         class... Part>
constexpr auto accumulate(Machine& m, F const& step, Optimizer& opt, parameter_list<Part...> const& list,
                          std::source_location at = std::source_location::current()) {
  using verdict = detail::update_verdict<Optimizer>;
  static_assert(accepted<verdict>,
                "meshtf: this optimizer needs all gradients: call accumulate<N>(...), then opt.step(list)");
  if constexpr (detail::AnyRejected<decltype(accumulate<N, Schedule>(m, step))> || !accepted<verdict>)
    return rejected{};
  else return detail::with_updates([&m, &step] { return accumulate<N, Schedule>(m, step); }, opt, list, at);
}

/// The same for `accumulate<N>(m, step, weight)`.
template<int N, class Schedule = one_forward_one_backward, detail::OnMesh Machine, class F, class W,
         class Optimizer, class... Part>
constexpr auto accumulate(Machine& m, F const& step, W const& weight, Optimizer& opt,
                          parameter_list<Part...> const& list,
                          std::source_location at = std::source_location::current()) {
  using verdict = detail::update_verdict<Optimizer>;
  static_assert(accepted<verdict>,
                "meshtf: this optimizer needs all gradients: call accumulate<N>(...), then opt.step(list)");
  if constexpr (detail::AnyRejected<decltype(accumulate<N, Schedule>(m, step, weight))> || !accepted<verdict>)
    return rejected{};
  else
    return detail::with_updates([&m, &step, &weight] { return accumulate<N, Schedule>(m, step, weight); },
                                opt, list, at);
}

}  // namespace v0
}  // namespace meshtf
