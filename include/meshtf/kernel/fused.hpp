// Fused functions: several results in one pass; the gradients of all operands in one pass, and the sums over
// rows of those that are rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/fused_plan.hpp>

#if !MESHTF_DECLARES_ONLY
#include <meshtf/kernel/simd.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

#if MESHTF_DECLARES_ONLY
/// The compiled library has no function of the user's, and there is no xsimd here: the compiler makes
/// batches.
template<class T>
struct fused_lanes {
  using batch = T;
  static T load(auto const* from) { return static_cast<T>(*from); }
  template<class To>
  static void store(T const& x, To* to) {
    *to = static_cast<To>(x);
  }
};
template<class Lanes, class F>
[[gnu::always_inline]] inline void for_each_fused(extent n, F const& f) {
  for (extent i = 0; i < n; ++i) f(Lanes{}, i);
}
#else
template<class T>
using fused_lanes = kernel::lanes<T, default_arch>;
template<class Lanes, class F>
[[gnu::always_inline]] inline void for_each_fused(extent n, F const& f) {
  for_each_batch<Lanes>(n, f);
}
#endif

template<unsigned Rows, std::size_t K>
inline constexpr bool is_row = (Rows >> K & 1U) != 0;

/// The operands and their gradients. Of operand k, `full[k]` or `total[k]` is where its gradient goes, or
/// nullptr.
template<class T, std::size_t K, std::size_t R>
struct fused_arrays {
  std::array<T const*, R> dz;
  std::array<T const*, K> x;
  std::array<T*, K> full;
  std::array<computed<T>*, K> total;
};

/// dz of result `Q`; 0 if it has none.
template<std::size_t Q, bool OneSlope, class V, class T, std::size_t K, std::size_t R>
[[gnu::always_inline]] inline V fused_slope(auto const& some, unsigned given, fused_arrays<T, K, R> const& a,
                                            extent from) {
  if constexpr (R > 1)
    if ((given >> Q & 1U) == 0) return V(0);
  if constexpr (OneSlope) return V(static_cast<computed<T>>(*a.dz[Q]));
  else return some.load(a.dz[Q] + from);
}

/// One block of rows, on the thread that calls it: four rows at a time, as `map_rows_and_sum`.
template<class F, std::size_t K, unsigned Rows, bool OneSlope, std::size_t R, class T>
void map_some_gradients(extent rows, extent begin, extent end, extent stride, F const& f, unsigned given,
                        fused_arrays<T, K, R> const& arrays) {
  using lanes = fused_lanes<computed<T>>;
  using batch = typename lanes::batch;
  // a copy, whose pointers stay in registers: g++ takes it that a store of a batch may change the original
  fused_arrays<T, K, R> const a = arrays;
  auto const each_operand       = [](auto const& g) __attribute__((always_inline)) {
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      (g(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<K>{});
  };
  for (extent r = 0; r < rows; r += 4) {
    extent const count = std::min<extent>(4, rows - r);
    for_each_fused<lanes>(end - begin, [&](auto some, extent lane) __attribute__((always_inline)) {
      extent const i = begin + lane;
      std::array<batch, K> x;
      each_operand([&](auto k) __attribute__((always_inline)) {
        if constexpr (is_row<Rows, k>) x[k] = some.load(a.x[k] + i);
      });
      auto const row = [&](extent q) __attribute__((always_inline)) {
        extent const to = (r + q) * stride + i;
        each_operand([&](auto k) __attribute__((always_inline)) {
          if constexpr (!is_row<Rows, k>) x[k] = some.load(a.x[k] + to);
        });
        std::array<batch, R> dz;
        [&]<std::size_t... Q>(std::index_sequence<Q...>) __attribute__((always_inline)) {
          ((dz[Q] = fused_slope<Q, OneSlope, batch>(some, given, a, to)), ...);
        }(std::make_index_sequence<R>{});
        auto const slopes = f(dz, given, x);
        each_operand([&](auto k) __attribute__((always_inline)) {
          if constexpr (!is_row<Rows, k>)
            if (a.full[k] != nullptr) some.store(slopes[k], a.full[k] + to);
        });
        return slopes;
      };
      auto sum = row(0);
      for (extent q = 1; q < count; ++q) {
        auto const next = row(q);
        each_operand([&](auto k) __attribute__((always_inline)) {
          if constexpr (is_row<Rows, k>) sum[k] = sum[k] + next[k];
        });
      }
      each_operand([&](auto k) __attribute__((always_inline)) {
        if constexpr (is_row<Rows, k>)
          if (a.total[k] != nullptr) some.store(some.load(a.total[k] + i) + sum[k], a.total[k] + i);
      });
    });
  }
}

/// The columns from `begin` to `end` of a row that starts at `row`, on the thread that calls it.
template<unsigned Rows, class F, std::size_t K, class T, std::size_t R>
void map_row_of_results(extent begin, extent end, extent row, F const& f, std::array<T const*, K> const& x,
                        std::array<T*, R> const& z) {
  using lanes = fused_lanes<computed<T>>;
  using batch = typename lanes::batch;
  for_each_fused<lanes>(end - begin, [&](auto some, extent lane) __attribute__((always_inline)) {
    extent const i      = begin + lane;
    auto const operands = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      return std::array<batch, K>{some.load(x[I] + (is_row<Rows, I> ? i : row + i))...};
    }(std::make_index_sequence<K>{});
    auto const values = f(operands);
    [&]<std::size_t... Q>(std::index_sequence<Q...>) __attribute__((always_inline)) {
      (some.store(values[Q], z[Q] + row + i), ...);
    }(std::make_index_sequence<R>{});
  });
}

}  // namespace detail

