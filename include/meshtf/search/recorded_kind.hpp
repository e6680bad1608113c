// Live bytes as a record keeps them.
#pragma once

#include <meshtf/search/layout_numbers.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

/// A kind of live bytes: all are divided along the same dimensions, and live under the same condition. Those
/// of arrays that are in a file have a bound: they live where an array has fewer bytes in one process, so
/// that it stays.
struct recorded_kind {
  dim_set dims = 0;
  undecided_condition if_{};
  extent array = 0;  // bytes of a whole array that is in a file, or 0
  extent bound = 0;

  constexpr bool is_in_file(layout_numbers const& l) const {
    return array != 0 && if_.holds(l) && l.local(undecided_size{array, dims}) >= bound;
  }
  constexpr bool lives(layout_numbers const& l) const { return if_.holds(l) && !is_in_file(l); }
  friend constexpr bool operator==(recorded_kind const&, recorded_kind const&) = default;
};

}  // namespace v0
}  // namespace meshtf
