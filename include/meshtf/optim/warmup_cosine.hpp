// Schedules: the learning rate as a function of the step.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The cosine of 0 <= x <= pi/2, accurate to the last bits. `std::cos` is not constexpr, and a schedule must
/// give the compiler and a process the same rate.
constexpr double first_quadrant_cosine(double x) {
  double sum  = 1;
  double term = 1;
  for (int k = 2; k <= 24; k += 2) {
    term *= -x * x / (k * (k - 1));
    sum += term;
  }
  return sum;
}

}  // namespace detail

/// The rate rises linearly to `peak` at step `warmup_steps - 1` (steps count from 0; the rate of the first is
/// not 0), then falls along half a cosine to `floor`, which holds from step `total_steps` on.
///
///     meshtf::warmup_cosine schedule{.peak = 1e-3, .warmup_steps = 100, .total_steps = 5000, .floor = 1e-4};
///     opt.rate = schedule(step);
///
/// Source of the cosine: Loshchilov, Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts (2017),
/// equation 5.
struct warmup_cosine {
  double peak         = 1e-3;
  extent warmup_steps = 0;
  extent total_steps  = 1;
  double floor        = 0;

  constexpr double operator()(extent step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (step >= total_steps) return floor;
    constexpr double half_pi = 1.57079632679489661923;
    double const done =
        static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
    double const cosine = detail::first_quadrant_cosine(half_pi * done);
    return floor + (peak - floor) * cosine * cosine;  // (1 + cos 2x) / 2 = cos(x) squared
  }
};

}  // namespace v0
}  // namespace meshtf
