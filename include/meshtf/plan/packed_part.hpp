// The message of a block's weights, which are kept in parts: where the part of each process lies in it.
#pragma once

#include <span>

#include <meshtf/core/placed.hpp>
#include <meshtf/plan/bucket_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// An array that is cut along one dimension, one part for each process along `over`. All parts are as long:
/// where they do not divide the dimension, the last ones end with padding, or are padding alone.
///
/// Elements, in the order of memory: [outer][size][inner] of the array, [outer][part][inner] of a part.
struct packed_part {
  extent outer  = 1;
  extent size   = 1;
  extent part   = 1;
  extent inner  = 1;
  extent count  = 1;
  axis_set over = 0;

  /// The elements of a part, padding included.
  constexpr extent shard() const { return outer * part * inner; }
  constexpr bool is_padded() const { return part * count != size; }
  /// The extent of the dimension in part number `rank`.
  constexpr extent local_extent(extent rank) const {
    extent const left = size - rank * part;
    if (left < 0) return 0;
    return left < part ? left : part;
  }

  /// f(in the part, in the array, elements) for each piece of part number `rank` that lies in one piece in
  /// both.
  template<class F>
  constexpr void for_each_piece(extent rank, F const& f) const {
    extent const n = local_extent(rank) * inner;
    if (n == 0) return;
    for (extent o = 0; o < outer; ++o) f(o * part * inner, (o * size + rank * part) * inner, n);
  }
};

/// A whole array, of which part number r lies `offset` elements from the start of row number r of a message;
/// without `elements` it counts as zeros. A row has the parts of all arrays, one after the other.
template<class T>
struct packed_array {
  T* elements = nullptr;
  packed_part part{};
  extent offset = 0;
};

/// How an array that is placed as `whole` is cut where it is kept as `kept`. There is one part if it is not
/// cut along one dimension alone, in the order of ranks, or if its elements are counted at run time.
constexpr packed_part packed_part_of(std::span<placed const> whole, std::span<placed const> kept) {
  packed_part p{};
  bool cut = false;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (whole[d].counted != nullptr) return {};
    extent const here = whole[d].allocated_extent();
    if (whole[d] == kept[d]) {
      (cut ? p.inner : p.outer) *= here;
      continue;
    }
    if (cut || whole[d].parts != 1) return {};
    cut     = true;
    p.size  = here;
    p.part  = kept[d].allocated_extent();
    p.count = kept[d].parts;
    p.over  = kept[d].over.set();
    for (int i = 1; i < kept[d].over.count; ++i)
      if (kept[d].over[i] < kept[d].over[i - 1]) return {};
  }
  return p;
}

/// Whether a weight that is kept so travels with others of its block. What counts is its part: a gather over
/// N processes has N - 1 messages of one part each.
constexpr bool is_packed(packed_part const& p, extent element_bytes) {
  return p.count > 1 && is_packed(p.shard() * element_bytes);
}

}  // namespace v0
}  // namespace meshtf
