// Stochastic gradient descent with momentum, also Nesterov's.
#pragma once

#include <array>
#include <source_location>

#include <meshtf/optim/elementwise_steps.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct momentum_update : of_elements<6> {
  // the step is a part of the new velocity and a part of the gradient
  T rate;
  T along;
  T from_velocity;
  T from_gradient;
  constexpr momentum_update(T r, T a, bool nesterov)
      : rate(r), along(a), from_velocity(nesterov ? a : T{1}), from_gradient(nesterov ? T{1} : T{}) {}

  template<class V>
  constexpr void operator()(V& w, V& velocity, V const& g) const {
    velocity = V(along) * velocity + g;
    w        = w - V(rate) * (V(from_velocity) * velocity + V(from_gradient) * g);
  }
};

}  // namespace function

#define MESHTF_MOMENTUM(T) \
  template void kernel::update(extent, function::momentum_update<computed<T>> const&, T*, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_MOMENTUM)
#undef MESHTF_MOMENTUM

/// v = mu v + gradient, w -= rate v; with `nesterov`, w -= rate (gradient + mu v). As in PyTorch, a change of
/// the rate acts on the whole velocity at once; in Mesh TensorFlow, where v = mu v + rate gradient, only on
/// gradients to come.
/// Source: Sutskever, Martens, Dahl, Hinton, On the Importance of Initialization and Momentum in Deep
/// Learning (2013), in PyTorch's form.
class momentum : public elementwise_steps<1> {
public:
  using updates_alone = momentum;

  double rate   = 0.01;
  double mu     = 0.9;
  bool nesterov = false;

  constexpr momentum() = default;
  constexpr explicit momentum(double r, double m = 0.9, bool n = false) : rate(r), mu(m), nesterov(n) {}

  /// Adds up the gradients over the processes that share a parameter, updates the weights and clears the
  /// gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    step_during(detail::no_pass{}, list, at);
  }
  /// Runs `pass`, a backward pass, and updates each parameter of the list in it as soon as that is possible:
  /// see `backward(loss, opt, list)`.
  template<class Pass, class... Part>
  constexpr void step_during(Pass const& pass, parameter_list<Part...> const& list,
                             std::source_location at = std::source_location::current()) {
    take_steps(
        "momentum::step", at, list,
        [this]<class T, class Machine>(detail::trained<T, Machine> const& w) {
          return function::momentum_update<computed<T>>{static_cast<computed<T>>(rate * w.settings.rate),
                                                        static_cast<computed<T>>(mu), nesterov};
        },
        pass);
  }
  using detail::steps_lists::step;

  // ---- for checkpoints

  static constexpr char const* kind = "momentum";
  static constexpr std::array<char const*, 1> array_names{"velocity"};
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const& w, F const& f) const {
    show_arrays(w, array_names, f);
  }
};

}  // namespace v0
}  // namespace meshtf
