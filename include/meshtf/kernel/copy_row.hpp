// Copies of elements that lie together.
#pragma once

#include <algorithm>

#include <meshtf/kernel/simd.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Copies the `n` elements of a row. If they are few, the call of a library function would take longer than
/// the copy. If they are more, that function may use `rep movsb`, which on Zen processors takes up to 60
/// times as long where both addresses are nearly the same modulo 4096, as in a row that moves by one element.
/// Beyond the caches it writes past them, which a loop does not. Inline, since the call would cost as much as
/// 16 elements.
template<Element T, class Arch = default_arch>
[[gnu::always_inline]] inline void copy_row(extent n, T const* from, T* to) {
  using lanes                    = kernel::lanes<T, Arch>;
  constexpr extent beyond_caches = (extent{16} << 20) / extent{sizeof(T)};
  if constexpr (lanes::width > 1)  // (a bool that nobody wrote may only be copied as a byte)
    if (n < beyond_caches) [[likely]]
      return detail::for_each_batch<lanes>(n, [&](auto some, extent k) __attribute__((always_inline)) {
        some.store(some.load(from + k), to + k);
      });
  std::copy_n(from, n, to);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
