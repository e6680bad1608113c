// The gradients of a fused function: all operands' in one pass, and the sums over rows of those that are
// rows.
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
template<class T, std::size_t K>
struct fused_arrays {
  T const* dz;
  std::array<T const*, K> x;
  std::array<T*, K> full;
  std::array<computed<T>*, K> total;
};

/// One block of rows, on the thread that calls it: four rows at a time, as `map_rows_and_sum`.
template<class F, std::size_t K, unsigned Rows, bool OneSlope, class T>
void map_some_gradients(extent rows, extent begin, extent end, extent stride, F const& f,
                        fused_arrays<T, K> const& a) {
  using lanes             = fused_lanes<computed<T>>;
  using batch             = typename lanes::batch;
  auto const each_operand = [](auto const& g) __attribute__((always_inline)) {
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
        batch dz;
        if constexpr (OneSlope) dz = batch(static_cast<computed<T>>(*a.dz));
        else dz = some.load(a.dz + to);
        auto const slopes = f(dz, x);
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

}  // namespace detail

/// The gradients of all operands: rows of `n` elements, `stride` apart. `totals` are added to. Threads share
/// the columns.
template<std::size_t K, unsigned Rows, bool OneSlope, class F, class T>
void map_gradients(extent rows, extent n, extent stride, F const& f, detail::fused_arrays<T, K> const& a) {
  parallel_for(n, 64, ParallelFunction<F> ? rows * n : 0, [&](extent begin, extent end) {
    detail::map_some_gradients<F, K, Rows, OneSlope>(rows, begin, end, stride, f, a);
  });
}

}  // namespace kernel

namespace task {

template<class F, Element T, std::size_t K, unsigned Rows, bool OneSlope>
template<class... A>
void map_gradients<F, T, K, Rows, OneSlope>::compute(bias_steps const& s, place_in_mesh const&, T const* dz,
                                                     A*... arrays) const {
  static_assert(sizeof...(A) == 2 * K);
  std::tuple const all{arrays...};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const clear = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      if constexpr (kernel::detail::is_row<Rows, J>)
        if (auto* const total = std::get<K + J>(all); total != nullptr)
          std::fill_n(total, s.allocated, computed<T>{});
    };
    (clear(std::integral_constant<std::size_t, I>{}), ...);
    s.blocks.for_each([&](auto const& start) {
      auto const [to, row, unused] = start;
      kernel::detail::fused_arrays<T, K> a{OneSlope ? dz : dz + to, {}, {}, {}};
      auto const begin = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
        constexpr bool summed = kernel::detail::is_row<Rows, J>;
        a.x[J]                = std::get<J>(all) + (summed ? row : to);
        auto* const gradient  = std::get<K + J>(all);
        if (gradient == nullptr) return;
        if constexpr (summed) a.total[J] = gradient + row;
        else a.full[J] = gradient + to;
      };
      (begin(std::integral_constant<std::size_t, I>{}), ...);
      kernel::map_gradients<K, Rows, OneSlope>(s.rows, s.elements, s.stride, f, a);
    });
  }(std::make_index_sequence<K>{});
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
