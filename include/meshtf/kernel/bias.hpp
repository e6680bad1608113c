// Rows that share a bias: a function of each element, and its sum over the rows in the same pass.
#pragma once

#include <algorithm>

#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/bias_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// z[r][i] = f(dz[r][i], x[r][i], b[i]) and total[i] = the sum over r of z[r][i]. `f` also takes batches.
///
/// Four rows are summed at a time: `total` is read and written once for each four rows, and its rounding
/// error grows with a quarter of the number of rows.
template<class Arch = default_arch, class F, class T>
void map_rows_and_sum(extent rows, extent n, F const& f, T const* dz, T const* x, T const* b, T* z, T* total) {
  using lanes = kernel::lanes<T, Arch>;
  std::fill_n(total, n, T{});
  for (extent r = 0; r < rows; r += 4) {
    extent const count    = std::min<extent>(4, rows - r);
    T const *const from_z = dz + r * n, *const from_x = x + r * n;
    T* const to = z + r * n;
    detail::for_each_batch<lanes>(n, [&](auto some, extent i) __attribute__((always_inline)) {
      auto const bias = some.load(b + i);
      auto const row  = [&](extent k) __attribute__((always_inline)) {
        auto const y = f(some.load(from_z + k * n + i), some.load(from_x + k * n + i), bias);
        some.store(y, to + k * n + i);
        return y;
      };
      auto sum = row(0);
      for (extent k = 1; k < count; ++k) sum = sum + row(k);
      some.store(some.load(total + i) + sum, total + i);
    });
  }
}

}  // namespace kernel

namespace task {

template<class F, Element T>
void compute(map_rows_and_sum<F, T> const& task, bias_steps const& s, place_in_mesh const&, T const* dz, T const* x, T const* b, T* z, T* total) {
  kernel::map_rows_and_sum(s.rows, s.elements, task.f, dz, x, b, z, total);
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
