// One row of a layer norm or an RMS norm, and of its gradient.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

template<std::size_t K>
using chain = std::integral_constant<std::size_t, K>;

/// f(lanes, i, chain) for all i < n: batches on four chains in turn, since each addition of a chain waits
/// for the one before, then the remaining elements.
template<class Lanes, class T, class F>
[[gnu::always_inline]] inline void sweep(extent n, F const& f) {
  constexpr extent width = Lanes::width;
  extent i               = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    f(Lanes{}, i, chain<0>{});
    f(Lanes{}, i + width, chain<1>{});
    f(Lanes{}, i + 2 * width, chain<2>{});
    f(Lanes{}, i + 3 * width, chain<3>{});
  }
  for (; i + width <= n; i += width) f(Lanes{}, i, chain<0>{});
  if constexpr (width > 1)
    if (i < n) f(leading_lanes<Lanes>{n - i}, i, chain<0>{});
}

/// A sum that `sweep` accumulates.
template<class Lanes, class T>
class row_sum {
public:
  template<class Some, std::size_t K>
  [[gnu::always_inline]] void add(Some some, typename Lanes::batch const& x, chain<K>) {
    if constexpr (requires { some.count; }) part_[K] = part_[K] + first_or<Lanes>(x, some.count, T{});
    else part_[K] = part_[K] + x;
  }
  [[gnu::always_inline]] T total() const { return Lanes::sum((part_[0] + part_[1]) + (part_[2] + part_[3])); }

private:
  using batch = typename Lanes::batch;
  std::array<batch, 4> part_{batch(T{}), batch(T{}), batch(T{}), batch(T{})};
};

/// Sums of the elements of a row and of their squares, after `pivot` is subtracted from each.
struct spread {
  double pivot  = 0;
  double first  = 0;
  double second = 0;
};

/// One row: `n` elements, `step` apart. Where that is not 1, `Lanes` has one.
///
/// The mean is taken first and the squares are summed about it, so that no digits cancel where the mean is
/// large; the sum about it corrects what rounding left of the mean. Source: Chan, Golub, LeVeque, Algorithms
/// for Computing the Sample Variance (1983), "corrected two-pass".
template<bool Centred, class Lanes, class T, class Step>
spread spread_of_row(extent n, Step step, T const* x, T const* added, T* sum) {
  using C = computed<T>;
  if constexpr (Centred && Lanes::width > 1)
    if (n <= Lanes::width) {  // a batch holds the row
      auto v = load_first<Lanes>(x, n);
      if (added != nullptr) {
        v = v + load_first<Lanes>(added, n);
        store_first<Lanes>(v, sum, n);
        // what is normalised is rounded
        if constexpr (NarrowElement<T>) v = load_first<Lanes>(static_cast<T const*>(sum), n);
      }
      C const pivot = Lanes::sum(first_or<Lanes>(v, n, C{})) / static_cast<C>(n);
      auto const d  = first_or<Lanes>(v - typename Lanes::batch(pivot), n, C{});
      return {static_cast<double>(pivot), static_cast<double>(Lanes::sum(d)),
              static_cast<double>(Lanes::sum(d * d))};
    }
  row_sum<Lanes, C> total;
  row_sum<Lanes, C> first;
  row_sum<Lanes, C> second;
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto k) __attribute__((always_inline)) {
    auto v = lanes.load(x + i * step);
    if (added != nullptr) {
      v = v + lanes.load(added + i * step);
      lanes.store(v, sum + i * step);
      if constexpr (NarrowElement<T> && !Centred) v = lanes.load(static_cast<T const*>(sum) + i * step);
    }
    if constexpr (Centred) total.add(lanes, v, k);
    else second.add(lanes, v * v, k);
  });
  if constexpr (!Centred) return {0, 0, static_cast<double>(second.total())};
  T const* const from = added != nullptr ? sum : x;
  C const pivot       = total.total() / static_cast<C>(n);
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto k) __attribute__((always_inline)) {
    auto const d = lanes.load(from + i * step) - typename Lanes::batch(pivot);
    first.add(lanes, d, k);
    second.add(lanes, d * d, k);
  });
  return {static_cast<double>(pivot), static_cast<double>(first.total()),
          static_cast<double>(second.total())};
}

