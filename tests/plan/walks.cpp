// If it compiles, it passes: lines, rows that share a bias, and gathers walk over what a process holds, each
// element once, and over nothing else: for all numbers of local elements of dimensions with storage for one
// to three.
#include <cstdint>

#include <meshtf/plan/bias_plan.hpp>
#include <meshtf/plan/gather_plan.hpp>

namespace {

using namespace meshtf;

constexpr int rank = 3;

constexpr dim_list list_of(std::initializer_list<int> dims) {
  dim_list list;
  for (int d : dims) list.push_back(d);
  return list;
}

/// Elements of an array, as bits; none may be seen twice.
struct seen {
  std::uint64_t elements = 0;
  bool twice             = false;

  constexpr void see(extent at) {
    twice = twice || at < 0 || at >= 64 || (elements >> at & 1U) != 0;
    if (!twice) elements |= std::uint64_t{1} << at;
  }
  friend constexpr bool operator==(seen const&, seen const&) = default;
};

constexpr seen held_of(dim_list const& array, loop_extents const& e) {
  auto const strides = strides_of(array, e.allocated_extents());
  small_array<extent, max_rank> size{};
  small_array<extent, max_rank> stride{};
  for (int i = 0; i < array.count; ++i) {
    size[i]   = e.local[array[i]];
    stride[i] = strides[array[i]];
  }
  seen s;
  for_each_index<1>(size.first(array.count), std::array{stride}, {}, [&](auto const& at) { s.see(at[0]); });
  return s;
}

/// Lines along each dimension: the elements, and the array with one for each line.
constexpr bool lines_walk(loop_extents const& e) {
  for (int along = 0; along < rank; ++along) {
    task_loops l{.rank = rank};
    l.add_array(list_of({0, 1, 2}));
    l.along[0] = along;
    dim_list row;
    for (int d = 0; d < 3; ++d)
      if (d != along) row.push_back(d);
    auto const s = line_steps::plan(l, e);
    seen elements;
    seen lines;
    s.blocks.for_each([&](auto const& at) {
      for (extent o = 0; o < s.outer; ++o)
        for (extent i = 0; i < s.inner; ++i) {
          lines.see(at[1] + o * s.line_stride + i);
          for (extent a = 0; a < s.along; ++a) elements.see(at[0] + o * s.outer_stride + a * s.step + i);
        }
    });
    if (elements != held_of(l.operand[0], e) || lines != held_of(row, e)) return false;
  }
  return true;
}

constexpr bool rows_walk(loop_extents const& e, dim_list const& bias) {
  task_loops l{.rank = rank};
  l.add_array(list_of({0, 1, 2}));
  l.add_array(bias);
  auto const s = bias_steps::plan(l, e);
  seen elements;
  s.blocks.for_each([&](auto const& at) {
    for (extent r = 0; r < s.rows; ++r)
      for (extent i = 0; i < s.elements; ++i) elements.see(at[0] + r * s.stride + i);
  });
  return elements == held_of(l.operand[0], e);
}

/// A table of 0 and 1 whose rows along 0 ids of 2 name, or ids of 1 and 2: the results.
constexpr bool gather_walks(loop_extents const& e, bool shared) {
  task_loops l{.rank = rank};
  l.add_array(list_of({0, 1}));
  l.add_array(shared ? list_of({1, 2}) : list_of({2}));
  l.add_array(shared ? list_of({1, 2}) : list_of({2, 1}));
  l.along[0]   = 0;
  auto const s = gather_steps::plan(l, e);
  seen results;
  s.blocks.for_each([&](auto const& at) {
    for (extent i = 0; i < s.block_ids; ++i)
      for (extent o = 0; o < s.lines.outer; ++o)
        for (extent k = 0; k < s.lines.inner; ++k)
          results.see(at[2] + i * s.id_stride + o * s.lines.line_stride + k);
  });
  return results == held_of(l.operand[2], e);
}

constexpr bool all_walk() {
  for (extent stored = 0; stored < 27; ++stored)
    for (extent held = 0; held < 64; ++held) {
      loop_extents e{.rank = rank};
      bool fits = true;
      extent s  = stored;
      extent h  = held;
      for (int d = 0; d < rank; ++d, s /= 3, h /= 4) {
        e.allocated[d] = e.global[d] = 1 + s % 3;
        e.local[d]                   = h % 4;
        fits                         = fits && e.local[d] <= e.allocated[d];
      }
      if (!fits) continue;
      if (!lines_walk(e) || !rows_walk(e, list_of({2})) || !rows_walk(e, list_of({0, 2})) ||
          !rows_walk(e, list_of({1})))
        return false;
      if (!gather_walks(e, false) || !gather_walks(e, true)) return false;
    }
  return true;
}
static_assert(all_walk());

}  // namespace
