// Lion.
#pragma once

#include <array>
#include <source_location>

#include <meshtf/core/math.hpp>
#include <meshtf/optim/elementwise_steps.hpp>
#include <meshtf/optim/running_mean.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct lion_update : of_elements<9> {
  // decayed: the share of a weight that decay takes
  T decayed;
  T rate;
  running_mean<T> interpolated;
  running_mean<T> next;
  constexpr lion_update(double d, double r, double b1, double b2)
      : decayed(static_cast<T>(d)), rate(static_cast<T>(r)), interpolated(b1), next(b2) {}

  template<class V>
  constexpr void operator()(V& w, V& mean, V const& g) const {
    using math::select;
    V const c = interpolated(mean, g);
    // a NaN passes through
    w    = w - (V(decayed) * w + V(rate) * select(c > V(0), V(1), select(c < V(0), V(-1), c)));
    mean = next(mean, g);
  }
};

}  // namespace function

#define MESHTF_LION(T) \
  template void kernel::update(extent, function::lion_update<computed<T>> const&, T*, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_LION)
#undef MESHTF_LION

/// c = beta1 m + (1 - beta1) gradient, w -= rate (sign(c) + weight_decay w), m = beta2 m + (1 - beta2)
/// gradient. It keeps one array where Adam keeps two. Parameters of fewer than `decayed_rank` dimensions do
/// not decay.
/// Source: Chen and others, Symbolic Discovery of Optimization Algorithms (2023), algorithm 2.
class lion : public elementwise_steps<1> {
public:
  using updates_alone = lion;

  double rate         = 1e-4;
  double weight_decay = 0;
  double beta1        = 0.9;
  double beta2        = 0.99;
  int decayed_rank    = 2;

  constexpr lion() = default;
  constexpr explicit lion(double r, double decay = 0, double b1 = 0.9, double b2 = 0.99)
      : rate(r), weight_decay(decay), beta1(b1), beta2(b2) {}

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
        "lion::step", at, list,
        [this]<class T, class Machine>(detail::trained<T, Machine> const& w) {
          double const own = rate * w.settings.rate;
          return function::lion_update<computed<T>>{w.decays(decayed_rank) ? own * weight_decay : 0, own,
                                                    beta1, beta2};
        },
        pass);
  }
  using detail::steps_lists::step;

  // ---- for checkpoints

  static constexpr char const* kind = "lion";
  static constexpr std::array<char const*, 1> array_names{"mean"};
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const& w, F const& f) const {
    show_arrays(w, array_names, f);
  }
};

}  // namespace v0
}  // namespace meshtf
