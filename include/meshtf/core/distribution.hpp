// Distributions: random values that depend only on where an element is in the whole tensor.
#pragma once

#include <cstdint>

namespace meshtf {
inline namespace v0 {

/// Selects a stream of random numbers. A value is a function of (seed, stream, global index of the element),
/// so values are the same under every layout and cost no communication.
struct random_key {
  std::uint64_t seed   = 0;
  std::uint64_t stream = 0;
};

/// Uniform in [low, high).
struct uniform_distribution {
  random_key key{};
  double low  = 0;
  double high = 1;
};

/// Normal with the given mean and standard deviation.
struct normal_distribution {
  random_key key{};
  double mean   = 0;
  double stddev = 1;
};

/// The same, but nothing lies further from the mean than two standard deviations: what would is drawn again.
struct truncated_normal_distribution {
  random_key key{};
  double mean   = 0;
  double stddev = 1;
};

}  // namespace v0
}  // namespace meshtf
