// Rows that share a bias: a function of each element, and its sum over the rows in the same pass.
#pragma once

#include <algorithm>

#include <meshtf/core/function.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/bias_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// `map_rows_and_sum` on the thread that calls it.
template<class Arch, class F, class T>
void map_some_and_sum(extent rows, extent n, extent stride, F const& f, T const* dz, T const* x, T const* b,
                      T* z, computed<T>* total) {
  using lanes = kernel::lanes<computed<T>, Arch>;
  for (extent r = 0; r < rows; r += 4) {
    extent const count    = std::min<extent>(4, rows - r);
    T const* const from_z = dz + r * stride;
    T const* const from_x = x + r * stride;
    T* const to           = z + r * stride;
    for_each_batch<lanes>(n, [&](auto some, extent i) __attribute__((always_inline)) {
      auto const bias = some.load(b + i);
      auto const row  = [&](extent k) __attribute__((always_inline)) {
        auto const y = f(some.load(from_z + k * stride + i), some.load(from_x + k * stride + i), bias);
        some.store(y, to + k * stride + i);
        return y;
      };
      auto sum = row(0);
      for (extent k = 1; k < count; ++k) sum = sum + row(k);
      some.store(some.load(total + i) + sum, total + i);
    });
  }
}

}  // namespace detail

/// z[r][i] = f(dz[r][i], x[r][i], b[i]), and the sum over r of z[r][i] is added to total[i]. `f` also takes
/// batches. Rows are `stride` apart.
///
/// Four rows are summed at a time: `total` is read and written once for each four rows, and its rounding
/// error grows with a quarter of the number of rows. Threads share the columns, if the functor may be called
/// by several.
template<class Arch = default_arch, class F, class T>
void map_rows_and_sum(extent rows, extent n, extent stride, F const& f, T const* dz, T const* x, T const* b,
                      T* z, computed<T>* total) {
  parallel_for(n, 64, ParallelFunction<F> ? rows * n : 0, [&](extent begin, extent end) {
    detail::map_some_and_sum<Arch>(rows, end - begin, stride, f, dz + begin, x + begin, b + begin, z + begin,
                                   total + begin);
  });
}

}  // namespace kernel

namespace task {

template<class F, Element T>
void map_rows_and_sum<F, T>::compute(bias_steps const& s, place_in_mesh const&, T const* dz, T const* x,
                                     T const* b, T* z, computed<T>* total) const {
  std::fill_n(total, s.allocated, computed<T>{});
  s.blocks.for_each([&](auto const& start) {
    auto const [to, row, unused] = start;
    kernel::map_rows_and_sum(s.rows, s.elements, s.stride, f, dz + to, x + to, b + row, z + to, total + row);
  });
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
