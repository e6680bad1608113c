// The update of a running mean, as optimizers keep them.
#pragma once

namespace meshtf {
inline namespace v0 {
namespace function {

/// beta mean + (1 - beta) x, for a beta in double precision.
///
/// 1 - beta is rounded once: of a beta rounded to float it would be wrong by up to 2^-25, which is 2e-4 of it
/// at beta = 0.9999. And what rounding the two weights apart takes from their sum, which is 1, is a third
/// weight, of the mean: without it a mean of equal values would be off by as much.
template<class T>
class running_mean {
public:
  constexpr explicit running_mean(double beta)
      : kept_(static_cast<T>(beta)),
        added_(static_cast<T>(1 - beta)),
        rest_(static_cast<T>((1 - static_cast<double>(kept_)) - static_cast<double>(added_))) {}

  template<class V>
  constexpr V operator()(V const& mean, V const& x) const {
    return V(kept_) * mean + (V(added_) * x + V(rest_) * mean);
  }

private:
  T kept_;
  T added_;
  T rest_;
};

}  // namespace function
}  // namespace v0
}  // namespace meshtf
