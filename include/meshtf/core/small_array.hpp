// Small arrays, whose indices are the library's own numbers.
#pragma once

#include <cstddef>
#include <span>

namespace meshtf {
inline namespace v0 {

/// An array whose index may be signed, as the numbers of axes, dimensions and loops are. To the compiler,
/// which evaluates plans, an element of it costs one call, one of a std::array two or three.
template<class T, std::size_t N>
struct small_array {
  T element[N]{};

  template<class Index>
  constexpr T& operator[](Index i) {
    return element[i];
  }
  template<class Index>
  constexpr T const& operator[](Index i) const {
    return element[i];
  }

  constexpr T* begin() { return element; }
  constexpr T* end() { return element + N; }
  constexpr T const* begin() const { return element; }
  constexpr T const* end() const { return element + N; }
  constexpr T* data() { return element; }
  constexpr T const* data() const { return element; }
  static constexpr std::size_t size() { return N; }

  constexpr std::span<T const> first(int n) const { return {element, static_cast<std::size_t>(n)}; }
  constexpr void fill(T const& value) {
    for (T& e : element) e = value;
  }

  friend constexpr bool operator==(small_array const&, small_array const&) = default;
};

}  // namespace v0
}  // namespace meshtf
