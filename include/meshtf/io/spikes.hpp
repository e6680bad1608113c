// Spikes of a number that is logged each step, such as the loss or the norm of the gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <meshtf/core/error.hpp>

namespace meshtf {
inline namespace v0 {

/// Finds values that lie far above those before them: more than `threshold` deviations above the mean (their
/// z-score). Mean and deviation are estimates in double: of all values at first, and then exponential ones,
/// in which a value counts for about `window` steps.
///
///     meshtf::spikes of_loss;
///     if (log.scalar("loss", loss, step, of_loss)) ...   // the program's policy: lower the rate, save, stop
///
/// Values of a spike enter the estimates as if they were at the threshold, so one large value changes little,
/// and a level that stays becomes the usual one. A value that is not finite is a spike, and enters nothing.
/// A deviation below a millionth of the mean counts as that. It sends nothing: what is passed is the same on
/// all processes, and so is the answer. A checkpoint does not hold it: after a restart it warms up again.
/// Source: Finch, Incremental calculation of weighted mean and variance (2009), section 9.
class spikes {
public:
  struct settings {
    double threshold = 6;    // deviations
    int window       = 100;  // steps
    int warm_up      = 20;   // steps without an answer
  };

  spikes() = default;
  /// Errors: `usage_error` if a setting makes no sense.
  explicit spikes(settings const& chosen) : settings_{chosen} {
    if (!(chosen.threshold > 0) || chosen.warm_up < 2 || chosen.window < chosen.warm_up)
      throw usage_error(
          "expected for spikes a threshold above 0, a warm-up of at least 2 steps and a window of "
          "at least that, got " +
          std::to_string(chosen.threshold) + ", " + std::to_string(chosen.warm_up) + " and " +
          std::to_string(chosen.window));
  }

  /// Whether `x`, the value of the next step, belongs to a spike.
  bool add(double x) {
    bool const was_in = in_spike_;
    z_                = score_of(x);
    in_spike_         = seen_ >= settings_.warm_up && !(z_ <= settings_.threshold);
    begins_           = in_spike_ && !was_in;
    if (std::isfinite(x)) take(in_spike_ ? mean_ + settings_.threshold * deviation() : x);
    return in_spike_;
  }

  /// Whether the last value is the first of a spike.
  bool begins() const { return begins_; }
  /// How many deviations the last value was above the mean before it.
  double score() const { return z_; }
  double mean() const { return mean_; }
  double deviation() const { return std::max(std::sqrt(variance_), 1e-6 * std::abs(mean_)); }

private:
  double score_of(double x) const {
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    double const above = x - mean_;
    if (deviation() > 0) return above / deviation();
    return above > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
  void take(double x) {
    seen_               = std::min(seen_ + 1, settings_.window);
    double const share  = 1.0 / seen_;
    double const above  = x - mean_;
    double const change = share * above;
    mean_ += change;
    variance_ = (1 - share) * (variance_ + above * change);
  }

  settings settings_{};
  int seen_        = 0;
  double mean_     = 0;
  double variance_ = 0;
  double z_        = 0;
  bool in_spike_   = false;
  bool begins_     = false;
};

}  // namespace v0
}  // namespace meshtf
