// Sinusoids, ALiBi and the buckets of T5, compared with the formulas of their papers.
// test: processes 1 2
#include <array>
#include <cmath>

#include "../layout_fixture.hpp"

#include <meshtf/nn/positions.hpp>

using namespace fixture;

namespace {

struct place : dim<12> {};
struct width : dim<8> {};
struct distance : dim<23> {};
struct many_heads : dim<6> {};
struct buckets : dim<8> {};

struct by_place : layout<pair, split<place, line>> {};
struct by_heads : layout<pair, split<many_heads, line>> {};

template<Layout L>
void check_sinusoids() {
  auto const x =
      to_global(nn::sinusoid_positions<double, L, place, width>(processes<typename L::mesh_type>()));
  for (std::size_t p = 0; p < 12; ++p)
    for (std::size_t i = 0; i < 4; ++i) {
      double const angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / 3);
      CHECK(std::abs(x(p, i) - std::sin(angle)) < 1e-12);
      CHECK(std::abs(x(p, i + 4) - std::cos(angle)) < 1e-12);
    }
}

template<Layout L>
void check_biases() {
  auto& m = processes<typename L::mesh_type>();
  // of 4 heads, then every other of 8
  std::array<double, 6> const slopes{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
  auto const a = to_global(nn::alibi<double, L, many_heads, place, distance>(m));
  for (std::size_t h = 0; h < 6; ++h)
    for (std::size_t d = 0; d < 23; ++d)
      CHECK(std::abs(a(h, d) + slopes[h] * std::abs(static_cast<double>(d) - 11)) < 1e-12);

  nn::relative_bias<double, L, buckets, many_heads, place, distance> const bias{m, normal{1}};
  auto const table = to_global(bias.table);
  auto const b     = to_global(bias(m));
  for (std::size_t d = 0; d < 23; ++d) {
    auto const bucket = static_cast<std::size_t>(nn::relative_bucket{8}(static_cast<double>(d) - 11));
    for (std::size_t h = 0; h < 6; ++h) CHECK(b(d, h) == table(bucket, h));
  }
}

}  // namespace

TEST_CASE("sinusoids, slopes and buckets, whole", "[1]") { check_sinusoids<alone>(), check_biases<alone>(); }
TEST_CASE("and where positions or heads are split", "[2]") {
  check_sinusoids<by_place>(), check_biases<by_heads>();
}

// The table is what the code of T5 gives (transformers 4.x, torch, single precision) for key minus query =
// -distance.
TEST_CASE("the buckets are those of T5", "[1]") {
  auto const check = [](nn::relative_bucket const& bucket, std::array<int, 33> const& first) {
    // first[i]: the smallest distance in bucket i, or -1
    for (int d = 0; d <= 2000; ++d) {
      int expected = 0;
      for (int i = 0; i < 33; ++i)
        if (first[static_cast<std::size_t>(i)] >= 0 && d >= first[static_cast<std::size_t>(i)]) expected = i;
      INFO("distance " << d);
      CHECK(static_cast<int>(bucket(d)) == expected);
      if (bucket.both_ways && d > 0)
        CHECK(static_cast<int>(bucket(-d)) == expected + static_cast<int>(bucket.buckets / 2));
      if (!bucket.both_ways && d > 0) CHECK(bucket(-d) == 0);
    }
  };
  check({32, 128, true}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  12, 16, 23, 32, 46, 64, 91, -1,
                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
  check({32, 128, false}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15, 16,
                           19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113, -1});
}
