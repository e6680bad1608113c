// Random values, dropout and iota: an element's result follows from its index in the whole tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <meshtf/core/philox.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/kernel/narrow.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/random_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// z[k] = scale * x[k], or 0 where the random word of index first + k is less than `threshold`; z may be x.
///
/// Sixteen consecutive counters give their 64 words to 64 indices: first the first words of all of them, then
/// the second words, and so on. All four words are used, and loops over counters and over elements are SIMD
/// code.
template<FloatingElement T>
  requires(!NarrowElement<T>)
void drop(philox const& random, extent first, extent n, std::uint64_t threshold, T scale, T const* x, T* z) {
  constexpr std::size_t lanes = 16;
  constexpr extent block      = 4 * extent{lanes};
  for (extent k = 0; k < n;) {
    extent const skip  = (first + k) % block;  // the range may start within a block
    extent const count = std::min(n - k, block - skip);
    auto const random_words =
        random.many<lanes>(static_cast<std::uint64_t>((first + k) / block) * lanes).word;
    // a dropped element becomes 0, not 0 * x: even an infinity is dropped
    auto const dropped = [=](std::uint64_t word, T value) { return word < threshold ? T{} : scale * value; };
    if (count == block) {
      for (std::size_t w = 0; w < 4; ++w, k += extent{lanes}) {
        T const* const from = x + k;
        T* const to         = z + k;
        for (std::size_t i = 0; i < lanes; ++i) to[i] = dropped(random_words[w][i], from[i]);
      }
    } else {
      for (extent i = skip; i < skip + count; ++i, ++k) {
        auto const position = static_cast<std::size_t>(i);
        z[k]                = dropped(random_words[position / lanes][position % lanes], x[k]);
      }
    }
  }
}

/// `for_each_run` over the local elements. Offsets in the global tensor count all elements up to the largest
/// extents, so an element's index does not depend on how many there are. Threads share long runs; `cost`: the
/// elements of a sum that take as long as one of these.
template<class F>
void for_each_local_run(shard_steps const& s, place_in_mesh const& here, extent cost, F const& f) {
  small_array<extent, max_rank> sizes{};
  for (int d = 0; d < s.rank; ++d) sizes[d] = s.dim[d].size;
  for_each_run(s.dims(), first_indices(s.dims(), here), s.extents(), sizes.first(s.rank),
               [&](extent local, extent global, extent n) {
                 parallel_for(n, 1024, cost * n, [&](extent begin, extent end) {
                   f(local + begin, global + begin, end - begin);
                 });
               });
}

/// `drop` of narrow elements, in pieces that are widened.
template<NarrowElement T>
void drop(philox const& random, extent first, extent n, std::uint64_t threshold, computed<T> scale,
          T const* x, T* z) {
  constexpr extent piece = 1024;
  std::array<computed<T>, piece> wide;
  for (extent position = 0; position < n; position += piece) {
    extent const some = std::min(piece, n - position);
    widen(some, x + position, wide.data());
    drop(random, first + position, some, threshold, scale, static_cast<computed<T> const*>(wide.data()),
         wide.data());
    narrow(some, wide.data(), z + position);
  }
}

/// `n` random elements of the global tensor, from index `first` on.
template<Element T>
void fill_random(uniform_distribution const& d, extent first, extent n, T* z) {
  fill_uniform(philox{d.key.seed, d.key.stream}, first, n, static_cast<computed<T>>(d.low),
               static_cast<computed<T>>(d.high), z);
}
template<Element T>
void fill_random(normal_distribution const& d, extent first, extent n, T* z) {
  fill_normal(philox{d.key.seed, d.key.stream}, first, n, static_cast<computed<T>>(d.mean),
              static_cast<computed<T>>(d.stddev), z);
}
template<Element T>
void fill_random(truncated_normal_distribution const& d, extent first, extent n, T* z) {
  fill_truncated_normal(d.key.seed, d.key.stream, first, n, static_cast<computed<T>>(d.mean),
                        static_cast<computed<T>>(d.stddev), z);
}

}  // namespace kernel

namespace task {

template<Element T, class Distribution>
void draw<T, Distribution>::compute(shard_steps const& s, place_in_mesh const& here, T* z) const {
  kernel::for_each_local_run(s, here, 4, [&](extent local, extent global, extent n) {
    kernel::fill_random(distribution, global, n, z + local);
  });
}
template<Element T>
void drop<T>::compute(shard_steps const& s, place_in_mesh const& here, T const* x, T* z) const {
  philox const random{key.seed, key.stream};
  auto const threshold = static_cast<std::uint64_t>(rate * 0x1p32);
  auto const scale     = static_cast<computed<T>>(1 / (1 - rate));
  kernel::for_each_local_run(s, here, 1, [&](extent local, extent global, extent n) {
    kernel::drop(random, global, n, threshold, scale, x + local, z + local);
  });
}
template<Element T>
void iota<T>::compute(line_steps const& s, place_in_mesh const& here, T* z) const {
  extent const first = s.first(here);
  for (extent i = 0; i < s.along; ++i) z[i] = static_cast<T>(first + i);
}

#define MESHTF_DRAWS(T)                                   \
  template struct draw<T, uniform_distribution>;          \
  template struct draw<T, normal_distribution>;           \
  template struct draw<T, truncated_normal_distribution>; \
  template struct drop<T>;
MESHTF_COMPILE_FLOATING(MESHTF_DRAWS)
#undef MESHTF_DRAWS

#define MESHTF_IOTA(T) template struct iota<T>;
MESHTF_COMPILE_NUMBERS(MESHTF_IOTA)
#undef MESHTF_IOTA

}  // namespace task
}  // namespace v0
}  // namespace meshtf
