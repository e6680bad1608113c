// Loop nests: one functor applied to several arrays, and its results reduced over the loops in which the result does not move.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

#include <meshtf/core/function.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/nest_parts.hpp>
#include <meshtf/kernel/rows.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// Joins the rows of a block to z. If they all go to one row, it takes as many at a time as stay in the cache.
template<reduction Op, class Lanes, class Rows, class R>
[[gnu::always_inline]] inline void join_block(Rows const& rows, extent count, extent n, R* z, extent z_stride, bool fresh) {
  constexpr extent cached = 1024;
  extent const many       = z_stride != 0 ? 1 : count * n <= 4 * cached ? count : 1 + 4 * std::max<extent>(1, cached / n);
  for (extent r = 0; r < count; r += many)
    join_rows<Op, Lanes>(rows, r, std::min(r + many, count), n, z + r * z_stride, fresh && (z_stride != 0 || r == 0));
}

/// Whether a map only copies narrow elements, widens or rounds them.
template<class F, class R, class... T>
inline constexpr bool only_converts = false;
template<class R, class T>
inline constexpr bool only_converts<function::identity, R, T> = any_narrow<R, T> && std::same_as<computed<R>, computed<T>>;

template<class R, class T>
void convert_row(extent n, R* z, T const* x) {
  if constexpr (!NarrowElement<R>) widen(n, x, z);
  else if constexpr (!NarrowElement<T>) narrow(n, x, z);
  else if (z != x) std::copy_n(x, n, z);
}

/// A piece of a row of narrow elements, widened; other rows are read where they lie.
template<class T>
struct widened_piece {
  T const* operator()(extent, T const* x) { return x; }
};
template<NarrowElement T>
struct widened_piece<T> {
  block_buffer<computed<T>> copy;
  computed<T> const* operator()(extent n, T const* x) {
    widen(n, x, copy.element.data());
    return copy.element.data();
  }
};

// ---- the loops around the rows: compiled once for each element type and used by all functors, through one virtual call for each block

/// The rows of a function that takes batches.
template<class Arch, class F, class R, std::size_t N>
class batch_stored final : public stored_rows<R> {
  using lanes = kernel::lanes<R, Arch>;

public:
  explicit batch_stored(F const& f) : f_{f} {}

  void store(piece const* x, extent count, extent n, R* z, extent z_stride) const override {
    store_rows<lanes>(batch_rows<lanes, F, R, N>{f_, x}, count, n, z, z_stride);
  }

private:
  F const& f_;
};

template<class Arch, class F, class R, class... T>
using stored = std::conditional_t<in_batches<F, R, T...>, batch_stored<Arch, F, R, sizeof...(T)>, plain_rows<Arch, F, R, T...>>;

/// Where the rows of a block go, if each is joined to one element.
template<reduction Op, class R>
struct row_totals {
  R* z;
  extent down;  // stride of z from row to row; 0: all rows go to one element
  bool begins, ends;  // whether the block is the first of its rows, or the last
  bool fresh, piecewise;  // z holds nothing yet; the rows span several consecutive blocks
  total_of<Op, R> running{};

  /// `count` is at most the number of lanes of `values`.
  template<class Lanes>
  void add(extent begin, extent count, std::array<R, Lanes::width> const& values) {
    if (piecewise) return add_piece(begin, values[0]);
    bool const first = fresh && begins;
    if (first && down == 1) return store_first<Lanes>(Lanes::load(values.data()), z + begin, count);
    for (extent i = 0; i < count; ++i) {
      R const value = values[static_cast<std::size_t>(i)];
      R& sum        = z[(begin + i) * down];
      sum           = first && (down != 0 || begin + i == 0) ? value : join<Op>(sum, value);
    }
  }
  /// The sums of a row's blocks are added up like those of a long row.
  void add_piece(extent r, R value) {
    running = begins ? total_of<Op, R>{value} : join<Op>(running, total_of<Op, R>{value});
    if (!ends) return;
    value  = static_cast<R>(running);
    R& sum = z[r * down];
    sum    = fresh && (down != 0 || r == 0) ? value : join<Op>(sum, value);
  }
};

