// Element types: what a tensor may hold, and how ledgers name it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <meshtf/core/dim.hpp>

namespace meshtf::inline v0 {

enum class element : std::uint8_t { float32, float64, int32 };

namespace detail {

template<class T>
inline constexpr bool is_element = false;
template<>
inline constexpr bool is_element<float> = true;
template<>
inline constexpr bool is_element<double> = true;
template<>
inline constexpr bool is_element<std::int32_t> = true;

}  // namespace detail

/// float, double and int32.
template<class T>
concept Element = detail::is_element<T>;

/// Element types that gradients flow through.
template<class T>
concept FloatingElement = Element<T> && std::floating_point<T>;

template<Element T>
inline constexpr element element_of = std::same_as<T, float>    ? element::float32
                                      : std::same_as<T, double> ? element::float64
                                                                : element::int32;

constexpr extent bytes_of(element e) { return e == element::float64 ? 8 : 4; }

constexpr std::string_view to_string(element e) {
  switch (e) {
    case element::float32: return "float";
    case element::float64: return "double";
    case element::int32: return "int32";
  }
  return "?";
}

}  // namespace meshtf::inline v0
