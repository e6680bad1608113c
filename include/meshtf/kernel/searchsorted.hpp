// Searches: the position of values in sequences that are in order.
#pragma once

#include <cstdint>

#include <meshtf/core/element.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/searchsorted_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Whether `a` stands before `b` in an order in which NaNs are last, as `sort` has it.
template<class T>
constexpr bool stands_before(T a, T b) {
  return a < b || (a == a && b != b);
}

/// How many of the `n` elements, which are in order and `step` apart, are less than `value`, or, from the
/// right, not larger: a binary search.
template<Element T>
std::int32_t position_in(extent n, extent step, T const* sequence, computed<T> value, bool right) {
  extent first = 0;
  while (n > 0) {
    extent const half  = n / 2;
    auto const element = static_cast<computed<T>>(sequence[(first + half) * step]);
    if (right ? !stands_before(value, element) : stands_before(element, value)) {
      first += half + 1;
      n -= half + 1;
    } else n = half;
  }
  return static_cast<std::int32_t>(first);
}

}  // namespace kernel

namespace task {

template<Element T>
void search<T>::compute(search_steps const& s, place_in_mesh const&, T const* sequence, T const* values,
                        std::int32_t* found) const {
  line_steps const& lines = s.lines;
  auto const search_one   = [&](extent in_sequence, computed<T> value, std::int32_t* to) {
    for (extent o = 0; o < lines.outer; ++o)
      for (extent i = 0; i < lines.inner; ++i)
        to[o * lines.line_stride + i] = kernel::position_in(
            lines.along, lines.step, sequence + in_sequence + o * lines.outer_stride + i, value, right);
  };
  s.blocks.for_each([&](auto const& start) {
    extent const steps = s.block_ids * lines.outer * lines.inner * s.compared();
    kernel::parallel_for(s.block_ids, 1, steps, [&](extent begin, extent end) {
      for (extent i = begin; i < end; ++i)
        search_one(start[1] + i * s.table_stride, static_cast<computed<T>>(values[start[0] + i]),
                   found + start[2] + i * s.id_stride);
    });
  });
}

#define MESHTF_SEARCHES(T) template struct search<T>;
MESHTF_COMPILE_NUMBERS(MESHTF_SEARCHES)
#undef MESHTF_SEARCHES

}  // namespace task
}  // namespace v0
}  // namespace meshtf
