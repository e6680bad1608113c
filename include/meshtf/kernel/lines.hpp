// Lines along a dimension: one element of each by index, and the index of the largest.
//
// Arrays have the shape [outer][along][inner]. An index counts from `first`: a process that holds elements first ... first + along - 1 of a split
// dimension works on those, and contributes 0 for the others.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <meshtf/kernel/gather.hpp>
#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/plan/cumsum_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// z[o][i] = x[o][index[o][i] - first][i], or 0 where that is out of range. With `all_here`, every index is in range.
template<Element T>
void pick(extent outer, extent along, extent inner, extent first, T const* x, std::int32_t const* index, T* z, bool all_here = false) {
  if (inner == 1 && all_here) {
    for (extent o = 0; o < outer; ++o) z[o] = x[o * along + index[o] - first];
    return;
  }
  for (extent o = 0; o < outer; ++o, x += along * inner)
    for (extent i = 0; i < inner; ++i) {
      extent const at = *index++ - first;
      *z++            = at >= 0 && at < along ? x[at * inner + i] : T{};
    }
}

/// dx[o][index[o][i] - first][i] += scale * dz[o][i] where that is in range.
template<Element T>
void pick_gradient(extent outer, extent along, extent inner, extent first, T scale, T const* dz, std::int32_t const* index, T* dx) {
  if (inner == 1) {
    for (extent o = 0; o < outer; ++o, dx += along)
      if (extent const at = index[o] - first; at >= 0 && at < along) dx[at] += scale * dz[o];
    return;
  }
  for (extent o = 0; o < outer; ++o, dx += along * inner)
    for (extent i = 0; i < inner; ++i, ++dz) {
      extent const at = *index++ - first;
      if (at >= 0 && at < along) dx[at * inner + i] += scale * *dz;
    }
}

namespace detail {

/// The first lane in which `hits` is true; at least the number of lanes if there is none.
inline int first_hit(bool hits) { return hits ? 0 : 1; }
template<class Hits>
int first_hit(Hits const& hits) {
  if constexpr (requires { hits.mask(); }) return std::countr_zero(hits.mask());  // since xsimd 9
  else if constexpr (requires { std::uint64_t{hits.data}; }) return std::countr_zero(std::uint64_t{hits.data});  // one bit for each lane
  else {
    std::array<bool, Hits::size> lane;
    hits.store_unaligned(lane.data());
    return static_cast<int>(std::find(lane.begin(), lane.end(), true) - lane.begin());
  }
}

/// The index of the first of `n` elements for which `is` holds; n or more if there is none.
template<class Lanes, class T, class F>
extent first_of_row(extent n, T const* x, F const& is) {
  extent i = 0;
  for (; i + Lanes::width < n; i += Lanes::width)
    if (int const lane = first_hit(is(Lanes::load(x + i))); lane < Lanes::width) return i + lane;
  return i + first_hit(is(load_first<Lanes>(x + i, n - i)));  // the remaining lanes repeat the first one
}

/// Every lane gets the largest lane's value. No lane may be NaN.
template<class Lanes, class T>
typename Lanes::batch largest_lane(typename Lanes::batch x) {
  using std::max;
  unrolled<std::bit_width(static_cast<unsigned>(Lanes::width)) - 1>(
      [&](auto) __attribute__((always_inline)) { x = max(interleaved<false, Lanes, T>(x, x), interleaved<true, Lanes, T>(x, x)); });
  return x;
}

}  // namespace detail

