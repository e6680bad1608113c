// Narrow elements: between the type that is stored and the type that is computed with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// wide[i] = x[i]; nothing is lost.
void widen(extent n, bfloat16 const* x, float* wide);

/// z[i] = wide[i], rounded as bfloat16's constructor does.
void narrow(extent n, float const* wide, bfloat16* z);

namespace detail {

/// Sixteen numbers at once, in as many registers as that takes. Left to themselves, some compilers convert
/// them one by one.
inline constexpr std::size_t converted_at_once           = 16;
using words [[gnu::vector_size(4 * converted_at_once)]]  = std::uint32_t;
using halves [[gnu::vector_size(2 * converted_at_once)]] = std::uint16_t;

/// The first `N` of them; what is not used, compilers leave out.
template<std::size_t N>
[[gnu::always_inline]] inline void widen_some(bfloat16 const* from, void* to) {
  static_assert(N <= converted_at_once);
  halves x{};
  std::memcpy(&x, from, N * sizeof(bfloat16));
  words const wide = __builtin_convertvector(x, words) << 16;
  std::memcpy(to, &wide, N * sizeof(float));
}
/// Rounds as bfloat16's constructor does.
template<std::size_t N>
[[gnu::always_inline]] inline void narrow_some(void const* from, bfloat16* to) {
  static_assert(N <= converted_at_once);
  words x{};
  std::memcpy(&x, from, N * sizeof(float));
  words const upper       = x >> 16;
  words const nearest     = (x + 0x7fffU + (upper & 1U)) >> 16;
  auto const not_a_number = reinterpret_cast<words>((x & 0x7fffffffU) > 0x7f800000U);
  words const rounded     = (nearest & ~not_a_number) | ((upper | 0x40U) & not_a_number);
  auto const half         = __builtin_convertvector(rounded, halves);
  std::memcpy(static_cast<void*>(to), &half, N * sizeof(bfloat16));
}

}  // namespace detail

#if !MESHTF_DECLARES_ONLY

[[gnu::noinline]] MESHTF_DEFINE void widen(extent n, bfloat16 const* x, float* wide) {
  constexpr auto together = extent{detail::converted_at_once};
  extent i                = 0;
  for (; i + together <= n; i += together) detail::widen_some<detail::converted_at_once>(x + i, wide + i);
  for (; i < n; ++i) wide[i] = static_cast<float>(x[i]);
}

[[gnu::noinline]] MESHTF_DEFINE void narrow(extent n, float const* wide, bfloat16* z) {
  constexpr auto together = extent{detail::converted_at_once};
  extent i                = 0;
  for (; i + together <= n; i += together) detail::narrow_some<detail::converted_at_once>(wide + i, z + i);
  for (; i < n; ++i) z[i] = bfloat16{wide[i]};
}

#endif

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
