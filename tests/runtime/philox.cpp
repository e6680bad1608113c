// Random numbers: the published vectors, and the same values however they are drawn.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <meshtf/core/philox.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

using words = std::array<std::uint32_t, 4>;

/// With -D_GLIBCXX_DEBUG g++ compares no temporary arrays in constant evaluation.
constexpr bool same(words const& a, words const& b) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

// the known answers of the Random123 distribution, file kat_vectors: counter words 0 and 1, stream in words 2
// and 3, seed as the key
static_assert(same(philox{0, 0}(0), words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
static_assert(same(philox{~0ull, ~0ull}(~0ull), words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
static_assert(same(philox{0x299f31d0a4093822, 0x0370734413198a2e}(0x85a308d3243f6a88),
                   words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));

// two elements share a counter
static_assert(uniform_at({0, 0}, 0) == static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
static_assert(uniform_at({0, 0}, 1) == static_cast<double>(0x9b00dbd8bc57ac4c >> 11) * 0x1p-53);

template<class T>
std::vector<T> uniform_run(philox const& random, extent first, extent n, T low, T high) {
  std::vector<T> z(static_cast<std::size_t>(n));
  fill_uniform(random, first, n, low, high, z.data());
  return z;
}

template<class T>
std::vector<T> normal_run(philox const& random, extent first, extent n, T mean, T stddev) {
  std::vector<T> z(static_cast<std::size_t>(n));
  fill_normal(random, first, n, mean, stddev, z.data());
  return z;
}

}  // namespace

TEMPLATE_TEST_CASE("a run equals its elements, wherever it starts and ends", "", float, double) {
  philox const random{7, 3};
  for (extent first : {0, 1, 2, 31, 33, 1000001})
    for (extent n : {0, 1, 2, 3, 31, 32, 33, 64, 65, 200}) {
      auto const u = uniform_run<TestType>(random, first, n, 0, 1);
      auto const x = normal_run<TestType>(random, first, n, 0, 1);
      for (extent k = 0; k < n; ++k) {
        auto const at = static_cast<std::size_t>(k);
        REQUIRE(u[at] == std::min(static_cast<TestType>(uniform_at(random, first + k)),
                                  std::nextafter(TestType{1}, TestType{0})));
        REQUIRE(x[at] == static_cast<TestType>(normal_at(random, first + k)));
      }
    }
}

TEMPLATE_TEST_CASE("a run in two parts equals the run", "", float, double) {
  philox const random{1, 2};
  auto const whole = normal_run<TestType>(random, 5, 301, TestType(0.5), TestType(0.02));
  for (extent cut = 0; cut <= 301; ++cut) {
    auto parts       = normal_run<TestType>(random, 5, cut, TestType(0.5), TestType(0.02));
    auto const after = normal_run<TestType>(random, 5 + cut, 301 - cut, TestType(0.5), TestType(0.02));
    parts.insert(parts.end(), after.begin(), after.end());
    REQUIRE(parts == whole);
  }
}

TEST_CASE("uniform values stay below the upper end") {
  // in float one value of 2^25 rounds up to 1, and far from 0 most do
  auto const z = uniform_run<float>({1, 0}, 0, 1 << 12, 16777214.f, 16777216.f);
  CHECK(*std::max_element(z.begin(), z.end()) < 16777216.f);
  CHECK(*std::min_element(z.begin(), z.end()) >= 16777214.f);
  CHECK(uniform_run<float>({1, 0}, 0, 1, 2.f, 2.f)[0] == 2.f);
}

TEST_CASE("moments are those of the distributions") {
  constexpr extent n = 1 << 18;
  auto const moments = [](std::vector<double> const& z) {
    double mean   = 0;
    double square = 0;
    double fourth = 0;
    for (double v : z) mean += v / n;
    for (double v : z) {
      square += (v - mean) * (v - mean) / n;
      fourth += std::pow(v - mean, 4) / n;
    }
    return std::array{mean, square, fourth};
  };
  // five standard errors of each estimate
  auto const u = moments(uniform_run<double>({42, 0}, 0, n, 0, 1));
  CHECK(std::abs(u[0] - 0.5) < 5 * 0.289 / 512);
  CHECK(std::abs(u[1] - 1.0 / 12) < 5 * 0.075 / 512);
  auto const x = moments(normal_run<double>({42, 0}, 0, n, 0, 1));
  CHECK(std::abs(x[0]) < 5 * 1.0 / 512);
  CHECK(std::abs(x[1] - 1) < 5 * 1.42 / 512);
  CHECK(std::abs(x[2] - 3) < 5 * 9.8 / 512);
}

TEST_CASE("seeds and streams give other values, neighbours in a pair are not tied") {
  constexpr extent n = 1 << 16;
  auto const a       = normal_run<double>({1, 0}, 0, n, 0, 1);
  auto const b       = normal_run<double>({1, 1}, 0, n, 0, 1);
  auto const c       = normal_run<double>({2, 0}, 0, n, 0, 1);
  double ab          = 0;
  double ac          = 0;
  double next        = 0;
  for (std::size_t k = 0; k + 1 < a.size(); ++k) {
    ab += a[k] * b[k] / n;
    ac += a[k] * c[k] / n;
    next += a[k] * a[k + 1] / n;
  }
  CHECK(std::abs(ab) < 5.0 / 256);
  CHECK(std::abs(ac) < 5.0 / 256);
  CHECK(std::abs(next) < 5.0 / 256);
}
