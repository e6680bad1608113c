// Layer norm and RMS norm of rows, and their gradients: each row is read from memory once and stays in the
// cache for its sweeps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include <meshtf/kernel/norm_rows.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// f(centred, lanes, step, row, offset) for rows begin ... end - 1 of a block: `row` and `offset` are where
/// their number and their elements are. `f` is compiled for rows in batches and for rows with strided
/// elements.
template<class T, class Arch, class F>
void for_each_row(norm_steps const& s, extent begin, extent end, F const& f) {
  line_steps const& lines = s.lines;
  extent const inner      = lines.inner;
  extent const step       = lines.step;
  using C                 = computed<T>;
  auto const all          = [&](auto centred) {
    for (extent r = begin; r < end; ++r)
      if (step == 1)
        f(centred, kernel::lanes<C, Arch>{}, std::integral_constant<extent, 1>{}, r * lines.line_stride,
                   r * lines.outer_stride);
      else
        f(centred, kernel::lanes<C, no_simd>{}, step, r / inner * lines.line_stride + r % inner,
                   r / inner * lines.outer_stride + r % inner);
  };
  if (s.centred) all(std::true_type{});
  else all(std::false_type{});
}

template<class T>
T reciprocal_deviation(double variance, double epsilon) {
  return static_cast<T>(1 / std::sqrt(std::max(variance, 0.0) + epsilon));
}

/// `p` moved by `offset`; null stays null.
template<class P>
P* at(P* p, extent offset) {
  return p == nullptr ? p : p + offset;
}

/// `for_each_row` for all rows of a block; threads share them.
template<class T, class Arch, class F>
void for_all_rows(norm_steps const& s, F const& f) {
  extent const rows = s.block_rows();
  parallel_for(rows, 1, rows * s.lines.along,
               [&](extent begin, extent end) { for_each_row<T, Arch>(s, begin, end, f); });
}

/// f(centred, lanes, step, row, offset, dscale, dbias) for all rows of a block, where `f` adds the row to the
/// gradients of scale and bias, unless they are null. Threads can't share rows and these sums at once: they
/// share the rows first, and then the columns, whose sums run over the rows in their order. So the sums are
/// those of one thread, which does both at once. `rows_matter`: `f` does something else, too.
template<class T, class Arch, class F>
void for_all_rows_and_sums(norm_steps const& s, bool rows_matter, norm_gradient_arrays<T> const& a,
                           F const& f) {
  extent const rows       = s.block_rows();
  extent const n          = s.lines.along;
  computed<T>* const none = nullptr;
  if (thread_count() == 1 || parts_of(rows, 1, rows * n) == 1)
    return for_each_row<T, Arch>(s, 0, rows,
                                 [&](auto centred, auto lanes, auto step, extent row, extent offset) {
                                   f(centred, lanes, step, row, offset, a.dscale, a.dbias);
                                 });
  if (rows_matter)
    for_all_rows<T, Arch>(s, [&](auto centred, auto lanes, auto step, extent row, extent offset) {
      f(centred, lanes, step, row, offset, none, none);
    });
  if (a.dscale == nullptr && a.dbias == nullptr) return;
  parallel_for(n, 64, rows * n, [&](extent begin, extent end) {
    for_each_row<T, Arch>(s, 0, rows, [&](auto centred, auto lanes, auto step, extent row, extent offset) {
      extent const from = offset + begin * step;
      add_row_to_sums<centred, decltype(lanes)>(end - begin, step, a.x + from, a.dz + from,
                                                centred ? a.mean[row] : computed<T>{}, a.rstd[row],
                                                at(a.dscale, begin), at(a.dbias, begin));
    });
  });
}

}  // namespace detail

/// Whole rows: statistics and result. It processes as many rows at a time as fit in the first-level cache, so
/// that no row waits for the root of the one before.
template<class Arch = default_arch, class T>
void normalise(norm_steps const& s, double epsilon, norm_arrays<T> const& a) {
  using C                   = computed<T>;
  extent const n            = s.lines.along;
  double const part         = 1 / static_cast<double>(n);
  T const* const x          = a.added != nullptr ? a.sum : a.x;
  extent const rows_at_once = std::clamp<extent>(2048 / n, 1, 16);
  parallel_for(s.block_rows(), rows_at_once, s.block_rows() * n, [&](extent first, extent last) {
    std::array<detail::spread, 16> found;
    for (extent begin = first; begin < last; begin += rows_at_once) {
      extent const end = std::min(begin + rows_at_once, last);
      auto* statistics = found.data();
      detail::for_each_row<T, Arch>(
          s, begin, end, [&](auto centred, auto lanes, auto step, extent, extent offset) {
            *statistics++ = detail::spread_of_row<centred, decltype(lanes)>(
                n, step, a.x + offset, detail::at(a.added, offset), detail::at(a.sum, offset));
          });
      statistics = found.data();
      detail::for_each_row<T, Arch>(s, begin, end,
                                    [&](auto centred, auto lanes, auto step, extent row, extent offset) {
                                      auto const& sums = *statistics++;
                                      C const mean     = static_cast<C>(sums.pivot + sums.first * part);
                                      C const rstd     = detail::reciprocal_deviation<C>(
                                          (sums.second - sums.first * sums.first * part) * part, epsilon);
                                      detail::normalise_row<centred, decltype(lanes)>(
                                          n, step, x + offset, mean, rstd, a.scale, a.bias, a.z + offset);
                                      if constexpr (centred) a.mean[row] = mean;
                                      a.rstd[row] = rstd;
                                    });
    }
  });
}

