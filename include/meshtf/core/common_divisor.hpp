// The greatest common divisor, without all of <numeric>.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Of positive numbers.
constexpr extent common_divisor(extent a, extent b) {
  while (b != 0) {
    extent const rest = a % b;
    a                 = b;
    b                 = rest;
  }
  return a;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
