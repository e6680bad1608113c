// Products of narrow elements: the memory in which they are widened, the same on every processor.
#pragma once

#include <meshtf/plan/contraction.hpp>

namespace meshtf {
inline namespace v0 {

/// Where a contraction of narrow elements has its scratch memory, in elements of the wider type: first packed
/// arrays, which are narrow, then the pieces of a product, or a sum before it is rounded.
///
/// A processor that multiplies narrow elements needs no pieces. It has the memory all the same, so that a
/// program's price does not depend on where it runs.
struct narrow_scratch {
  extent packed = 0;
  extent wide   = 0;

  constexpr extent all() const { return packed + wide; }
};

constexpr narrow_scratch narrow_scratch_of(contraction_steps const& s, extent narrow_bytes,
                                           extent wide_bytes) {
  return {(s.scratch * narrow_bytes + wide_bytes - 1) / wide_bytes, s.wide};
}

}  // namespace v0
}  // namespace meshtf
