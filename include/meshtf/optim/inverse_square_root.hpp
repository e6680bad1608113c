// A schedule: the rate falls with the inverse square root of the step.
#pragma once

#include <meshtf/core/dim.hpp>
#include <meshtf/core/math.hpp>

namespace meshtf {
inline namespace v0 {

/// The rate rises linearly to `peak` at step `warmup_steps - 1` (steps count from 0), then falls as peak *
/// sqrt(warmup_steps / (step + 1)). It needs no number of steps at which training ends. `warmup_steps` is at
/// least 1.
///
///     meshtf::inverse_square_root schedule{.peak = 1e-3, .warmup_steps = 4000};
///     opt.rate = schedule(step);
///
/// Source: Vaswani and others, Attention Is All You Need (2017), equation 3, whose factor is peak *
/// sqrt(warmup_steps) here.
struct inverse_square_root {
  double peak         = 1e-3;
  extent warmup_steps = 1;

  constexpr double operator()(extent step) const {
    double const done = static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    return done < 1 ? peak * done : peak / math::sqrt(done);
  }
};

}  // namespace v0
}  // namespace meshtf
