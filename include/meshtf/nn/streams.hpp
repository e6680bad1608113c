// Streams of random numbers, from which the parameters of a model get their initial values.
#pragma once

#include <cstdint>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Hands out a seed for each parameter of a model, in the order of construction: two models with one seed
/// start alike, two parameters never do.
class streams {
public:
  constexpr explicit streams(std::uint64_t seed = 0) : next_(seed << 32) {}
  constexpr std::uint64_t next() { return next_++; }

private:
  std::uint64_t next_;
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