/// Parts of rows: the sum of each if they are centred, and the sum of squares. In double: in the elements'
/// own precision, a sum of squares about 0 would lose the variance of float rows with a large mean.
template<class Arch = default_arch, class T>
void row_moments(norm_steps const& s, norm_arrays<T> const& a, double* moments) {
  detail::for_all_rows<T, Arch>(s, [&](auto centred, auto lanes, auto step, extent row, extent offset) {
    extent const n = s.lines.along;
    if (n == 0) {  // the row is elsewhere
      if constexpr (centred) moments[row] = 0;
      moments[row + (centred ? s.lines.allocated_lines : 0)] = 0;
      return;
    }
    auto const found = detail::spread_of_row<centred, decltype(lanes)>(
        n, step, a.x + offset, detail::at(a.added, offset), detail::at(a.sum, offset));
    double const all = static_cast<double>(n) * found.pivot;
    if constexpr (centred) moments[row] = all + found.first;
    moments[row + (centred ? s.lines.allocated_lines : 0)] =
        found.second + found.pivot * (2 * found.first + all);
  });
}

/// The result for parts of rows, once `moments` holds the sums over all parts.
template<class Arch = default_arch, class T>
void normalise_by(norm_steps const& s, double epsilon, double const* moments, norm_arrays<T> const& a) {
  using C          = computed<T>;
  auto const size  = static_cast<double>(s.lines.global);
  T const* const x = a.added != nullptr ? a.sum : a.x;
  detail::for_all_rows<T, Arch>(s, [&](auto centred, auto lanes, auto step, extent row, extent offset) {
    double const mean    = centred ? moments[row] / size : 0;
    double const squares = moments[row + (centred ? s.lines.allocated_lines : 0)] / size;
    C const rstd         = detail::reciprocal_deviation<C>(squares - mean * mean, epsilon);
    detail::normalise_row<centred, decltype(lanes)>(s.lines.along, step, x + offset, static_cast<C>(mean),
                                                    rstd, a.scale, a.bias, a.z + offset);
    if constexpr (centred) a.mean[row] = static_cast<C>(mean);
    a.rstd[row] = rstd;
  });
}

/// Parts of rows: the sums of each that the gradient of x needs (the first only if they are centred). The
/// gradients of scale and bias are added to what `dscale` and `dbias` hold.
template<class Arch = default_arch, class T>
void norm_gradient_sums(norm_steps const& s, norm_wishes const& wants, norm_gradient_arrays<T> const& a,
                        computed<T>* sums) {
  detail::for_all_rows_and_sums<T, Arch>(
      s, wants.x, a,
      [&](auto centred, auto lanes, auto step, extent row, extent offset, computed<T>* dscale,
          computed<T>* dbias) {
        computed<T> const mean = centred ? a.mean[row] : computed<T>{};
        auto const found       = detail::sums_of_row<centred, decltype(lanes)>(
            s.lines.along, step, a.x + offset, a.dz + offset, mean, a.rstd[row], a.scale, dscale, dbias);
        if (!wants.x) return;
        if constexpr (centred) sums[row] = found.of_g;
        sums[row + (centred ? s.lines.allocated_lines : 0)] = found.of_product;
      });
}

/// The gradient of x for parts of rows, once `sums` holds the sums over all parts.
template<class Arch = default_arch, class T>
void norm_gradient_by(norm_steps const& s, computed<T> const* sums, norm_gradient_arrays<T> const& a) {
  using C      = computed<T>;
  C const part = C(1) / static_cast<C>(s.lines.global);
  detail::for_all_rows<T, Arch>(s, [&](auto centred, auto lanes, auto step, extent row, extent offset) {
    C const mean = centred ? a.mean[row] : C{};
    detail::gradient_sums<C> const means{centred ? sums[row] * part : C{},
                                         sums[row + (centred ? s.lines.allocated_lines : 0)] * part};
    detail::gradient_of_row<centred, decltype(lanes)>(s.lines.along, step, a.x + offset, a.dz + offset, mean,
                                                      a.rstd[row], a.scale, means,
                                                      detail::at(a.before, offset), a.dx + offset);
  });
}