/// The same rows, reduced.
template<reduction Op, class R>
class joined_rows {
public:
  /// Joins each row to one element.
  virtual void fold(piece const* x, extent count, extent n, row_totals<Op, R>& to) const = 0;
  /// Joins the rows to z, which is a single row if `z_stride` is 0.
  virtual void join(piece const* x, extent count, extent n, R* z, extent z_stride, bool fresh) const = 0;

protected:
  ~joined_rows() = default;
};

template<reduction Op, class Arch, class F, class R, std::size_t N>
class joined final : public joined_rows<Op, R> {
  using lanes = kernel::lanes<R, Arch>;
  using rows  = batch_rows<lanes, F, R, N>;

public:
  explicit joined(F const& f) : f_{f} {}

  void fold(piece const* x, extent count, extent n, row_totals<Op, R>& to) const override { fold_rows<Op, lanes, R>(rows{f_, x}, count, n, to); }
  void join(piece const* x, extent count, extent n, R* z, extent z_stride, bool fresh) const override {
    join_block<Op, lanes>(rows{f_, x}, count, n, z, z_stride, fresh);
  }

private:
  F const& f_;
};

/// z = f of the block's rows. Rows that are contiguous in all operands are treated as one row.
template<class R, bool Narrow>
void store_block(stored_rows<R> const& rows, block_operands<Narrow> const& operands, block const& b, R* z, extent z_stride) {
  bool const one = b.rows > 1 && z_stride == b.columns && operands.in_one_row(b.columns);
  rows.store(operands.pieces(), one ? 1 : b.rows, one ? b.rows * b.columns : b.columns, z, z_stride);
}

/// z = the rows of all blocks. `Narrow`: some operands, or the result, have narrow elements.
template<class Arch, bool Narrow, class R>
[[gnu::noinline]] void store_blocks(nest_steps const& steps, bool batches, operand const* x, stored_rows<computed<R>> const& rows, R* z) {
  using wide             = computed<R>;
  constexpr extent width = kernel::lanes<wide, Arch>::width;
  auto const result      = static_cast<std::size_t>(steps.operands - 1);
  block_operands<Narrow> operands{x, result};
  block_buffer<wide> values;
  if (block whole; operands.fetch_whole(steps, width, batches, NarrowElement<R>, whole)) {
    if constexpr (NarrowElement<R>) {
      store_block(rows, operands, whole, values.element.data(), whole.columns);
      return store_copy<Arch>(whole, whole.columns, values.element.data(), z, steps.stride[result][0], extent{1});
    } else {
      return store_block(rows, operands, whole, z, steps.stride[result][0]);
    }
  }

  auto const plan   = plan_blocks(steps, width, batches, false, operands.narrow_ones() | (NarrowElement<R> ? 1U << result : 0U));
  extent const down = plan.operand[result].down, step = plan.operand[result].step;
  access const mode = plan.operand[result].mode;

  planes plane{steps, plan};
  do {
    for_each_block(plan, [&](block const& b) __attribute__((always_inline)) {
      R* const to = z + plane.at()[result] + b.row * down + b.column * step;
      operands.fetch(plan, b, plane.at());
      if constexpr (!NarrowElement<R>)
        if (mode == access::direct) return store_block(rows, operands, b, to, down);
      store_block(rows, operands, b, values.element.data(), plan.pitch);
      store_copy<Arch>(b, plan.pitch, values.element.data(), to, down, step);
    });
  } while (plane.next());
}

