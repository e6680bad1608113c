// Stochastic gradient descent.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/skipped_steps.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/optim/updates_in_backward.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// A step of `sgd` while it is taken.
template<class Machine>
class steps_down {
public:
  /// `after_all`: no weights change before all gradients are finished.
  constexpr steps_down(Machine& m, std::size_t max_parameters, double rate, bool after_all,
                       element sums_travel_as)
      : machine_(m), rate_(rate), after_all_(after_all), sent_(m, max_parameters, sums_travel_as) {}

  /// Finishes the gradient, at once if it is long, and then goes down it.
  template<class T>
  constexpr void collect(trained<T, Machine> const& w) {
    if (w.gradient.sum && sent_.sum(w.gradient, w.parts.size) && !after_all_) go_down(w);
  }
  constexpr void send() { sent_.send(); }
  /// One parameter whose gradient is complete, and shares no message.
  template<class T>
  constexpr void update_alone(trained<T, Machine> const& w) {
    collect(w);
    go_down(w);
  }
  template<class T>
  constexpr void go_down(trained<T, Machine> const& w) {
    if (!w.gradient.sum) return;
    w.weights.written();
    T const* const g = w.gradient.sum->data();
    machine_.transform(w.parts.size, function::step_down<computed<T>>{static_cast<computed<T>>(rate_)},
                       w.weights.data(), g);
    w.drop_gradient();
  }

private:
  Machine& machine_;
  double rate_;
  bool after_all_;
  buckets<Machine> sent_;
};

}  // namespace detail

/// w -= rate * gradient for each parameter. It keeps no state.
struct sgd {
  using updates_alone = sgd;

  double rate = 0.01;
  /// If not 0, a step in which a gradient is not finite is skipped on all processes, and that many in a row
  /// end the job: see `adam`. It costs one more all-reduce of one number.
  int skip_if_not_finite = 0;
  detail::skipped_steps skips{};  // what has been skipped so far
  /// `element::bfloat16`: gradients of float parameters travel rounded, see `elementwise_steps`.
  element sums_travel_as = element::float32;

  /// Adds up the gradients over the processes that share a parameter (all-reduces over their unreduced axes
  /// together, small gradients in one), updates the weights and clears the gradients. A step that ends in an
  /// exception discards the gradients, since some may be added up and others not; parameters that came
  /// earlier in the list have their new weights.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      auto const stepped = m->begin_step("sgd::step", at);
      try {
        bool const skips_steps = skip_if_not_finite > 0;
        detail::element_found found{};
        if (skips_steps) found = detail::prepare_to_look(list, skips.next_is_last(skip_if_not_finite));
        detail::steps_down step_now{*m, detail::count_in(list), rate, skips_steps, sums_travel_as};
        list.for_each([&step_now](auto& w) { step_now.collect(detail::trained_of(w, false, {})); });
        step_now.send();
        bool const is_finite = !skips_steps || detail::gradients_are_finite(*m, list);
        if constexpr (std::remove_pointer_t<decltype(m)>::computes)
          if (!is_finite) {
            zero_gradients(list);
            return skips.note_skipped(*m, skip_if_not_finite, found, list);
          }
        list.for_each([&step_now](auto& w) { step_now.go_down(detail::trained_of(w, false, {})); });
        skips.note_taken();
      } catch (...) {
        zero_gradients(list);
        throw;
      }
    }
  }
  /// Runs `pass`, a backward pass, and updates each parameter of the list in it as soon as that is possible:
  /// see `backward(loss, opt, list)`.
  template<class Pass, class... Part>
  constexpr void step_during(Pass const& pass, parameter_list<Part...> const& list,
                             std::source_location at = std::source_location::current()) {
    if (skip_if_not_finite > 0) detail::throw_needs_all_gradients(false);
    if (auto* const m = detail::machine_in(list); m != nullptr) {
      detail::steps_down step_now{*m, detail::count_in(list), rate, false, sums_travel_as};
      detail::update_during(pass, list, *m, step_now, false, {}, "sgd::step", at);
    } else {
      pass();
    }
    step(list, at);
  }
  // The other optimizers have it from `detail::steps_lists`; this one is an aggregate, which has no base.
  /// Refused with a sentence: a model is not a list.
  template<class Model>
    requires(!detail::is_parameter_list<Model>)
  constexpr void step(Model const&) const {
    static_assert(detail::is_parameter_list<Model>,
                  "meshtf: an optimizer's step takes a list of parameters: step(parameters(model))");
  }

  /// How many steps of this object were skipped.
  constexpr long skipped() const { return skips.count(); }

  // ---- for checkpoints: there is nothing to keep

  static constexpr char const* kind = "sgd";
  static constexpr std::array<char const*, 0> array_names{};

  template<class Self, class F>
  static constexpr void for_each_number(Self&, F const&) {}
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const&, F const&) const {}
  template<class Parameter>
  constexpr void make_arrays(Parameter const&) {}
};

}  // namespace v0
}  // namespace meshtf
