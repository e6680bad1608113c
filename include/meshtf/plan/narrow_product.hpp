// Products of narrow elements: the memory in which they are widened, the same on every processor.
#pragma once

#include <algorithm>

#include <meshtf/plan/contraction.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf {
inline namespace v0 {

/// A piece of a matrix product that is computed in a wider type: rows, columns and summed elements of it.
struct product_piece {
  extent m = 1, n = 1, k = 1;

  /// Elements of the pieces of A, B and C.
  constexpr extent elements() const { return m * k + k * n + m * n; }
};

/// At most 480 each way, 2.6 MiB of floats: large enough for a product to be nearly as fast as a whole one. Rows of a power of two bytes are slower: they
/// displace one another from the cache.
constexpr product_piece piece_of(contraction_steps const& s) {
  constexpr extent most = 480;
  return {std::min(s.m, most), std::min(s.n, most), std::min(s.k, most)};
}

/// Where a contraction of narrow elements has its scratch memory, in elements of the wider type: first packed arrays, which are narrow, then the
/// pieces of a product, or a sum before it is rounded.
///
/// A processor that multiplies narrow elements needs no pieces. It has the memory all the same, so that a program's price does not depend on where it
/// runs.
struct narrow_scratch {
  extent packed = 0, wide = 0;

  constexpr extent all() const { return packed + wide; }
};

constexpr narrow_scratch narrow_scratch_of(contraction_steps const& s, extent narrow_bytes, extent wide_bytes) {
  if (!s.by_gemm) return {.wide = s.nest.reduces ? detail::span_of(s.nest, 2) : 0};
  narrow_scratch out{.packed = (s.scratch * narrow_bytes + wide_bytes - 1) / wide_bytes, .wide = piece_of(s).elements()};
  for (packing const* p : {&s.x, &s.y, &s.z})
    if (p->needed && p->walk.reduces) out.wide = std::max(out.wide, detail::span_of(p->walk, 1));
  return out;
}

}  // namespace v0
}  // namespace meshtf
