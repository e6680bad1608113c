// Distributions: random values that depend on where an element stands in the whole tensor, and on nothing else.
#pragma once

#include <cstdint>

namespace meshtf {
inline namespace v0 {

/// What makes one stream of random numbers differ from another: values are a function of (seed, stream, global index of the element), so they are the same
/// under every layout and cost no communication.
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

struct normal_distribution {
  random_key key{};
  double mean   = 0;
  double stddev = 1;
};

}  // namespace v0
}  // namespace meshtf
