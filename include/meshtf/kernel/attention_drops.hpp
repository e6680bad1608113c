// Which weights of an attention are dropped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <meshtf/kernel/random.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Draws what the weights of some queries are multiplied with: 0, or 1 / (1 - the share that is dropped). A
/// weight's draw follows from its number in the tensor of all weights, which has the dimensions of the
/// queries without the compared one, then the memory's positions.
///
/// Weights lie with queries as columns, but numbers run along the memory, in which `dropout` draws 64 at a
/// time. So each query's are drawn as a row, and turned when they are used.
template<class C, class Arch>
class attention_drops {
  using lanes                   = kernel::lanes<C, Arch>;
  using batch                   = typename lanes::batch;
  static constexpr extent width = lanes::width;
  static_assert(width * attention_span <= attention_block * attention_block);

public:
  attention_drops(attention_steps const& s, attention_view const& view, place_in_mesh const& here)
      : rows_{s.rows},
        query_stride_{s.position[attention_steps::row]},
        memories_{s.all_memories},
        random_{view.random.seed, view.random.stream} {
    if (view.dropped == 0) return;
    threshold_ = static_cast<std::uint64_t>(view.dropped * 0x1p32);
    scale_     = static_cast<C>(1 / (1 - view.dropped));
    first_     = first_indices(rows_.dims(), here);
  }

  /// For `count` positions of the memory from `begin` on, and `rows` queries from `first` on. `pair`: where
  /// their numbers begin in the shard of one number for each query. The rows are `stride` elements apart.
  [[gnu::noinline]] void draw(extent pair, extent first, extent rows, extent begin, extent count,
                              extent stride) {
    for (extent i = 0; i < rows; ++i) {
      C* const row = drawn_.data() + i * stride;
      std::fill_n(row, count, C(1));
      drop(random_, number_of(pair + (first + i) * query_stride_) * memories_ + begin, count, threshold_,
           scale_, row, row);
    }
  }

  /// Multiplies `count` rows of a matrix, `columns` apart, in the columns of as many queries as a batch has
  /// lanes, from that on whose draws are row number `query`. What is dropped is 0, whatever it was.
  [[gnu::noinline]] void apply(extent query, extent count, extent stride, C* weights, extent columns) const {
    using math::select;
    std::array<C, static_cast<std::size_t>(width * width)> turned;
    for (extent j = 0; j < count; j += width) {
      transpose_tile<lanes>(row_matrix<C const>{drawn_.data() + query * stride + j, stride}, C(1),
                            row_matrix<C>{turned.data(), width});
      for (extent r = 0; r < std::min(width, count - j); ++r) {
        C* const row       = weights + (j + r) * columns;
        batch const factor = lanes::load(turned.data() + r * width);
        lanes::store(select(factor == batch(C{}), batch(C{}), lanes::load(row) * factor), row);
      }
    }
  }

private:
  /// The number of a row of weights among those of all processes, from its place in the shard.
  extent number_of(extent offset) const {
    extent number = 0;
    extent stride = 1;
    for (int d = rows_.rank; d-- > 0;) {
      extent const allocated = rows_.dim[d].allocated_extent();
      number += (first_[static_cast<std::size_t>(d)] + offset % allocated) * stride;
      offset /= allocated;
      stride *= rows_.dim[d].size;
    }
    return number;
  }

  shard_steps const& rows_;
  extent query_stride_;
  extent memories_;
  philox random_;
  std::uint64_t threshold_ = 0;
  C scale_{1};
  std::array<extent, max_rank> first_{};
  std::array<C, static_cast<std::size_t>(attention_block* attention_block)> drawn_;
};

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