/// The gradients of all operands: rows of `n` elements, `stride` apart. `totals` are added to. Threads share
/// the columns.
template<std::size_t K, unsigned Rows, bool OneSlope, std::size_t R, class F, class T>
void map_gradients(extent rows, extent n, extent stride, F const& f, unsigned given,
                   detail::fused_arrays<T, K, R> const& a) {
  parallel_for(n, 64, ParallelFunction<F> ? rows * n : 0, [&](extent begin, extent end) {
    detail::map_some_gradients<F, K, Rows, OneSlope>(rows, begin, end, stride, f, given, a);
  });
}

/// z = f(x), several results in one pass: rows of `n` elements, `stride` apart. Threads share the columns.
template<std::size_t K, unsigned Rows, class F, class T, std::size_t R>
void map_results(extent rows, extent n, extent stride, F const& f, std::array<T const*, K> const& x,
                 std::array<T*, R> const& z) {
  parallel_for(n, 64, ParallelFunction<F> ? rows * n : 0, [&](extent begin, extent end) {
    for (extent r = 0; r < rows; ++r) detail::map_row_of_results<Rows>(begin, end, r * stride, f, x, z);
  });
}

}  // namespace kernel

namespace task {

template<class F, Element T, std::size_t K, std::size_t R, unsigned Rows>
template<class... A>
void map_results<F, T, K, R, Rows>::compute(bias_steps const& s, place_in_mesh const&, A*... arrays) const {
  static_assert(sizeof...(A) == K + R);
  std::tuple const all{arrays...};
  s.blocks.for_each([&](auto const& start) {
    auto const [to, row, unused] = start;
    [&]<std::size_t... I, std::size_t... Q>(std::index_sequence<I...>, std::index_sequence<Q...>) {
      kernel::map_results<K, Rows>(
          s.rows, s.elements, s.stride, f,
          std::array<T const*, K>{std::get<I>(all) + (kernel::detail::is_row<Rows, I> ? row : to)...},
          std::array<T*, R>{std::get<K + Q>(all) + to...});
    }(std::make_index_sequence<K>{}, std::make_index_sequence<R>{});
  });
}

template<class F, Element T, std::size_t K, std::size_t R, unsigned Rows, bool OneSlope>
template<class... A>
void map_gradients<F, T, K, R, Rows, OneSlope>::compute(bias_steps const& s, place_in_mesh const&,
                                                        A*... arrays) const {
  static_assert(sizeof...(A) == R + 2 * K);
  std::tuple const all{arrays...};
  auto const for_each = []<std::size_t N>(std::integral_constant<std::size_t, N>, auto const& visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<N>{});
  };
  constexpr std::integral_constant<std::size_t, K> operands{};
  for_each(operands, [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
    if constexpr (kernel::detail::is_row<Rows, J>)
      if (auto* const total = std::get<R + K + J>(all); total != nullptr)
        std::fill_n(total, s.allocated, computed<T>{});
  });
  s.blocks.for_each([&](auto const& start) {
    auto const [to, row, unused] = start;
    kernel::detail::fused_arrays<T, K, R> a{};
    for_each(std::integral_constant<std::size_t, R>{},
             [&]<std::size_t Q>(std::integral_constant<std::size_t, Q>) {
               if ((given >> Q & 1U) != 0) a.dz[Q] = std::get<Q>(all) + (OneSlope ? 0 : to);
             });
    for_each(operands, [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      constexpr bool summed = kernel::detail::is_row<Rows, J>;
      a.x[J]                = std::get<R + J>(all) + (summed ? row : to);
      auto* const gradient  = std::get<R + K + J>(all);
      if (gradient == nullptr) return;
      if constexpr (summed) a.total[J] = gradient + row;
      else a.full[J] = gradient + to;
    });
    kernel::map_gradients<K, Rows, OneSlope>(s.rows, s.elements, s.stride, f, given, a);
  });
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