/// z = the rows of all blocks, reduced over the loops in which z does not move; with `accumulate`, joined to what z holds. Where `f` does not take
/// batches, its results are stored first, and `joined` reduces those. `Narrow`: some operands have narrow elements; the result never has.
template<reduction Op, class Arch, bool Narrow, class R>
[[gnu::noinline]] void join_blocks(nest_steps const& steps, bool batches, bool accumulate, operand const* x, stored_rows<R> const& rows,
                                   joined_rows<Op, R> const& joined, R* z) {
  if (!steps.reduces && !accumulate) return store_blocks<Arch, Narrow>(steps, batches, x, rows, z);
  constexpr extent width = kernel::lanes<R, Arch>::width;
  auto const result      = static_cast<std::size_t>(steps.operands - 1);
  block_operands<Narrow> operands{x, result};
  block_buffer<R> values;
  piece kept{values.element.data(), 0, -1};
  auto const pieces_of = [&](block const& b) {
    if (batches) return operands.pieces();
    store_block(rows, operands, b, values.element.data(), kept.row = b.columns);
    return static_cast<piece const*>(&kept);
  };
  row_totals<Op, R> totals{.z = z, .down = 0, .begins = true, .ends = true, .fresh = !accumulate, .piecewise = false};

  if (block b; operands.fetch_whole(steps, width, batches, !batches, b)) {
    totals.down = b.rows > 1 ? steps.stride[result][0] : 0;
    if (steps.stride[result][static_cast<std::size_t>(steps.rank - 1)] == 0) joined.fold(pieces_of(b), b.rows, b.columns, totals);
    else joined.join(pieces_of(b), b.rows, b.columns, z, totals.down, totals.fresh);
    return;
  }

  auto const plan   = plan_blocks(steps, width, batches, !batches, operands.narrow_ones());
  extent const down = plan.operand[result].down, step = plan.operand[result].step;
  access const mode = plan.operand[result].mode;
  totals.down       = down;
  totals.piecewise  = plan.columns > plan.block_columns && plan.strip == plan.columns && plan.block_rows == 1;

  planes plane{steps, plan};
  do {
    bool const begun = accumulate || plane.again();
    for_each_block(plan, [&](block const& b) __attribute__((always_inline)) {
      R* const to      = z + plane.at()[result] + b.row * down + b.column * step;
      bool const fresh = !begun && (down != 0 || b.row == 0);
      operands.fetch(plan, b, plane.at());
      if (mode == access::copied) {
        store_block(rows, operands, b, values.element.data(), plan.pitch);
        for_each_element(b, plan.pitch, down, step, [&](extent from, extent i) {
          R const value    = values.element[static_cast<std::size_t>(from)];
          bool const first = fresh && (down != 0 || from < b.columns);
          to[i]            = first ? value : join<Op>(to[i], value);
        });
      } else if (step == 0) {
        totals.z      = to;
        totals.begins = b.column == 0;
        totals.ends   = b.column + b.columns == plan.columns;
        totals.fresh  = fresh;
        joined.fold(pieces_of(b), b.rows, b.columns, totals);
      } else {
        joined.join(pieces_of(b), b.rows, b.columns, to, down, fresh);
      }
    });
  } while (plane.next());
}

/// `store_blocks` on all threads. An element's bits do not depend on the part that it is in.
template<class Arch, bool Narrow, class R>
[[gnu::noinline]] void store_parts(nest_steps const& steps, bool batches, operand const* x, stored_rows<computed<R>> const& rows, R* z) {
  nest_division const how = division_of(steps);
  if (how.parts == 1) return store_blocks<Arch, Narrow>(steps, batches, x, rows, z);
  parallel_parts(how.parts, [&](extent number, int) {
    auto const part = part_of(steps, how, number);
    store_blocks<Arch, Narrow>(part.steps, batches, moved(x, part).data(), rows, z + part.at[static_cast<std::size_t>(steps.operands - 1)]);
  });
}

/// `join_blocks` on all threads. The parts are the same whatever the number of threads, since the bits of a sum depend on its parts.
template<reduction Op, class Arch, bool Narrow, class R>
[[gnu::noinline]] void join_parts(nest_steps const& steps, bool batches, bool accumulate, operand const* x, stored_rows<R> const& rows,
                                  joined_rows<Op, R> const& joined, R* z) {
  nest_division const how = division_of(steps);
  if (how.parts == 1) return join_blocks<Op, Arch, Narrow>(steps, batches, accumulate, x, rows, joined, z);
  auto const result = static_cast<std::size_t>(steps.operands - 1);
  if (!how.joins)
    return parallel_parts(how.parts, [&](extent number, int) {
      auto const part = part_of(steps, how, number);
      join_blocks<Op, Arch, Narrow>(part.steps, batches, accumulate, moved(x, part).data(), rows, joined, z + part.at[result]);
    });

  std::array<R, most_parts * few_results> partial;
  parallel_parts(how.parts, [&](extent number, int) {
    auto const part = part_of(steps, how, number);
    join_blocks<Op, Arch, Narrow>(part.steps, batches, false, moved(x, part).data(), rows, joined, partial.data() + number * few_results);
  });
  small_array<extent, max_rank> size{}, stride{};
  int rank = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps.rank); ++i)
    if (steps.stride[result][i] != 0) size[rank] = steps.size[i], stride[rank++] = steps.stride[result][i];
  for_each_index<1>(size.first(rank), std::array{stride}, {}, [&](auto const& at) {
    auto total = total_of<Op, R>{partial[static_cast<std::size_t>(at[0])]};
    for (extent part = 1; part < how.parts; ++part)
      total = join<Op>(total, total_of<Op, R>{partial[static_cast<std::size_t>(part * few_results + at[0])]});
    z[at[0]] = accumulate ? join<Op>(z[at[0]], static_cast<R>(total)) : static_cast<R>(total);
  });
}

