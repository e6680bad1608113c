// If it compiles, it passes.
#include <algorithm>
#include <initializer_list>

#include <meshtf/core/odometer.hpp>

namespace {

using namespace meshtf;

/// The offsets of two arrays, one after the other, are these.
template<std::size_t Rank>
constexpr bool walks(std::array<extent, Rank> const& sizes,
                     std::array<std::array<extent, Rank>, 2> const& strides,
                     std::initializer_list<std::array<extent, 2>> expected) {
  auto const* next = expected.begin();
  bool same        = true;
  for_each_index<2>(sizes, strides, {100, 0}, [&](std::array<extent, 2> const& at) {
    same = same && next != expected.end() && *next++ == at;
  });
  return same && next == expected.end();
}
using two = std::array<std::array<extent, 2>, 2>;

// the last index counts fastest, and every array has its own strides: the second one lies transposed, 0
// stands still
static_assert(walks<2>({2, 3}, two{{{3, 1}, {1, 2}}},
                       {{100, 0}, {101, 2}, {102, 4}, {103, 1}, {104, 3}, {105, 5}}));
static_assert(walks<2>({2, 2}, two{{{0, 1}, {-5, 0}}}, {{100, 0}, {101, 0}, {100, -5}, {101, -5}}));

// indices of one iteration move nothing
static_assert(walks<2>({1, 2}, two{{{7, 1}, {7, 2}}}, {{100, 0}, {101, 2}}));

// without sizes there is one combination, and none where a size is 0
static_assert(walks<0>({}, {}, {{100, 0}}));
static_assert(walks<2>({2, 0}, two{{{3, 1}, {1, 2}}}, {}));
static_assert(walks<2>({0, 2}, two{{{3, 1}, {1, 2}}}, {}));

/// The combinations from each number on are those that `for_each_index` finds there.
template<std::size_t Rank>
constexpr bool begins_anywhere(std::array<extent, Rank> const& sizes,
                               std::array<std::array<extent, Rank>, 2> const& strides) {
  std::array<std::array<extent, 2>, 64> all{};
  extent count = 0;
  for_each_index<2>(sizes, strides, {}, [&](auto const& at) { all[static_cast<std::size_t>(count++)] = at; });
  bool same = true;
  for (extent begin = 0; begin <= count; ++begin)
    for (extent end = begin; end <= count; ++end) {
      extent next = begin;
      for_some_indices<2>(sizes, strides, begin, end, [&](auto const& at) {
        same = same && at == all[static_cast<std::size_t>(next++)];
      });
      same = same && next == end;
    }
  return same;
}
static_assert(begins_anywhere<2>({2, 3}, two{{{3, 1}, {1, 2}}}));
static_assert(begins_anywhere<3>({3, 1, 4}, {{{0, 7, 1}, {-5, 0, 2}}}));
static_assert(begins_anywhere<0>({}, {}));

}  // namespace
