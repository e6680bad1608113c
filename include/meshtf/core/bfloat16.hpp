// bfloat16: the upper half of a float, for storage and messages. The library computes in float.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace meshtf {
inline namespace v0 {

/// A number of 16 bits with the exponent of a float and 8 bits of precision.
///
/// Conversions to it are explicit, and round once, to the nearest number, ties to even; a NaN stays a (quiet)
/// NaN. Those to float and double lose nothing. Operators compute in float and round their result: they are
/// for single numbers, since kernels widen whole rows.
/// Source: Kalamkar and others, A Study of BFLOAT16 for Deep Learning Training (2019).
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  constexpr explicit bfloat16(float x) : bits{rounded(std::bit_cast<std::uint32_t>(x))} {}
  constexpr explicit bfloat16(double x) : bfloat16{to_odd(x)} {}
  template<std::integral N>
  constexpr explicit bfloat16(N n) : bfloat16{exact_enough(n)} {}

  constexpr explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  template<std::integral N>
  constexpr explicit operator N() const {
    return static_cast<N>(static_cast<float>(*this));
  }

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 x{};
    x.bits = bits;
    return x;
  }

  friend constexpr bool operator==(bfloat16 x, bfloat16 y) {
    return static_cast<float>(x) == static_cast<float>(y);
  }
  friend constexpr std::partial_ordering operator<=>(bfloat16 x, bfloat16 y) {
    return static_cast<float>(x) <=> static_cast<float>(y);
  }

  friend constexpr bfloat16 operator-(bfloat16 x) {
    return from_bits(static_cast<std::uint16_t>(x.bits ^ 0x8000U));
  }
  friend constexpr bfloat16 operator+(bfloat16 x, bfloat16 y) {
    return bfloat16{static_cast<float>(x) + static_cast<float>(y)};
  }
  friend constexpr bfloat16 operator-(bfloat16 x, bfloat16 y) {
    return bfloat16{static_cast<float>(x) - static_cast<float>(y)};
  }
  friend constexpr bfloat16 operator*(bfloat16 x, bfloat16 y) {
    return bfloat16{static_cast<float>(x) * static_cast<float>(y)};
  }
  friend constexpr bfloat16 operator/(bfloat16 x, bfloat16 y) {
    return bfloat16{static_cast<float>(x) / static_cast<float>(y)};
  }

private:
  /// Written without branches, so that compilers vectorise loops over it.
  static constexpr std::uint16_t rounded(std::uint32_t x) {
    std::uint32_t const nearest = (x + 0x7fffU + (x >> 16 & 1U)) >> 16;
    std::uint32_t const quiet   = x >> 16 | 0x40U;
    return static_cast<std::uint16_t>((x & 0x7fffffffU) > 0x7f800000U ? quiet : nearest);
  }

  /// A float from which rounding gives what rounding x at once would give: towards zero, and with an odd last
  /// bit if anything was cut off.
  /// Source: Boldo, Melquiond, Emulation of FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding
  /// to Odd (2008).
  static constexpr float to_odd(double x) {
    float const near = static_cast<float>(x);
    double const got = static_cast<double>(near);
    if (got == x || x != x) return near;
    auto bits = std::bit_cast<std::uint32_t>(near);
    if ((x < 0 ? -got : got) > (x < 0 ? -x : x)) --bits;  // it was rounded away from zero
    return std::bit_cast<float>(bits | 1U);
  }

  /// Integers of more than 53 bits: what a double would cut off is kept as one bit.
  template<std::integral N>
  static constexpr double exact_enough(N n) {
    if constexpr (sizeof(N) > 4) {
      bool const negative = n < 0;
      auto size           = static_cast<std::uint64_t>(n);
      if (negative) size = 0 - size;
      if (size >> 53 != 0) size = (size >> 11 | ((size & 0x7ffU) != 0 ? 1U : 0U)) << 11;
      auto const x = static_cast<double>(size);
      return negative ? -x : x;
    } else {
      return static_cast<double>(n);
    }
  }
};

static_assert(sizeof(bfloat16) == 2);

}  // namespace v0
}  // namespace meshtf

/// The limits of a number with 8 bits of precision and a float's exponent.
template<>
class std::numeric_limits<meshtf::bfloat16> {
  using number = meshtf::bfloat16;
  using wide   = std::numeric_limits<float>;

public:
  static constexpr bool is_specialized                = true;
  static constexpr bool is_signed                     = true;
  static constexpr bool is_integer                    = false;
  static constexpr bool is_exact                      = false;
  static constexpr bool has_infinity                  = true;
  static constexpr bool has_quiet_NaN                 = true;
  static constexpr bool has_signaling_NaN             = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss               = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559                     = false;
  static constexpr bool is_bounded                    = true;
  static constexpr bool is_modulo                     = false;
  static constexpr int digits                         = 8;
  static constexpr int digits10                       = 2;
  static constexpr int max_digits10                   = 4;
  static constexpr int radix                          = 2;
  static constexpr int min_exponent                   = wide::min_exponent;
  static constexpr int min_exponent10                 = wide::min_exponent10;
  static constexpr int max_exponent                   = wide::max_exponent;
  static constexpr int max_exponent10                 = wide::max_exponent10;
  static constexpr bool traps                         = false;
  static constexpr bool tinyness_before               = false;

  static constexpr number min() noexcept { return number::from_bits(0x0080); }
  static constexpr number max() noexcept { return number::from_bits(0x7f7f); }
  static constexpr number lowest() noexcept { return number::from_bits(0xff7f); }
  static constexpr number epsilon() noexcept { return number::from_bits(0x3c00); }  // 1/128
  static constexpr number round_error() noexcept { return number::from_bits(0x3f00); }
  static constexpr number infinity() noexcept { return number::from_bits(0x7f80); }
  static constexpr number quiet_NaN() noexcept { return number::from_bits(0x7fc0); }
  static constexpr number signaling_NaN() noexcept { return number::from_bits(0x7fa0); }
  static constexpr number denorm_min() noexcept { return number::from_bits(0x0001); }
};

namespace meshtf {
inline namespace v0 {

/// The neighbour of x in the direction of y, as std::nextafter of other types; x if they are equal.
constexpr bfloat16 nextafter(bfloat16 x, bfloat16 y) {
  if (!(x < y) && !(y < x)) return x == y ? y : std::numeric_limits<bfloat16>::quiet_NaN();
  if (x == bfloat16{}) return bfloat16::from_bits(x < y ? 0x0001 : 0x8001);
  bool const away = (x < y) == (bfloat16{} < x);  // from zero
  return bfloat16::from_bits(static_cast<std::uint16_t>(away ? x.bits + 1 : x.bits - 1));
}

}  // namespace v0
}  // namespace meshtf