/// The functions that copy operands of this type.
template<class Arch>
operand::type const& operand_type(element e) {
  switch (e) {
    case element::float32: return operand_of<Arch, float>;
    case element::float64: return operand_of<Arch, double>;
    case element::int32: return operand_of<Arch, std::int32_t>;
    case element::bfloat16: return operand_of<Arch, bfloat16>;
    case element::int64: return operand_of<Arch, std::int64_t>;
    case element::boolean: return operand_of<Arch, bool>;
  }
  throw "meshtf: this is no element type";
}

inline std::array<operand, max_operands> operands_of(nest_steps const& steps, typed_operand const* x) {
  std::array<operand, max_operands> all{};
  for (std::size_t k = 0; k + 1 < static_cast<std::size_t>(steps.operands); ++k) all[k] = {x[k].start, &operand_type<default_arch>(x[k].type)};
  return all;
}

template<Element R>
void map_rows(nest_steps const& steps, bool parallel, typed_operand const* x, stored_rows<computed<R>> const& rows, R* z) {
  if (steps.turns == 0) return;
  auto const operands = operands_of(steps, x);
  if (parallel && steps.turns >= worth_dividing && thread_count() > 1) store_parts<default_arch, true>(steps, false, operands.data(), rows, z);
  else store_blocks<default_arch, true>(steps, false, operands.data(), rows, z);
}

/// `z[i] = f(x[i]...)` for i < n, on the thread that calls it.
template<class Arch, class F, class R, class... T>
void map_some(extent n, F const& f, R* z, T const*... x) {
  if constexpr (only_converts<F, R, T...>) {
    convert_row(n, z, x...);
  } else if constexpr (any_narrow<R, T...>) {
    std::tuple<widened_piece<T>...> pieces;
    block_buffer<computed<R>> values;
    for (extent at = 0; at < n; at += block_elements) {
      extent const some = std::min(n - at, block_elements);
      std::apply(
          [&](widened_piece<T>&... piece) {
            if constexpr (NarrowElement<R>) map_some<Arch>(some, f, values.element.data(), piece(some, x + at)...);
            else map_some<Arch>(some, f, z + at, piece(some, x + at)...);
          },
          pieces);
      if constexpr (NarrowElement<R>) narrow(some, values.element.data(), z + at);
    }
  } else if constexpr (in_batches<F, R, T...>) {
    using lanes = kernel::lanes<R, Arch>;
    extent i    = 0;
    for (; i + lanes::width <= n; i += lanes::width) lanes::store(f(lanes::load(x + i)...), z + i);
    if (i < n) store_first<lanes>(f(load_first<lanes>(x + i, n - i)...), z + i, n - i);
  } else {
    plain_loop(f, n, z, x...);
  }
}

}  // namespace detail

/// z[i] = f(x[i]...) for i < n, for contiguous arrays; z may be one of x.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_row(extent n, F const& f, R* z, T const*... x) {
  if constexpr (ParallelFunction<F>)
    if (n >= worth_dividing && thread_count() > 1)
      return parallel_for(n, detail::block_elements, n,
                          [&](extent begin, extent end) { detail::map_some<Arch>(end - begin, f, z + begin, (x + begin)...); });
  detail::map_some<Arch>(n, f, z, x...);
}

