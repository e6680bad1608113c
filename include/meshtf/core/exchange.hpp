// Puts a new value in the place of an old one.
#pragma once

#include <type_traits>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Returns what it was before. As std::exchange, which a program has twice for each pair of types, with the
/// traits that say whether it may throw.
template<class T>
constexpr T exchange(T& place, std::type_identity_t<T> value) {
  T before = static_cast<T&&>(place);
  place    = static_cast<T&&>(value);
  return before;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
