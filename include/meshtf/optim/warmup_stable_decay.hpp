// A schedule: warm-up, a constant rate, and a short decay at the end.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// The rate rises linearly to `peak` at step `warmup_steps - 1` (steps count from 0), stays there, and in the
/// last `decay_steps` of `total_steps` falls linearly to `floor`, which holds from then on. Training can go
/// on from the weights before the decay with a larger `total_steps`.
///
///     meshtf::warmup_stable_decay schedule{
///         .peak = 1e-3, .warmup_steps = 100, .decay_steps = 500, .total_steps = 5000};
///     opt.rate = schedule(step);
///
/// Source: Hu and others, MiniCPM (2024), section 4; linear decay: Haegele and others, Scaling Laws and
/// Compute-Optimal Training Beyond Fixed Training Durations (2024).
struct warmup_stable_decay {
  double peak         = 1e-3;
  extent warmup_steps = 0;
  extent decay_steps  = 0;
  extent total_steps  = 1;
  double floor        = 0;

  constexpr double operator()(extent step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (step >= total_steps) return floor;
    if (step < total_steps - decay_steps) return peak;
    return floor +
           (peak - floor) * static_cast<double>(total_steps - step) / static_cast<double>(decay_steps);
  }
};

}  // namespace v0
}  // namespace meshtf
