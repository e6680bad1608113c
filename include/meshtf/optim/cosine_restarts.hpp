// A schedule: the rate falls along half a cosine again and again.
#pragma once

#include <meshtf/optim/warmup_cosine.hpp>

namespace meshtf {
inline namespace v0 {

/// In each period the rate falls from `peak` along half a cosine to `floor`, then starts again. The first
/// period has `period` steps, at least 1; each later one has `growth` times as many as the one before.
///
///     meshtf::cosine_restarts schedule{.peak = 1e-3, .period = 1000, .growth = 2};
///     opt.rate = schedule(step);
///
/// Source: Loshchilov, Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts (2017), equation 5.
struct cosine_restarts {
  double peak   = 1e-3;
  extent period = 1;
  extent growth = 1;
  double floor  = 0;

  constexpr double operator()(extent step) const {
    extent length = period;
    if (growth == 1) step %= period;
    for (; step >= length; length *= growth) step -= length;
    return warmup_cosine{.peak = peak, .warmup_steps = 0, .total_steps = length, .floor = floor}(step);
  }
};

}  // namespace v0
}  // namespace meshtf
