// If it compiles, it passes.
#include <algorithm>

#include <meshtf/core/small_array.hpp>

namespace {

using namespace meshtf;

constexpr small_array<int, 3> three{4, 5, 6};

// an index may be of any integer type
static_assert(three[0] == 4 && three[1U] == 5 && three[2L] == 6);

// the first ones are a span, all of them a range; what is not given is 0
static_assert(std::ranges::equal(three.first(2), small_array<int, 2>{4, 5}) && three.first(0).empty());
static_assert(three != small_array<int, 3>{4, 5} && small_array<int, 3>{4, 5}[2] == 0);

static_assert([] {
  small_array<int, 2> filled;
  filled.fill(7);
  return filled == small_array<int, 2>{7, 7};
}());

}  // namespace
