// Rows of a nest as the loops around them see them: the loops are compiled once for each element type, the
// rows for each function.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// The most elements in one operand's copy of a block; the copies of all operands fit in the first-level
/// cache.
inline constexpr extent block_elements = 1024;

/// Whether `F` gets batches: it declares so, and all elements have one floating-point type, or are widened to
/// it.
template<class F, class R, class... T>
inline constexpr bool in_batches =
    Vectorised<F> && FloatingElement<R> && (std::same_as<computed<T>, computed<R>> && ...);

/// Whether some of these element types are narrow.
template<class... T>
inline constexpr bool any_narrow = (NarrowElement<T> || ...);

/// Whether all operands are contiguous, as in most elementwise operations: then no blocks need planning,
/// which is most of the work for a small tensor. A loop that a nest lacks has strides of 0.
template<std::size_t Operands>
constexpr bool is_one_row(nest_steps const& nest) {
  extent other = 0;
  for (std::size_t k = 0; k < Operands; ++k) other |= nest.stride[k][0] ^ nest.rank;
  return nest.rank <= 1 && other == 0;
}

/// `Arch` keeps translation units for different processors apart, also where they have the same function.
template<class Arch, class F, class R, class... T>
void plain_loop(F const& f, extent n, R* z, T const*... x) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep  // z may be one of x, element for element
#endif
  for (extent i = 0; i < n; ++i) z[i] = static_cast<R>(f(x[i]...));
}

/// An operand within a block: its first row, its stride from row to row, and whether it moves along the row
/// (all bits set) or not (0).
struct piece {
  void const* data;
  extent row;
  extent moves;
};

/// f of the rows of a block; `x` has one entry for each operand.
template<class R>
class stored_rows {
public:
  /// z = f of `count` rows of `n` elements; the rows of z are `z_stride` apart.
  virtual void store(piece const* x, extent count, extent n, R* z, extent z_stride) const = 0;

protected:
  ~stored_rows() = default;
};

/// The rows of a function that takes numbers. `Arch` keeps translation units for different processors apart.
template<class Arch, class F, class R, class... T>
class plain_rows final : public stored_rows<R> {
public:
  explicit plain_rows(F const& f) : f_{f} {}

  void store(piece const* x, extent count, extent n, R* z, extent z_stride) const override {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      for (extent r = 0; r < count; ++r)
        plain_loop<Arch>(f_, n, z + r * z_stride, (static_cast<T const*>(x[K].data) + r * x[K].row)...);
    }(std::index_sequence_for<T...>{});
  }

private:
  F const& f_;
};

/// An operand, and what its elements are.
struct typed_operand {
  void const* start;
  element type;
};

/// z = the rows of all blocks of a nest, on one thread unless it is `parallel`. `rows` take numbers.
template<Element R>
void map_rows(nest_steps const& steps, bool parallel, typed_operand const* x,
              stored_rows<computed<R>> const& rows, R* z);

/// The same, joined over the loops in which z stands still. Narrow results are joined at `wide` first; for
/// others, that is z.
template<reduction Op, Element R>
void reduce_rows(nest_steps const& steps, bool parallel, typed_operand const* x,
                 stored_rows<computed<R>> const& rows, R* z, computed<R>* wide);

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
