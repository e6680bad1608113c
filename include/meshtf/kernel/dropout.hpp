// Dropout: elements kept or dropped by a random number of their own index.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <meshtf/core/philox.hpp>

namespace meshtf::inline v0 {
namespace kernel {

/// z[k] = scale * x[k], or 0 where the random word of index first + k is less than `threshold`; z may be x.
///
/// Sixteen counters in a row give their 64 words to 64 indices: the first words of all of them, then the second. All four words are used, and loops over
/// counters and over elements are SIMD code.
template<FloatingElement T>
void drop(philox const& random, extent first, extent n, std::uint64_t threshold, T scale, T const* x, T* z) {
  constexpr std::size_t lanes = 16;
  constexpr extent block      = 4 * extent{lanes};
  for (extent k = 0; k < n;) {
    extent const skip       = (first + k) % block;  // a run may start within a block
    extent const count      = std::min(n - k, block - skip);
    auto const random_words = random.many<lanes>(static_cast<std::uint64_t>((first + k) / block) * lanes).word;
    // what is dropped is 0, not 0 * x: an infinity that is dropped is gone
    auto const dropped = [=](std::uint64_t word, T value) { return word < threshold ? T{} : scale * value; };
    if (count == block) {
      for (std::size_t w = 0; w < 4; ++w, k += extent{lanes}) {
        T const* const from = x + k;
        T* const to         = z + k;
        for (std::size_t i = 0; i < lanes; ++i) to[i] = dropped(random_words[w][i], from[i]);
      }
    } else {
      for (extent i = skip; i < skip + count; ++i, ++k) {
        auto const at = static_cast<std::size_t>(i);
        z[k]          = dropped(random_words[at / lanes][at % lanes], x[k]);
      }
    }
  }
}

}  // namespace kernel
}  // namespace meshtf::inline v0