/// Whole rows: both steps while a row is in the cache. The gradients of scale and bias are added to what
/// `dscale` and `dbias` hold.
template<class Arch = default_arch, class T>
void norm_gradient(norm_steps const& s, norm_wishes const& wants, norm_gradient_arrays<T> const& a) {
  using C      = computed<T>;
  C const part = C(1) / static_cast<C>(s.lines.along);
  detail::for_all_rows_and_sums<T, Arch>(
      s, wants.x, a,
      [&](auto centred, auto lanes, auto step, extent row, extent offset, C* dscale, C* dbias) {
        using lane       = decltype(lanes);
        C const mean     = centred ? a.mean[row] : C{};
        C const rstd     = a.rstd[row];
        auto const found = detail::sums_of_row<centred, lane>(
            s.lines.along, step, a.x + offset, a.dz + offset, mean, rstd, a.scale, dscale, dbias);
        if (wants.x)
          detail::gradient_of_row<centred, lane>(
              s.lines.along, step, a.x + offset, a.dz + offset, mean, rstd, a.scale,
              detail::gradient_sums<C>{found.of_g * part, found.of_product * part},
              detail::at(a.before, offset), a.dx + offset);
      });
}

namespace detail {

/// The arrays of the block that begins at `at`.
template<class T>
norm_arrays<T> moved(norm_arrays<T> a, std::array<extent, 3> const& offset) {
  a.x += offset[0];
  a.z += offset[0];
  a.rstd += offset[1];
  a.added = detail::at(a.added, offset[0]);
  a.sum   = detail::at(a.sum, offset[0]);
  a.mean  = detail::at(a.mean, offset[1]);
  return a;
}
template<class T>
norm_gradient_arrays<T> moved(norm_gradient_arrays<T> a, std::array<extent, 3> const& offset) {
  a.x += offset[0];
  a.dz += offset[0];
  a.rstd += offset[1];
  a.mean   = detail::at(a.mean, offset[1]);
  a.before = detail::at(a.before, offset[0]);
  a.dx     = detail::at(a.dx, offset[0]);
  return a;
}

/// The gradients of scale and bias before anything is added to them.
template<class T>
void begin_sums(line_steps const& s, norm_wishes const& wants, norm_gradient_arrays<T> const& a) {
  if (wants.scale) std::fill_n(a.dscale, s.along, computed<T>{});
  if (wants.bias) std::fill_n(a.dbias, s.along, computed<T>{});
}

}  // namespace detail
}  // namespace kernel

namespace task {

template<class T>
void normalise<T>::compute(line_steps const& s, place_in_mesh const&, norm_arrays<T> const& arrays) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::normalise({s, this->centred}, this->epsilon, kernel::detail::moved(arrays, start));
  });
}
template<class T>
void row_moments<T>::compute(line_steps const& s, place_in_mesh const&, norm_arrays<T> const& arrays,
                             double* moments) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::row_moments({s, this->centred}, kernel::detail::moved(arrays, start), moments + start[1]);
  });
}
template<class T>
void normalise_by<T>::compute(line_steps const& s, place_in_mesh const&, norm_arrays<T> const& arrays,
                              double const* moments) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::normalise_by({s, this->centred}, this->epsilon, moments + start[1],
                         kernel::detail::moved(arrays, start));
  });
}
template<class T>
void norm_gradient<T>::compute(line_steps const& s, place_in_mesh const&,
                               norm_gradient_arrays<T> const& arrays) const {
  kernel::detail::begin_sums(s, this->wants, arrays);
  s.blocks.for_each([&](auto const& start) {
    kernel::norm_gradient({s, this->centred}, this->wants, kernel::detail::moved(arrays, start));
  });
}
template<class T>
void norm_gradient_sums<T>::compute(line_steps const& s, place_in_mesh const&,
                                    norm_gradient_arrays<T> const& arrays, computed<T>* sums) const {
  kernel::detail::begin_sums(s, this->wants, arrays);
  s.blocks.for_each([&](auto const& start) {
    kernel::norm_gradient_sums({s, this->centred}, this->wants, kernel::detail::moved(arrays, start),
                               sums + start[1]);
  });
}
template<class T>
void norm_gradient_by<T>::compute(line_steps const& s, place_in_mesh const&,
                                  norm_gradient_arrays<T> const& arrays, computed<T> const* sums) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::norm_gradient_by({s, this->centred}, sums + start[1], kernel::detail::moved(arrays, start));
  });
}

#define MESHTF_NORMS(T)                  \
  template struct normalise<T>;          \
  template struct row_moments<T>;        \
  template struct normalise_by<T>;       \
  template struct norm_gradient<T>;      \
  template struct norm_gradient_sums<T>; \
  template struct norm_gradient_by<T>;
MESHTF_COMPILE_FLOATING(MESHTF_NORMS)
#undef MESHTF_NORMS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