/// The largest element along the dimension and the first index that has it, counted from 0. NaN counts as larger than any number.
template<Element T, class Arch = default_arch>
void argmax(extent outer, extent along, extent inner, T const* x, T* best, std::int32_t* where) {
  if (inner == 1) {
    using lanes = kernel::lanes<T, Arch>;
    for (extent o = 0; o < outer; ++o, x += along) {
      using std::max;
      auto most    = detail::load_first<lanes>(x, std::min<extent>(along, lanes::width));
      auto unknown = !(most == most);  // not most != most, which older xsimd finds false for NaN
      for (extent a = lanes::width; a < along; a += lanes::width) {
        auto const v = a + lanes::width <= along ? lanes::load(x + a) : detail::load_first<lanes>(x + a, along - a);
        most         = max(most, v);
        unknown      = unknown | !(v == v);
      }
      extent at;
      if (detail::first_hit(unknown) < lanes::width) {
        at = detail::first_of_row<lanes>(along, x, [](auto const& v) { return !(v == v); });
      } else {
        most = detail::largest_lane<lanes, T>(most);
        at   = detail::first_of_row<lanes>(along, x, [&](auto const& v) { return v == most; });
      }
      best[o] = x[at], where[o] = static_cast<std::int32_t>(at);
    }
    return;
  }
  for (extent o = 0; o < outer; ++o, best += inner, where += inner) {
    for (extent i = 0; i < inner; ++i) best[i] = x[i], where[i] = 0;
    x += inner;
    for (extent a = 1; a < along; ++a, x += inner)
      for (extent i = 0; i < inner; ++i)
        if (best[i] == best[i] && !(x[i] <= best[i])) best[i] = x[i], where[i] = static_cast<std::int32_t>(a);
  }
}

/// Running sums along the dimension, from its first element or, in `reverse`, from its last. Some neighbouring lines go together, so that memory is
/// read in its order.
template<Element T>
void running_sums(extent outer, extent along, extent inner, bool reverse, T const* x, T* z) {
  constexpr extent together = 16;
  extent const first = reverse ? (along - 1) * inner : 0, step = reverse ? -inner : inner;
  for (extent o = 0; o < outer; ++o, x += along * inner, z += along * inner)
    for (extent begin = 0; begin < inner; begin += together) {
      extent const lines = std::min(together, inner - begin);
      std::array<typename element_traits<T>::sums_in, together> sum{};
      for (extent a = 0, at = first + begin; a < along; ++a, at += step)
        for (extent i = 0; i < lines; ++i) {
          auto& total = sum[static_cast<std::size_t>(i)];
          total += x[at + i];
          z[at + i] = static_cast<T>(total);
        }
    }
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(cumsum<T> const& task, cumsum_steps const& s, place_in_mesh const&, T const* x, T* z) {
  kernel::running_sums(s.lines.outer, s.lines.along, s.lines.inner, task.reverse, x, z);
}

template<Element T>
void compute(pick<T> const&, line_steps const& s, place_in_mesh const& here, T const* x, std::int32_t const* index, T* z) {
  kernel::expect_inside(s.rows(), index, s.whole, {"target", "a class", "labels"});
  kernel::pick(s.outer, s.along, s.inner, s.first(here), x, index, z, s.along == s.whole);
}
template<Element T>
void compute(pick_gradient<T> const& task, line_steps const& s, place_in_mesh const& here, T const* dz, std::int32_t const* index, T* dx) {
  kernel::pick_gradient(s.outer, s.along, s.inner, s.first(here), task.scale, dz, index, dx);
}
template<Element T>
void compute(argmax<T> const&, line_steps const& s, place_in_mesh const& here, T const* x, T* best, std::int32_t* where) {
  kernel::argmax(s.outer, s.along, s.inner, x, best, where);
  auto const first = static_cast<std::int32_t>(s.first(here));
  if (first != 0)
    for (extent i = 0; i < s.rows(); ++i) where[i] += first;
}
template<Element T>
void compute(forget_smaller<T> const&, shard_steps const& s, place_in_mesh const&, T const* best, T const* peak, std::int32_t* where) {
  for (extent i = 0; i < s.elements; ++i)
    if (best[i] < peak[i] || (peak[i] != peak[i] && best[i] == best[i])) where[i] = std::numeric_limits<std::int32_t>::max();
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
