// The order of elements against std::sort of values and places: short and long lines, neighbouring lines, few
// and many elements of each, on any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <meshtf/core/philox.hpp>
#include <meshtf/kernel/rank.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

std::size_t at(extent i) { return static_cast<std::size_t>(i); }

/// Numbers of which some are equal, with a NaN now and then.
template<class T>
std::vector<T> drawn(extent n, bool coarse) {
  std::vector<T> x(at(n));
  for (extent i = 0; i < n; ++i) {
    double const u = uniform_at({1, 0}, i) - 0.5;
    if constexpr (std::is_integral_v<T>) x[at(i)] = static_cast<T>(std::floor(u * (coarse ? 20 : 1e9)));
    else if (i % 97 == 5) x[at(i)] = std::numeric_limits<T>::quiet_NaN();
    else x[at(i)] = static_cast<T>(coarse ? std::floor(u * 20) / 4 : u);
  }
  return x;
}

template<class T>
void check(extent outer, extent along, extent inner, extent kept, bool descending, bool coarse) {
  INFO(outer << " x " << along << " x " << inner << ", kept " << kept << ", descending " << descending);
  rank_steps const s{
      .lines = contiguous_lines(outer, along, inner), .kept = kept, .allocated_kept = kept, .step = inner};
  rank_steps steps        = s;
  steps.lines.line_stride = kept * inner;
  auto const x            = drawn<T>(outer * along * inner, coarse);
  std::vector<T> ranked(at(outer * kept * inner));
  std::vector<std::int32_t> index(ranked.size());
  std::vector<std::int64_t> scratch(at(task::rank<T>::scratch(steps) * kernel::thread_count()));
  task::rank<T>{descending}.compute(steps, place_in_mesh{}, x.data(), ranked.data(), index.data(),
                                    scratch.data());
  int wrong = 0;
  for (extent o = 0; o < outer; ++o)
    for (extent i = 0; i < inner; ++i) {
      auto const element = [&](std::int32_t a) { return x[at((o * along + a) * inner + i)]; };
      std::vector<std::int32_t> expected(at(along));
      std::iota(expected.begin(), expected.end(), 0);
      std::sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        T const u = element(a);
        T const v = element(b);
        if (u != u || v != v) return u != u && v != v ? a < b : u == u;
        if (u == v) return a < b;
        return descending ? v < u : u < v;
      });
      for (extent k = 0; k < kept; ++k) {
        auto const place = at((o * kept + k) * inner + i);
        T const value    = element(expected[at(k)]);
        wrong += index[place] != expected[at(k)] ||
                 !(ranked[place] == value || (value != value && ranked[place] != ranked[place]));
      }
    }
  CHECK(wrong == 0);
}

template<class T>
void check_all() {
  for (bool descending : {false, true})
    for (bool coarse : {false, true}) {
      for (extent along : {1, 2, 17, 255, 256, 257, 5000}) {
        check<T>(3, along, 1, along, descending, coarse);
        check<T>(2, along, 5, along, descending, coarse);
        check<T>(3, along, 1, 1, descending, coarse);
        check<T>(2, along, 3, std::min<extent>(along, 7), descending, coarse);
        check<T>(1, along, 1, (along + 3) / 4, descending, coarse);
        check<T>(1, along, 2, (along + 8) / 9, descending, coarse);
      }
    }
}

}  // namespace

TEST_CASE("elements are ranked by value and place") {
  check_all<float>();
  check_all<double>();
  check_all<std::int32_t>();
  check_all<std::int64_t>();
}

TEST_CASE("of no ranks nothing is written") {
  for (extent inner : {1, 3}) {
    rank_steps const s{
        .lines = contiguous_lines(2, 100, inner), .kept = 0, .allocated_kept = 4, .step = inner};
    auto const x = drawn<float>(200 * inner, false);
    std::vector<float> ranked(at(8 * inner), 7.0F);
    std::vector<std::int32_t> index(ranked.size(), 7);
    std::vector<std::int64_t> scratch(at(task::rank<float>::scratch(s) * kernel::thread_count()));
    for (bool descending : {false, true})
      task::rank<float>{descending}.compute(s, place_in_mesh{}, x.data(), ranked.data(), index.data(),
                                            scratch.data());
    CHECK(ranked == std::vector<float>(ranked.size(), 7.0F));
    CHECK(index == std::vector<std::int32_t>(index.size(), 7));
  }
}

TEST_CASE("elements are ranked the same on several threads") {
  kernel::use_threads(3);
  check<float>(40, 3000, 1, 3000, false, true);
  check<double>(3, 1000, 40, 1000, true, true);
  check<float>(40, 3000, 1, 20, true, false);
  kernel::use_threads(1);
}

TEST_CASE("elements that come in the wrong order are ranked, too") {
  for (bool descending : {false, true}) {
    std::vector<float> x(20000);
    std::vector<float> ranked(50);
    std::iota(x.begin(), x.end(), -100.f);
    rank_steps s{.lines = contiguous_lines(1, 20000, 1), .kept = 50, .allocated_kept = 50, .step = 1};
    std::vector<std::int32_t> index(50);
    std::vector<std::int64_t> scratch(at(task::rank<float>::scratch(s)));
    task::rank<float>{descending}.compute(s, place_in_mesh{}, x.data(), ranked.data(), index.data(),
                                          scratch.data());
    for (std::size_t k = 0; k < 50; ++k)
      CHECK(index[k] == static_cast<std::int32_t>(descending ? 19999 - k : k));
  }
}
