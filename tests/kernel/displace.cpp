// Elements that move along a dimension, against plain loops: odd sizes, every displacement, and on several
// threads.
#include <vector>

#include <meshtf/kernel/displace.hpp>

#include "../catch.hpp"

namespace {

using namespace meshtf;

std::size_t at(extent i) { return static_cast<std::size_t>(i); }

/// Lines of `from` elements in rooms for `from_allocated` become lines of `to` in rooms for `to_allocated`.
/// Nothing else of z is written.
void check(displace_steps const& s, displacement const& way) {
  INFO(s.outer << " lines of " << s.from << " become lines of " << s.to << ", " << s.inner
               << " elements together, by " << way.offset << ", reversed " << way.reversed << ", wraps "
               << way.wraps);
  std::vector<double> x(at(s.outer * s.from_allocated * s.inner));
  std::vector<double> z(at(s.outer * s.to_allocated * s.inner), -1);
  std::vector<double> expected = z;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i + 1);
  for (extent o = 0; o < s.outer; ++o)
    for (extent i = 0; i < s.to; ++i)
      for (extent k = 0; k < s.inner; ++k) {
        extent from = way.reversed ? way.offset - i : way.offset + i;
        if (way.wraps) from = ((from % s.from) + s.from) % s.from;
        bool const there = from >= 0 && from < s.from;
        expected[at((o * s.to_allocated + i) * s.inner + k)] =
            there ? x[at((o * s.from_allocated + from) * s.inner + k)] : 7;
      }
  kernel::displace(s, way, 7.0, x.data(), z.data());
  CHECK(z == expected);
}

void check_each(displace_steps const& s) {
  for (bool reversed : {false, true})
    for (bool wraps : {false, true})
      for (extent offset : {-40, -9, -1, 0, 1, 4, 8, 33}) check(s, {offset, reversed, wraps});
}

}  // namespace

TEST_CASE("elements move along lines of every kind") {
  for (extent inner : {1, 3, 16}) {
    check_each({.outer = 3, .inner = inner, .from = 9, .from_allocated = 9, .to = 9, .to_allocated = 9});
    // counted, padded
    check_each({.outer = 2, .inner = inner, .from = 5, .from_allocated = 8, .to = 11, .to_allocated = 12});
    check_each({.outer = 4, .inner = inner, .from = 11, .from_allocated = 11, .to = 4, .to_allocated = 4});
    check_each({.outer = 1, .inner = inner, .from = 1, .from_allocated = 1, .to = 7, .to_allocated = 7});
  }
}

TEST_CASE("long lines and many lines are shared by threads") {
  kernel::use_threads(3);
  check_each({.outer          = 1,
              .inner          = 1,
              .from           = 100'003,
              .from_allocated = 100'003,
              .to             = 100'003,
              .to_allocated   = 100'003});
  check_each({.outer = 5'001, .inner = 2, .from = 9, .from_allocated = 9, .to = 9, .to_allocated = 9});
  check_each({.outer = 3, .inner = 20'001, .from = 2, .from_allocated = 2, .to = 3, .to_allocated = 3});
  kernel::use_threads(1);
}
