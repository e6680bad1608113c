// Pick: one element along a dimension, by index, and the index of the largest.
//
// Arrays are seen as [outer][along][inner]. An index counts from `first`, so a process that holds elements first ... first + along - 1 of a split dimension
// works on those, and its contribution to the others is 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include <meshtf/core/element.hpp>

namespace meshtf::inline v0 {
namespace kernel {

/// z[o][i] = x[o][index[o][i] - first][i], or 0 where that is out of range.
template<Element T>
void pick(extent outer, extent along, extent inner, extent first, T const* x, std::int32_t const* index, T* z) {
  if (inner == 1) {
    for (extent o = 0; o < outer; ++o, x += along) {
      auto const at = static_cast<std::size_t>(index[o] - first);  // what is below is large
      z[o]          = at < static_cast<std::size_t>(along) ? x[at] : T{};
    }
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

/// The largest element along the dimension and the first index that has it, counted from 0. NaN is larger than any number.
template<Element T>
void argmax(extent outer, extent along, extent inner, T const* x, T* best, std::int32_t* where) {
  if (inner == 1) {
    for (extent o = 0; o < outer; ++o, x += along) {
      T most    = x[0];
      extent at = 0;
      for (extent a = 1; a < along; ++a)
        if (!(x[a] <= most) && most == most) most = x[a], at = a;
      best[o] = most, where[o] = static_cast<std::int32_t>(at);
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

}  // namespace kernel
}  // namespace meshtf::inline v0
