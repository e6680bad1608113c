// The operands of attention as packed rows, and copies between them and memory.
#pragma once

#include <algorithm>
#include <array>

#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// A part of an operand: positions of one pair, as they lie in memory.
template<class T>
struct positions {
  T* data;
  extent position;
  extent element;

  positions from(extent i) const { return {data + i * position, position, element}; }
};

/// The length of a row, and the length to which it is padded.
struct row_length {
  extent n;
  extent padded;
  explicit row_length(extent local) : n{local}, padded{attention_padded(local)} {}
};

/// Packed rows of the operands, widened if those in memory are narrow: contiguous, and padded with zeros so
/// that products need no edges; or transposed, with `columns_` queries a row.
template<class T, class Arch>
class attention_rows {
protected:
  using C                       = computed<T>;
  using lanes                   = kernel::lanes<C, Arch>;
  using batch                   = typename lanes::batch;
  static constexpr extent width = lanes::width;
  static constexpr extent ahead = 16;  // distance of the prefetch, in rows

  attention_rows(attention_steps const& steps, C* scratch)
      : s_{steps},
        depth_{steps.depth},
        width_{steps.width},
        memories_{attention_padded(steps.memories)},
        columns_{std::min(attention_block, attention_padded(steps.queries))},
        free_{scratch} {}

  C* take(extent n) {
    C* const p = free_;
    free_ += n;
    return p;
  }

  /// Of a gradient that nobody wants there is no array.
  template<class P>
  positions<P> part(P* all, std::size_t operand, std::array<extent, max_arrays> const& offset) const {
    return {all == nullptr ? nullptr : all + offset[operand], s_.position[operand], s_.element[operand]};
  }

  /// Prefetches a row, to read or to write: the processor does not predict rows that lie apart.
  template<bool Write, class P>
  void expect(row_length const& length, positions<P> const& row) const {
    for (extent e = 0; e < length.n; e += 64 / static_cast<extent>(sizeof(T)))
      __builtin_prefetch(row.data + e * row.element, Write);
  }

  /// to[e] = from[e] * factor for `n` elements, with strides `from_step` and `to_step`.
  template<class From, class To>
  static void copy_row(extent n, From const* from, extent from_step, C factor, To* to, extent to_step) {
    extent e = 0;
    if (from_step == 1 && to_step == 1)
      for (; e + width <= n; e += width) lanes::store(lanes::load(from + e) * batch(factor), to + e);
    for (; e < n; ++e) to[e * to_step] = static_cast<To>(static_cast<C>(from[e * from_step]) * factor);
  }

  /// Packs rows, padded to whole tiles.
  [[gnu::noinline]] void pack(row_length const& row, extent count, positions<T const> const& from, C factor,
                              C* to) const {
    for (extent i = 0; i < count; ++i) {
      if (i + ahead < count) expect<false>(row, from.from(i + ahead));
      copy_row(row.n, from.data + i * from.position, from.element, factor, to + i * row.padded, 1);
      std::fill_n(to + i * row.padded + row.n, row.padded - row.n, C{});
    }
    std::fill_n(to + count * row.padded, (attention_padded(count) - count) * row.padded, C{});
  }

  [[gnu::noinline]] void pack_transposed(row_length const& row, extent count, positions<T const> const& from,
                                         C factor, C* to) const {
    for (extent i = 0; i < count; i += width)
      for (extent e = 0; e < row.n; e += width) {
        T const* const x = from.data + i * from.position + e * from.element;
        C* const y       = to + e * columns_ + i;

        if (from.element == 1 && i + width <= count && e + width <= row.n) {
          transpose_tile<lanes>(row_matrix<T const>{x, from.position}, factor, row_matrix<C>{y, columns_});
          continue;
        }
        for (extent n = 0; n < std::min(width, count - i); ++n)
          copy_row(std::min(width, row.n - e), x + n * from.position, from.element, factor, y + n, columns_);
      }
    if (count < columns_)
      for (extent e = 0; e < row.n; ++e) std::fill_n(to + e * columns_ + count, columns_ - count, C{});
  }

  /// Copies one number for each query.
  void fetch(extent count, positions<C const> const& from, C* to) const {
    for (extent i = 0; i < count; ++i) to[i] = from.data[i * from.position];
    std::fill_n(to + count, columns_ - count, C{});
  }

  /// Copies packed rows to memory, the i-th times factor(i).
  template<class F>
  void unpack(row_length const& row, extent count, C const* from, F const& factor,
              positions<T> const& to) const {
    for (extent i = 0; i < count; ++i) expect<true>(row, to.from(i));
    for (extent i = 0; i < count; ++i)
      copy_row(row.n, from + i * row.padded, 1, factor(i), to.data + i * to.position, to.element);
  }

  /// Copies the gradient of a memory of which queries see the first `seen` positions; the rest is 0.
  [[gnu::noinline]] void unpack_memory(row_length const& row, extent seen, C const* from,
                                       positions<T> const& to) const {
    unpack(row, seen, from, [](extent) { return C(1); }, to);
    for (extent j = seen; j < s_.memories; ++j)
      for (extent e = 0; e < row.n; ++e) to.data[j * to.position + e * to.element] = T{};
  }

  void scale_rows(row_length const& row, extent rows, C const* factors, C* sums) const {
    for (extent i = 0; i < rows; ++i)
      copy_row(row.padded, sums + i * row.padded, 1, factors[i], sums + i * row.padded, 1);
  }

  /// to[i] = packed[i] . y[i].
  [[gnu::noinline]] void products_of_rows(row_length const& row, extent count, C const* packed,
                                          positions<T const> const& y, C* to) const {
    for (extent i = 0; i < count; ++i) {
      C const* const a = packed + i * row.padded;
      T const* const b = y.data + i * y.position;
      std::array<batch, 2> sum{batch(C{}), batch(C{})};
      extent e = 0;
      if (y.element == 1) {
        for (; e + 2 * width <= row.n; e += 2 * width)
          unrolled<2>([&](auto n) __attribute__((always_inline)) {
            extent const position = e + static_cast<extent>(n()) * width;
            sum[n]                = times_plus(lanes::load(a + position), lanes::load(b + position), sum[n]);
          });
      }
      C total = lanes::sum(sum[0] + sum[1]);
      for (; e < row.n; ++e) total += a[e] * static_cast<C>(b[e * y.element]);
      to[i] = total;
    }
    std::fill_n(to + count, columns_ - count, C{});
  }

  attention_steps const& s_;
  row_length depth_;
  row_length width_;
  // padded; `columns_`: the columns of a block of queries
  extent memories_;
  extent columns_;

private:
  C* free_;
};

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