/// z[...] = f(x...) for each iteration of a nest without a reduction. Its operands are x... and z, in this order.
/// z may be one of x if it has the same strides.
///
/// `F::vectorised` says that f takes batches (simd.hpp). f then gets them whatever the strides are, and an
/// element's bits do not depend on its position.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  if (detail::is_one_row<sizeof...(T) + 1>(steps)) return map_row<Arch>(steps.turns, f, z, x...);
  std::array const operands{detail::operand{x, &detail::operand_of<Arch, T>}...};
  constexpr bool narrow = detail::any_narrow<R, T...>, batches = detail::in_batches<F, R, T...>;
  detail::stored<Arch, F, computed<R>, computed<T>...> const rows{f};
  if (ParallelFunction<F> && steps.turns >= worth_dividing && thread_count() > 1)
    detail::store_parts<Arch, narrow>(steps, batches, operands.data(), rows, z);
  else detail::store_blocks<Arch, narrow>(steps, batches, operands.data(), rows, z);
}

/// z = f(x...) joined by `Op` over the loops in which z does not move; with `Accumulate`, joined to what z holds. Sums of floats stay accurate
/// along rows of any length. z may not overlap x, and has no narrow elements: a sum is rounded once, by whoever stores it.
template<reduction Op, bool Accumulate = false, class Arch = default_arch, class F, Element R, Element... T>
  requires(!NarrowElement<R>)
void reduce_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  std::array const operands{detail::operand{x, &detail::operand_of<Arch, T>}...};
  constexpr bool narrow = detail::any_narrow<T...>, batches = detail::in_batches<F, R, T...>;
  detail::stored<Arch, F, R, computed<T>...> const rows{f};
  auto const join = [&](auto const& joined) {
    if (ParallelFunction<F> && steps.turns >= worth_dividing)
      detail::join_parts<Op, Arch, narrow>(steps, batches, Accumulate, operands.data(), rows, joined, z);
    else detail::join_blocks<Op, Arch, narrow>(steps, batches, Accumulate, operands.data(), rows, joined, z);
  };
  if constexpr (batches) join(detail::joined<Op, Arch, F, R, sizeof...(T)>{f});
  else join(detail::joined<Op, Arch, function::identity, R, 1>{function::identity{}});
}

/// z = `value` wherever a nest writes, even if it has no turns: its loops along which z stands still may be empty.
template<Element R>
void fill_results(nest_steps const& steps, R value, R* z) {
  auto const& strides = steps.stride[steps.operands - 1];
  small_array<extent, max_rank> size{}, stride{};
  int rank = 0;
  for (int i = 0; i < steps.rank; ++i)
    if (strides[i] != 0) size[rank] = steps.size[i], stride[rank++] = strides[i];
  bool const rows  = rank > 0 && stride[rank - 1] == 1;
  extent const run = rows ? size[--rank] : 1;
  for_each_index<1>(size.first(rank), std::array{stride}, {}, [&](auto const& at) { std::fill_n(z + at[0], run, value); });
}

namespace detail {

template<reduction Op, Element R>
void reduce_rows(nest_steps const& steps, bool parallel, typed_operand const* x, stored_rows<computed<R>> const& rows, R* z, computed<R>* wide) {
  using Arch = default_arch;
  if (steps.turns == 0) return fill_results(steps, static_cast<R>(neutral<Op, R>), z);
  if (!steps.reduces) return map_rows(steps, parallel, x, rows, z);
  auto const operands = operands_of(steps, x);
  joined<Op, Arch, function::identity, computed<R>, 1> const joined_ones{function::identity{}};
  if (parallel && steps.turns >= worth_dividing) join_parts<Op, Arch, true>(steps, false, false, operands.data(), rows, joined_ones, wide);
  else join_blocks<Op, Arch, true>(steps, false, false, operands.data(), rows, joined_ones, wide);
  if constexpr (NarrowElement<R>) narrow(meshtf::detail::span_of(steps, static_cast<std::size_t>(steps.operands - 1)), wide, z);
}

}  // namespace detail
}  // namespace kernel

