// What is held at the moment of the peak: for what, and from which call.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <meshtf/core/dim.hpp>
#include <meshtf/price/call_site.hpp>

namespace meshtf {
inline namespace v0 {

/// What an array is held for. Parameters and optimizer state are named by their makers; data is what else a
/// program's constructor made; a gradient is what operations make in the backward pass, an activation what
/// they make on their way forward; a buffer is packed for a product, or is a message.
enum class held_for : std::uint8_t { parameter, optimizer_state, data, activation, gradient, buffer };

/// The number of enumerators of `held_for`.
inline constexpr std::size_t kinds_of_holding = 6;

/// Its name in words.
constexpr std::string_view to_string(held_for h) {
  switch (h) {
    case held_for::parameter: return "parameters";
    case held_for::optimizer_state: return "optimizer state";
    case held_for::data: return "data";
    case held_for::activation: return "activations";
    case held_for::gradient: return "gradients";
    case held_for::buffer: return "buffers";
  }
  return "?";
}

/// Arrays that one call site made and that are alive together. A line in a loop makes several.
struct held_arrays {
  call_site site{};
  held_for what = held_for::activation;
  extent arrays = 0;
  extent bytes  = 0;
};

/// What lives at the peak: all bytes by what they are held for, and the call sites that hold most, largest
/// first.
struct held_at_peak {
  static constexpr std::size_t max_sites                                  = 12;
  [[deprecated("use max_sites")]] static constexpr std::size_t most_sites = max_sites;

  std::array<extent, kinds_of_holding> by_kind{};
  std::array<held_arrays, max_sites> largest{};
  std::size_t sites = 0;

  constexpr extent operator[](held_for purpose) const { return by_kind[static_cast<std::size_t>(purpose)]; }
  constexpr extent bytes() const {
    extent sum = 0;
    for (extent b : by_kind) sum += b;
    return sum;
  }
};

}  // namespace v0
}  // namespace meshtf
