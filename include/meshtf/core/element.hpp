// Element types: what a tensor may hold, and what the library knows about each.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <meshtf/core/bfloat16.hpp>
#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// An element type as a value, as ledgers, records and files name it.
enum class element : std::uint8_t { float32, float64, int32, bfloat16, int64, boolean };

/// Facts about an element type, available without the type.
struct element_facts {
  std::string_view name;  // in messages and pictures
  extent bytes = 0;
  std::string_view safetensors;  // in files of that format
  std::string_view numpy;        // in NumPy; bfloat16 comes with the package ml_dtypes
};

/// The switch has no default, so the compiler warns if an element type is missing.
constexpr element_facts facts_of(element e) {
  switch (e) {
    case element::float32: return {"float", 4, "F32", "float32"};
    case element::float64: return {"double", 8, "F64", "float64"};
    case element::int32: return {"int32", 4, "I32", "int32"};
    case element::bfloat16: return {"bfloat16", 2, "BF16", "bfloat16"};
    case element::int64: return {"int64", 8, "I64", "int64"};
    case element::boolean: return {"bool", 1, "BOOL", "bool"};
  }
  throw "meshtf: this is no element type";
}

/// Bytes of one element.
constexpr extent bytes_of(element e) {
  // not facts_of(e).bytes: constant evaluation would count the letters of the names each time
  switch (e) {
    case element::float32:
    case element::int32: return 4;
    case element::float64:
    case element::int64: return 8;
    case element::bfloat16: return 2;
    case element::boolean: return 1;
  }
  throw "meshtf: this is no element type";
}
/// Its name in C++, for messages.
constexpr std::string_view to_string(element e) { return facts_of(e).name; }

/// Facts about the element type `T`. A type without a specialisation can't be the element type of a tensor;
/// nothing is assumed about it.
///
///   kind          as a value
///   is_floating   gradients flow through it
///   is_number     it can be added and multiplied
///   computes_in   kernels compute with this type
///   sums_in       a sum of many elements within a process is kept in this type
template<class T>
struct element_traits;

template<>
struct element_traits<float> {
  static constexpr element kind     = element::float32;
  static constexpr bool is_floating = true;
  static constexpr bool is_number   = true;
  using computes_in                 = float;
  using sums_in                     = double;
};

template<>
struct element_traits<double> {
  static constexpr element kind     = element::float64;
  static constexpr bool is_floating = true;
  static constexpr bool is_number   = true;
  using computes_in                 = double;
  using sums_in                     = double;
};

template<>
struct element_traits<std::int32_t> {
  static constexpr element kind     = element::int32;
  static constexpr bool is_floating = false;
  static constexpr bool is_number   = true;
  using computes_in                 = std::int32_t;
  using sums_in                     = std::int32_t;
};

/// Functions of elements see floats, and each operation rounds once, at its end.
template<>
struct element_traits<bfloat16> {
  static constexpr element kind     = element::bfloat16;
  static constexpr bool is_floating = true;
  static constexpr bool is_number   = true;
  using computes_in                 = float;
  using sums_in                     = double;
};

template<>
struct element_traits<std::int64_t> {
  static constexpr element kind     = element::int64;
  static constexpr bool is_floating = false;
  static constexpr bool is_number   = true;
  using computes_in                 = std::int64_t;
  using sums_in                     = std::int64_t;
};

template<>
struct element_traits<bool> {
  static constexpr element kind     = element::boolean;
  static constexpr bool is_floating = false;
  static constexpr bool is_number   = false;
  using computes_in                 = bool;
  using sums_in                     = bool;
};

/// float, double, int32, bfloat16, int64 and bool.
template<class T>
concept Element = requires { element_traits<T>::kind; } && sizeof(T) == bytes_of(element_traits<T>::kind);

/// Element types that gradients flow through.
template<class T>
concept FloatingElement = Element<T> && element_traits<T>::is_floating;

/// Element types that can be added and multiplied.
template<class T>
concept NumberElement = Element<T> && element_traits<T>::is_number;

/// Element types that are stored in fewer bits than kernels compute with.
template<class T>
concept NarrowElement = Element<T> && !std::same_as<T, typename element_traits<T>::computes_in>;

/// The type in which functions of elements get an element of `T`.
template<Element T>
using computed = typename element_traits<T>::computes_in;

/// The enumerator of an element type.
template<Element T>
inline constexpr element element_of = element_traits<T>::kind;

}  // namespace v0
}  // namespace meshtf