namespace task {

template<class F, class R, class... T>
void compute(map<F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, T const*... x) {
  if (s.turns != 0) kernel::map_nest(s, task.f, z, x...);
}
template<reduction Op, class F, class R, class... T>
void compute(reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, T const*... x) {
  if (s.turns != 0) kernel::reduce_nest<Op>(s, task.f, z, x...);
  else kernel::fill_results(s, kernel::detail::neutral<Op, R>, z);
}
/// With a narrow result; the last of the arrays is the scratch memory, which gets the result first unless nothing is joined.
template<reduction Op, class F, NarrowElement R, class... T, class... X>
  requires(sizeof...(X) == sizeof...(T) + 1)
void compute(reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, X*... arrays) {
  if (s.turns == 0) return kernel::fill_results(s, kernel::detail::neutral<Op, R>, z);
  std::tuple<X*...> const all{arrays...};
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    if (!s.reduces) return kernel::map_nest(s, task.f, z, static_cast<T const*>(std::get<K>(all))...);
    computed<R>* const wide = std::get<sizeof...(T)>(all);
    kernel::reduce_nest<Op>(s, task.f, wide, static_cast<T const*>(std::get<K>(all))...);
    kernel::narrow(detail::span_of(s, static_cast<std::size_t>(s.operands - 1)), wide, z);
  }(std::index_sequence_for<T...>{});
}

}  // namespace task

namespace kernel {

template<Element T>
void add(extent n, T const* x, T const* y, T* z) {
  map_row(n, function::plus{}, z, x, y);
}
template<Element T>
void fill(extent n, T value, T* z) {
  parallel_for(n, detail::block_elements, n, [&](extent begin, extent end) { std::fill_n(z + begin, end - begin, value); });
}
template<Element T>
void copy(extent n, T const* x, T* z) {
  parallel_for(n, detail::block_elements, n, [&](extent begin, extent end) { std::copy_n(x + begin, end - begin, z + begin); });
}
template<Element T>
void copy_nest(nest_steps const& steps, T* z, T const* x) {
  map_nest(steps, function::identity{}, z, x);
}

// Narrow results have scratch memory where they are added up.
#define MESHTF_EXTREMES(T)                                                                                                                          \
  template void detail::reduce_rows<reduction::max>(nest_steps const&, bool, detail::typed_operand const*, detail::stored_rows<computed<T>> const&, \
                                                    T*, computed<T>*);                                                                              \
  template void detail::reduce_rows<reduction::min>(nest_steps const&, bool, detail::typed_operand const*, detail::stored_rows<computed<T>> const&, \
                                                    T*, computed<T>*);
MESHTF_COMPILE_EACH(MESHTF_EXTREMES)
#undef MESHTF_EXTREMES

#define MESHTF_REDUCTIONS(T)                                                                                                                        \
  template void detail::reduce_rows<reduction::sum>(nest_steps const&, bool, detail::typed_operand const*, detail::stored_rows<computed<T>> const&, \
                                                    T*, computed<T>*);                                                                              \
  template void detail::reduce_rows<reduction::product>(nest_steps const&, bool, detail::typed_operand const*,                                      \
                                                        detail::stored_rows<computed<T>> const&, T*, computed<T>*);
MESHTF_COMPILE_NUMBERS(MESHTF_REDUCTIONS)
#undef MESHTF_REDUCTIONS

#define MESHTF_NESTS(T)                                                                                                               \
  template void add(extent, T const*, T const*, T*);                                                                                  \
  template void detail::map_rows(nest_steps const&, bool, detail::typed_operand const*, detail::stored_rows<computed<T>> const&, T*); \
  template void fill(extent, T, T*);                                                                                                  \
  template void copy(extent, T const*, T*);                                                                                           \
  template void copy_nest(nest_steps const&, T*, T const*);
MESHTF_COMPILE_EACH(MESHTF_NESTS)
#undef MESHTF_NESTS

}  // namespace kernel

#ifdef MESHTF_COMPILED_PART
MESHTF_BASIC_FUNCTIONS
MESHTF_COMPILE_REDUCE(1, max, function::identity)
MESHTF_COMPILE_REDUCE(1, min, function::identity)
MESHTF_COMPILE_CONVERSION(float, bfloat16)
MESHTF_COMPILE_CONVERSION(bfloat16, float)
#endif
}  // namespace v0
}  // namespace meshtf
