// Copies of elements that lie together.
#pragma once

#include <algorithm>

#include <meshtf/kernel/simd.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Copies the `n` elements of a row. Mostly they are few, for which the call of a library function would take longer than the copy.
template<Element T, class Arch = default_arch>
void copy_row(extent n, T const* from, T* to) {
  using lanes = kernel::lanes<T, Arch>;
  if constexpr (lanes::width > 1)  // (a bool that nobody wrote may only be copied as a byte)
    if (n < 16 * lanes::width)
      return detail::for_each_batch<lanes>(n, [&](auto some, extent k) __attribute__((always_inline)) { some.store(some.load(from + k), to + k); });
  std::copy_n(from, n, to);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
