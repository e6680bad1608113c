// Adam.
#pragma once

#include <array>
#include <cmath>
#include <source_location>
#include <type_traits>
#include <utility>

#include <meshtf/optim/elementwise_steps.hpp>
#include <meshtf/optim/running_mean.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct adam_update : of_elements<13> {
  // decayed: the share of a weight that decay takes; what it leaves is too near 1 to be a float
  T decayed;
  T rate;
  running_mean<T> first;
  running_mean<T> second;
  T epsilon;
  T correction2;
  constexpr adam_update(double d, double r, double b1, double b2, double e, double c2)
      : decayed(static_cast<T>(d)),
        rate(static_cast<T>(r)),
        first(b1),
        second(b2),
        epsilon(static_cast<T>(e)),
        correction2(static_cast<T>(c2)) {}

  template<class V>
  constexpr void operator()(V& w, V& m, V& v, V const& g) const {
    using math::sqrt;
    m = first(m, g);
    v = second(v, V(g * g));
    w = w - (V(decayed) * w + V(rate) * m / (sqrt(v * V(correction2)) + V(epsilon)));
  }
};

}  // namespace function

#define MESHTF_ADAM(T) \
  template void kernel::update(extent, function::adam_update<computed<T>> const&, T*, T*, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_ADAM)
#undef MESHTF_ADAM

/// w -= rate * m' / (sqrt(v') + epsilon), where m and v are running means of the gradient and of its square,
/// and m' and v' are
/// these means corrected for their start at 0. The two means of a parameter live on its machine and are
/// placed as the parameter
/// is; `step` makes them when it first meets it.
///
/// A step that ends in an exception does not count. It discards the gradients, since some may be added up
/// over the processes and others not. If it ended before the first update (in the sums of gradients, if all
/// are short or `max_norm` is set, or in the sum of the norm), a step with recomputed gradients gives the
/// result that this one would have given. If it ended later, some parameters have new weights and means and
/// others the old ones; with `shard_state`, where new weights are exchanged, processes may hold different
/// weights: go on from a checkpoint.
/// Source: Kingma, Ba, Adam: A Method for Stochastic Optimization (2015), algorithm 1.
class adam : public elementwise_steps<2> {
public:
  using updates_alone = adam;

  double rate    = 1e-3;
  double beta1   = 0.9;
  double beta2   = 0.999;
  double epsilon = 1e-8;
  /// Without it m and v themselves are used, so the first steps are small, as in Mesh TensorFlow and BERT.
  bool bias_correction = true;

  constexpr adam() = default;
  constexpr explicit adam(double r, double b1 = 0.9, double b2 = 0.999, double e = 1e-8)
      : rate(r), beta1(b1), beta2(b2), epsilon(e) {}

  /// Adds up the gradients over the processes that share a parameter (one sum for gradients with the same
  /// unreduced axes), updates the weights and clears the gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    step_with_decay("adam::step", at, 0, 0, list);
  }
  /// Runs `pass`, a backward pass, and updates each parameter of the list in it as soon as that is possible:
  /// see `backward(loss, opt, list)`.
  template<class Pass, class... Part>
  constexpr void step_during(Pass const& pass, parameter_list<Part...> const& list,
                             std::source_location at = std::source_location::current()) {
    step_with_decay("adam::step", at, 0, 0, list, pass);
  }
  using detail::steps_lists::step;

  // ---- for checkpoints

  static constexpr char const* kind = "adam";
  /// The arrays that the optimizer keeps of each parameter that has had a gradient.
  static constexpr std::array array_names{"first", "second"};

  /// f(name, x) for each number that the steps change.
  template<class Self, class F>
  static constexpr void for_each_number(Self& self, F const& f) {
    f("power1", self.power1_);
    f("power2", self.power2_);
  }
  /// The numbers are powers of the decay rates: a checkpoint with values outside this range is damaged. After
  /// long training they are 0.
  static constexpr std::pair<double, double> number_range{0.0, 1.0};
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const& w, F const& f) const {
    show_arrays(w, array_names, f);
  }

protected:
  /// Of the weights of parameters with at least `min_rank` dimensions, a share of 1 - rate * decay remains.
  template<class Pass = detail::no_pass, class... Part>
  constexpr void step_with_decay(char const* name, std::source_location at, double decay, int min_rank,
                                 parameter_list<Part...> const& list, Pass const& pass = {}) {
    auto const update_of = [=, this]<class T, class Machine>(detail::trained<T, Machine> const& w) {
      double const own = rate * w.settings.rate;
      return function::adam_update<computed<T>>{
          w.decays(min_rank) ? own * decay : 0, own * correction1(), beta1, beta2, epsilon, correction2()};
    };
    with_next_powers([&, this] { return take_steps(name, at, list, update_of, pass); });
  }

  /// Takes a step, which uses the powers of the decay rates. If it fails or is skipped (then `take` returns
  /// false), they are again what they were.
  template<class F>
  constexpr void with_next_powers(F const& take) {
    double const power1 = power1_;
    double const power2 = power2_;
    power1_ *= beta1;
    power2_ *= beta2;
    try {
      if (take()) return;
    } catch (...) {
      power1_ = power1;
      power2_ = power2;
      throw;
    }
    power1_ = power1;
    power2_ = power2;
  }
  /// What the means are multiplied by, since they began at 0.
  constexpr double correction1() const { return bias_correction ? 1 / (1 - power1_) : 1; }
  constexpr double correction2() const { return bias_correction ? 1 / (1 - power2_) : 1; }

private:
  double power1_ = 1;
  double power2_ = 1;
};

}  // namespace v0
}  // namespace meshtf
