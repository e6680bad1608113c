// Rotations of pairs of elements by angles that grow with the position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/rotary_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Pair number i of a position is rotated by position * base^(-i / pairs). `scratch` holds cosines and sines.
template<class T>
void rotate_range(rotary_steps const& s, task::rotate<T> const& task, T const* x, T* z,
                  std::int32_t const* positions, computed<T>* scratch, extent begin, extent end) {
  using C         = computed<T>;
  C* const cosine = scratch;
  C* const sine   = scratch + s.pairs;
  extent const n  = s.pairs;
  for_some_indices<max_arrays>(s.places.sizes(), s.places.stride, begin, end, [&](auto const& place) {
    auto const position = static_cast<double>(task.first + positions[place[2]]);
    double const step   = std::pow(task.base, -1 / static_cast<double>(n));
    double rate         = 1;
    for (extent i = 0; i < n; ++i) {
      double const angle = position * rate;
      cosine[i]          = static_cast<C>(std::cos(angle));
      sine[i]            = static_cast<C>(task.back ? -std::sin(angle) : std::sin(angle));
      rate *= step;
    }
    for_each_index<max_arrays>(s.lines.sizes(), s.lines.stride, place, [&](auto const& line) {
      T const* const from = x + line[0];
      T* const to         = z + line[1];
      auto const turn     = [&](extent in, extent out) {
        for (extent i = 0; i < n; ++i) {
          C const a         = static_cast<C>(from[i * in]);
          C const b         = static_cast<C>(from[(n + i) * in]);
          to[i * out]       = static_cast<T>(a * cosine[i] - b * sine[i]);
          to[(n + i) * out] = static_cast<T>(b * cosine[i] + a * sine[i]);
        }
      };
      if (s.from == 1 && s.to == 1) turn(1, 1);
      else turn(s.from, s.to);
    });
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void rotate<T>::compute(rotary_steps const& s, place_in_mesh const&, T const* x, T* z,
                        std::int32_t const* positions, computed<T>* scratch) const {
  kernel::parallel_for(s.places.iterations, 1, 6 * s.iterations(), [&](extent begin, extent end, int thread) {
    kernel::rotate_range(s, *this, x, z, positions, scratch + thread * rotate<T>::scratch(s), begin, end);
  });
}

#define MESHTF_ROTATE(T) template struct rotate<T>;
MESHTF_COMPILE_FLOATING(MESHTF_ROTATE)
#undef MESHTF_ROTATE

}  // namespace task
}  // namespace v0
}  // namespace meshtf
