// Adam.
#pragma once

#include <cmath>
#include <source_location>
#include <type_traits>

#include <meshtf/ops/finish.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf::inline v0 {

namespace function {

template<class T>
struct adam_update : of_elements<12> {
  T rate, beta1, beta2, epsilon, correction2;
  constexpr adam_update(T r, T b1, T b2, T e, T c2) : rate(r), beta1(b1), beta2(b2), epsilon(e), correction2(c2) {}

  template<class V>
  constexpr void operator()(V& w, V& m, V& v, V const& g) const {
    using math::sqrt;
    m = V(beta1) * m + V(1 - beta1) * g;
    v = V(beta2) * v + V(1 - beta2) * g * g;
    w = w - V(rate) * m / (sqrt(v * V(correction2)) + V(epsilon));
  }
};

}  // namespace function

/// w -= rate * m' / (sqrt(v') + epsilon), with running means m and v of the gradient and its square, m' and v' corrected for their start at zero. The two
/// means of a parameter live on its machine and are placed as it is; they are made when `step` first meets it.
/// Source: Kingma, Ba, Adam: A Method for Stochastic Optimization (2015), algorithm 1.
class adam {
public:
  double rate    = 1e-3;
  double beta1   = 0.9;
  double beta2   = 0.999;
  double epsilon = 1e-8;

  constexpr adam() = default;
  constexpr explicit adam(double r, double b1 = 0.9, double b2 = 0.999, double e = 1e-8) : rate(r), beta1(b1), beta2(b2), epsilon(e) {}

  /// Adds up the gradients over the processes that share a parameter (an all-reduce each, over the axes that are owed together), updates, and clears them.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list, std::source_location at = std::source_location::current()) {
    power1_ *= beta1;
    power2_ *= beta2;
    states_.rewind();
    list.for_each([this, at](auto& w) { this->step_one(w, at); });
  }

private:
  template<class T, class L, class... D>
  struct means {
    tensor<T, L, D...> first, second;
    constexpr explicit means(machine<L>& m) : first{m}, second{m} {}
  };

  template<class T, class L, class... D>
  constexpr void step_one(parameter<T, L, D...>& w, std::source_location at) {
    if (!w.slot().sum) return;
    auto& state = states_.template of<means<T, L, D...>>(w);
    {
      auto const g = finish(detail::taken_gradient(w), at);
      auto& m      = w.machine();
      m.enter("adam::step", at);
      w.handle()->written();
      function::adam_update<T> const f{static_cast<T>(rate / (1 - power1_)), static_cast<T>(beta1), static_cast<T>(beta2), static_cast<T>(epsilon),
                                       static_cast<T>(1 / (1 - power2_))};
      m.transform(w.size, f, w.data(), state.first.data(), state.second.data(), g.data());
    }
    w.zero_gradient();
  }

  optimizer_states states_{};
  double power1_ = 1;
  double power2_ = 1;
};

}  // namespace meshtf::inline v0
