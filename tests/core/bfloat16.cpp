// bfloat16: every one of its 65536 values, and rounding at, below and above each tie.
// test: processes 1
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <meshtf/core/bfloat16.hpp>

#include "../catch.hpp"

using meshtf::bfloat16;

namespace {

using limits = std::numeric_limits<bfloat16>;

constexpr std::uint16_t bits(auto x) { return bfloat16{x}.bits; }

static_assert(std::is_trivially_copyable_v<bfloat16> && sizeof(bfloat16) == 2);
// only the program says when it rounds, or widens
static_assert(!std::is_convertible_v<float, bfloat16> && !std::is_convertible_v<bfloat16, float> &&
              !std::is_convertible_v<int, bfloat16>);

// ties go to even, both ways
static_assert(bits(1.00390625F) == 0x3f80 && bits(1.01171875F) == 0x3f82);
// a double is rounded once: by way of the nearest float this would become a tie, and go to even
static_assert(bits(1.00390625 + 0x1p-40) == 0x3f81 &&
              bits(static_cast<float>(1.00390625 + 0x1p-40)) == 0x3f80);
static_assert(bits(1.01171875 - 0x1p-40) == 0x3f81 && bits(-1.01171875 + 0x1p-40) == 0xbf81);
// the largest numbers become infinite, from float and double
static_assert(bits(std::numeric_limits<float>::max()) == 0x7f80 &&
              bits(std::numeric_limits<double>::max()) == 0x7f80 && bits(-1e300) == 0xff80);
static_assert(bits(0x1.fefffffp+127) == 0x7f7f && bits(0x1.ffp+127) == 0x7f80);
// the smallest become zero and keep their sign
static_assert(bits(1e-300) == 0 && bits(-1e-300) == 0x8000 && bits(0x1p-134) == 0 &&
              bits(0x1.000001p-134) == 1 && bits(-0.0F) == 0x8000);
// integers of any length
static_assert(bits(257) == 0x4380 && bits(259) == 0x4382 && bits(-3) == 0xc040 && bits(true) == 0x3f80);
static_assert(bits((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1) == 0x5e81 &&
              bits((std::int64_t{1} << 62) + (std::int64_t{1} << 54)) == 0x5e80);
static_assert(bits(std::numeric_limits<std::int64_t>::min()) == 0xdf00 &&
              bits(std::numeric_limits<std::uint64_t>::max()) == 0x5f80);
static_assert(static_cast<int>(bfloat16{-2.5F}) == -2 && static_cast<bool>(bfloat16{0.5F}) &&
              !static_cast<bool>(bfloat16{}));

// comparison as in float: zeros are equal, a NaN equals nothing
static_assert(bfloat16{0.0F} == bfloat16{-0.0F} && bfloat16{1} < bfloat16{2} &&
              !(limits::quiet_NaN() == limits::quiet_NaN()) && !(limits::quiet_NaN() < bfloat16{1}) &&
              limits::quiet_NaN() != bfloat16{1});
static_assert(bfloat16{3} + bfloat16{4} == bfloat16{7} && bfloat16{1} - bfloat16{4} == bfloat16{-3} &&
              bfloat16{256} + bfloat16{1} == bfloat16{256});
static_assert(bfloat16{3} * bfloat16{4} == bfloat16{12} && bfloat16{1} / bfloat16{4} == bfloat16{0.25F} &&
              (-bfloat16{0}).bits == 0x8000);

static_assert(limits::lowest() < -limits::min() && limits::denorm_min() < limits::min() &&
              limits::max() < limits::infinity());
static_assert(bfloat16{1} + limits::epsilon() == bfloat16{1.0078125F} &&
              bfloat16::from_bits(0x3f81) == bfloat16{1} + limits::epsilon());

bool is_nan(bfloat16 x) { return (x.bits & 0x7fff) > 0x7f80; }

}  // namespace

TEST_CASE("every bfloat16 survives the way through float and double") {
  int nans = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    auto const x = bfloat16::from_bits(static_cast<std::uint16_t>(i));
    auto const f = static_cast<float>(x);
    REQUIRE(std::isnan(f) == is_nan(x));
    if (is_nan(x)) {
      ++nans;
      REQUIRE(bfloat16{f}.bits == (i | 0x40));  // quiet, with its sign and the rest of its content
      REQUIRE(is_nan(bfloat16{static_cast<double>(f)}));
    } else {
      REQUIRE(bfloat16{f}.bits == i);
      REQUIRE(bfloat16{static_cast<double>(x)}.bits == i);
    }
  }
  CHECK(nans == 254);
}

TEST_CASE("every number between two neighbours goes to the nearer one, and to the even one from the middle") {
  for (std::uint32_t sign : {0U, 0x8000U})
    for (std::uint32_t i = 0; i < 0x7f7f; ++i) {
      auto const low      = bfloat16::from_bits(static_cast<std::uint16_t>(sign | i));
      auto const high     = bfloat16::from_bits(static_cast<std::uint16_t>(sign | (i + 1)));
      auto const even     = i % 2 == 0 ? low : high;
      double const a      = static_cast<double>(low);
      double const b      = static_cast<double>(high);
      double const middle = a + (b - a) / 2;
      REQUIRE(bfloat16{middle}.bits == even.bits);
      REQUIRE(bfloat16{std::nextafter(middle, a)}.bits == low.bits);
      REQUIRE(bfloat16{std::nextafter(middle, b)}.bits == high.bits);
      auto const half = static_cast<float>(middle);  // exact
      REQUIRE(bfloat16{half}.bits == even.bits);
      REQUIRE(bfloat16{std::nextafter(half, static_cast<float>(a))}.bits == low.bits);
      REQUIRE(bfloat16{std::nextafter(half, static_cast<float>(b))}.bits == high.bits);
    }
}
