// cast: the same values in another element type.
#pragma once

#include <cstdint>
#include <source_location>

#include <meshtf/tensor/conversion.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Whether `To` can represent every value of `From`.
template<class To, class From>
inline constexpr bool holds_all_of =
    std::is_same_v<To, From> || (std::is_same_v<To, double> && !std::is_same_v<From, std::int64_t>) ||
    (std::is_same_v<To, float> && std::is_same_v<From, bfloat16>) ||
    (std::is_same_v<To, std::int64_t> && std::is_same_v<From, std::int32_t>);

/// `x` in elements of type `To`, with its gradient, in the name of the current operation.
template<class To, class T, class L, class... D>
constexpr auto in_elements(tensor<T, L, D...> const& x) {
  auto z = each<To, shape<D...>>(conversion<To, T>{}, x);
  if constexpr (FloatingElement<To> && FloatingElement<T>)
    record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
      contribute(to, each<T, shape<D...>>(conversion<T, To>{}, dz), unreduced);
    });
  return z;
}

/// `x` as operations see it that have no kernel for narrow elements: in the type that is computed with. They
/// round their result once, and the tape keeps what they keep in the wider type.
template<class T, class L, class... D>
constexpr auto widened(tensor<T, L, D...> const& x) {
  return in_elements<computed<T>>(x);
}

}  // namespace detail

/// `x` in elements of type `To`: float, double, bfloat16 (each rounded to the nearest), int, std::int64_t
/// (rounded towards zero) or bool (whether it is not 0). Local. Gradient: between floating-point types it is
/// cast back, and that of a parameter stays unreduced; through others there is none. A partial sum stays
/// partial if `To` can represent every value of its type. Otherwise the cast does not compile, since rounded
/// local terms have another sum.
///
/// In mixed precision a program keeps float parameters and computes with
/// `auto const w16 = cast<bfloat16>(w);`. The gradients of all uses of `w16` are added up in bfloat16, one
/// rounding an addition. They are cast back to float once, and over processes they are added in float. To
/// accumulate the uses in float too, write a cast for each: `cast<bfloat16>(w)` where it is used.
template<Element To, detail::Operand X>
constexpr auto cast(X const& operand, std::source_location at = std::source_location::current()) {
  using T = detail::element_in<X>;
  constexpr algebra::use used =
      detail::holds_all_of<To, T> ? algebra::use::exact_cast : algebra::use::rounding_cast;
  using verdict = detail::use_verdict<used, X>;
  static_assert(
      accepted<verdict>,
      "meshtf: this cast would round local terms before they are added up: write cast<...>(finish(x))");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::exact_cast>(operand, [&](auto const& x) {
      x.machine().begin_operation("cast", at);
      return detail::in_elements<To>(x);
    });
  }
}

MESHTF_ACCEPT_REJECTED(cast)

}  // namespace v0
}  // namespace meshtf