template<bool Centred, class Lanes, class T, class Step>
void normalise_row(extent n, Step step, T const* x, computed<T> mean, computed<T> rstd,
                   computed<T> const* scale, computed<T> const* bias, T* z) {
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto) __attribute__((always_inline)) {
    using wide = typename Lanes::batch;
    auto v     = lanes.load(x + i * step);
    if constexpr (Centred)
      lanes.store((v - wide(mean)) * wide(rstd) * lanes.load(scale + i) + lanes.load(bias + i), z + i * step);
    else lanes.store(v * wide(rstd) * lanes.load(scale + i), z + i * step);
  });
}

/// The sums along a row that the gradient of x needs: of g = dz * scale, and of g times the normalised x.
template<class T>
struct gradient_sums {
  T of_g{};
  T of_product{};
};

/// Adds elements of a row to the gradients of scale and bias, where these are not null. Every pass that does
/// so has the same bits.
template<class Some, class T, class V>
[[gnu::always_inline]] inline void add_to_sums(Some lanes, extent i, V const& d, V const& y, T* dscale,
                                               T* dbias) {
  if (dscale != nullptr) lanes.store(times_plus(d, y, lanes.load(dscale + i)), dscale + i);
  if (dbias != nullptr) lanes.store(lanes.load(dbias + i) + d, dbias + i);
}

/// In the same pass it adds the row to the gradients of scale and bias, where they are not null.
template<bool Centred, class Lanes, class T, class Step>
gradient_sums<computed<T>> sums_of_row(extent n, Step step, T const* x, T const* dz, computed<T> mean,
                                       computed<T> rstd, computed<T> const* scale, computed<T>* dscale,
                                       computed<T>* dbias) {
  row_sum<Lanes, computed<T>> of_g;
  row_sum<Lanes, computed<T>> of_product;
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto k) __attribute__((always_inline)) {
    using wide = typename Lanes::batch;
    auto y     = lanes.load(x + i * step);
    if constexpr (Centred) y = y - wide(mean);
    y            = y * wide(rstd);
    auto const d = lanes.load(dz + i * step);
    auto const g = d * lanes.load(scale + i);
    if constexpr (Centred) of_g.add(lanes, g, k);
    of_product.add(lanes, g * y, k);
    add_to_sums(lanes, i, d, y, dscale, dbias);
  });
  return {of_g.total(), of_product.total()};
}

/// Adds a row to the gradients of scale and bias.
template<bool Centred, class Lanes, class T, class Step>
void add_row_to_sums(extent n, Step step, T const* x, T const* dz, computed<T> mean, computed<T> rstd,
                     computed<T>* dscale, computed<T>* dbias) {
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto) __attribute__((always_inline)) {
    using wide = typename Lanes::batch;
    auto y     = lanes.load(x + i * step);
    if constexpr (Centred) y = y - wide(mean);
    y = y * wide(rstd);
    add_to_sums(lanes, i, lanes.load(dz + i * step), y, dscale, dbias);
  });
}

/// dx = before + rstd * (g - mean of g - y * mean of g * y), where y is the normalised x and `means` holds
/// the two means.
template<bool Centred, class Lanes, class T, class Step>
void gradient_of_row(extent n, Step step, T const* x, T const* dz, computed<T> mean, computed<T> rstd,
                     computed<T> const* scale, gradient_sums<computed<T>> means, T const* before, T* dx) {
  sweep<Lanes, T>(n, [&](auto lanes, extent i, auto) __attribute__((always_inline)) {
    using wide = typename Lanes::batch;
    auto y     = lanes.load(x + i * step);
    if constexpr (Centred) y = y - wide(mean);
    y      = y * wide(rstd);
    auto d = lanes.load(dz + i * step) * lanes.load(scale + i) - y * wide(means.of_product);
    if constexpr (Centred) d = d - wide(means.of_g);
    d = d * wide(rstd);
    if (before != nullptr) d = d + lanes.load(before + i * step);
    lanes.store(d, dx + i * step);
  });
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
