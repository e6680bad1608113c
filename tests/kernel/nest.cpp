// Loop nests, transforms and picks give what plain loops give, for every stride, length and type.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/kernel/lines.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/kernel/xtensor_view.hpp>
#include <meshtf/plan/nest.hpp>

#include "../catch.hpp"

using meshtf::bfloat16;
using meshtf::collapsed;
using meshtf::dim_list;
using meshtf::extent;
using meshtf::nest_steps;
using meshtf::reduction;
namespace kernel = meshtf::kernel;

namespace {

struct times {
  static constexpr bool vectorised = true;
  auto operator()(auto const& a, auto const& b) const { return a * b; }
};
struct add {
  static constexpr bool vectorised = true;
  auto operator()(auto const& a, auto const& b) const { return a + b; }
};

struct scaled {
  static constexpr bool vectorised = true;
  template<class X>
  X operator()(X const& a) const {
    return a * X(3) - X(1);
  }
};

struct relu {
  static constexpr bool vectorised = true;
  template<class X>
  X operator()(X const& a) const {
    using meshtf::math::max;
    return max(X(0), a);
  }
};

struct exponential {
  static constexpr bool vectorised = true;
  auto operator()(auto const& a) const {
    using meshtf::math::exp;
    return exp(a);
  }
};

struct mixture {
  static constexpr bool vectorised = true;
  template<class X>
  X operator()(X const& a, X const& b, X const& c) const {
    using meshtf::math::select;
    return select(a > b, a * c, b);
  }
};

/// Small whole numbers: sums of them are exact in every type and order.
template<class T>
std::vector<T> numbers(extent n, int seed) {
  std::vector<T> v(static_cast<std::size_t>(n));
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (auto& x : v) {
    state = state * 1664525u + 1013904223u;
    x     = static_cast<T>(static_cast<int>(state >> 16) % 19 - 9);
  }
  return v;
}

/// Offsets of every operand at every iteration of the nest, one loop inside the other.
template<class Visit>
void visit(nest_steps const& nest, Visit const& each, int loop = 0,
           std::array<extent, meshtf::max_operands> at = {}) {
  if (loop == nest.rank) return each(at);
  for (extent i = 0; i < nest.size[static_cast<std::size_t>(loop)]; ++i) {
    visit(nest, each, loop + 1, at);
    for (std::size_t k = 0; k < meshtf::max_operands; ++k)
      at[k] += nest.stride[k][static_cast<std::size_t>(loop)];
  }
}

/// Elements that operand `k` reaches.
extent reach(nest_steps const& nest, std::size_t k) {
  extent last = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(nest.rank); ++i)
    last += (nest.size[i] - 1) * nest.stride[k][i];
  return last + 1;
}

/// An element as functors see it.
template<class T>
meshtf::computed<T> wide(T x) {
  return static_cast<meshtf::computed<T>>(x);
}

/// The nest by map_nest and by plain loops. `N` operands are read.
template<std::size_t N, class T, class F>
bool maps(nest_steps const& nest, F f) {
  std::array<std::vector<T>, N> x;
  for (std::size_t k = 0; k < N; ++k) x[k] = numbers<T>(reach(nest, k), static_cast<int>(k));
  std::vector<T> z(static_cast<std::size_t>(reach(nest, N)), T(77));
  std::vector<T> want = z;
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    visit(nest, [&](auto const& at) {
      want[static_cast<std::size_t>(at[N])] =
          static_cast<T>(f(wide(x[K][static_cast<std::size_t>(at[K])])...));
    });
    kernel::map_nest(nest, f, z.data(), x[K].data()...);
    auto plain      = [&](auto const&... a) { return f(a...); };
    bool const same = z == want;
    kernel::map_nest(nest, plain, z.data(), x[K].data()...);
    return same && z == want;
  }(std::make_index_sequence<N>{});
}

template<reduction Op, class T>
T joined(T a, T b) {
  if (Op == reduction::sum) return a + b;
  return Op == reduction::max ? std::max(a, b) : std::min(a, b);
}

/// The same reduced. The result has the type that is computed with.
template<std::size_t N, reduction Op, bool Accumulate, class T, class F>
bool reduces(nest_steps const& nest, F f) {
  using W = meshtf::computed<T>;
  std::array<std::vector<T>, N> x;
  for (std::size_t k = 0; k < N; ++k) x[k] = numbers<T>(reach(nest, k), static_cast<int>(k) + 5);
  std::vector<W> z(static_cast<std::size_t>(reach(nest, N)), W(-4));
  std::vector<W> want  = z;
  std::vector<W> again = z;
  std::vector<bool> seen(z.size(), Accumulate);
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    visit(nest, [&](auto const& at) {
      auto const i  = static_cast<std::size_t>(at[N]);
      W const value = f(wide(x[K][static_cast<std::size_t>(at[K])])...);
      want[i]       = seen[i] ? joined<Op>(want[i], value) : value;
      seen[i]       = true;
    });
    kernel::reduce_nest<Op, Accumulate>(nest, f, z.data(), x[K].data()...);
    auto plain = [&](auto const&... a) { return f(a...); };
    kernel::reduce_nest<Op, Accumulate>(nest, plain, again.data(), x[K].data()...);
    return z == want && again == want;
  }(std::make_index_sequence<N>{});
}

template<std::size_t N, class T, class F>
bool reduces_every_way(nest_steps const& nest, F f) {
  return reduces<N, reduction::sum, false, T>(nest, f) && reduces<N, reduction::sum, true, T>(nest, f) &&
         reduces<N, reduction::max, false, T>(nest, f) && reduces<N, reduction::max, true, T>(nest, f) &&
         reduces<N, reduction::min, false, T>(nest, f);
}

/// Dims of `loops` in the order of `digits`: list("20") is dimension 2, then 0.
dim_list list(char const* digits) {
  dim_list dims;
  for (; *digits != 0; ++digits) dims.push_back(*digits - '0');
  return dims;
}

nest_steps planned(std::vector<extent> const& loops, std::vector<char const*> const& operands) {
  std::vector<dim_list> lists;
  for (auto text : operands) lists.push_back(list(text));
  return meshtf::plan_nest(loops, lists);
}

}  // namespace

TEST_CASE("rows of every length", "[nest]") {
  for (extent n = 1; n <= 140; ++n) {
    INFO(n);
    CHECK(maps<2, float>(planned({n}, {"0", "0", "0"}), add{}));
    CHECK(maps<2, double>(planned({n}, {"0", "", "0"}), add{}));
    CHECK(maps<2, std::int32_t>(planned({n}, {"", "0", "0"}), add{}));
    CHECK(maps<2, float>(planned({3, n}, {"0", "01", "01"}), add{}));
    CHECK(maps<2, float>(planned({n, 3}, {"0", "01", "01"}), add{}));
    CHECK(maps<2, float>(planned({3, n}, {"01", "1", "01"}), add{}));
    CHECK(maps<2, double>(planned({n, 5}, {"01", "1", "01"}), add{}));
    CHECK(maps<1, float>(planned({n, 7}, {"01", "10"}), relu{}));
    CHECK(maps<2, bfloat16>(planned({n}, {"0", "0", "0"}), add{}));
    CHECK(maps<2, bfloat16>(planned({n}, {"0", "", "0"}), add{}));
    CHECK(maps<2, bfloat16>(planned({3, n}, {"0", "01", "01"}), add{}));
    CHECK(maps<2, bfloat16>(planned({n, 3}, {"0", "01", "01"}), add{}));
    CHECK(maps<1, bfloat16>(planned({n, 7}, {"01", "10"}), relu{}));
    CHECK(maps<2, std::int64_t>(planned({3, n}, {"01", "1", "01"}), add{}));
    CHECK(reduces_every_way<1, bfloat16>(planned({n}, {"0", ""}), scaled{}));
    CHECK(reduces_every_way<1, bfloat16>(planned({n, 5}, {"01", "1"}), scaled{}));
    CHECK(reduces_every_way<2, bfloat16>(planned({9, n}, {"01", "0", "1"}), add{}));
    CHECK(reduces_every_way<1, std::int64_t>(planned({9, n}, {"01", "0"}), scaled{}));
    CHECK(reduces_every_way<1, float>(planned({n}, {"0", ""}), scaled{}));
    CHECK(reduces_every_way<1, std::int32_t>(planned({n}, {"0", ""}), scaled{}));
    CHECK(reduces_every_way<1, float>(planned({n, 5}, {"01", "1"}), scaled{}));
    CHECK(reduces_every_way<1, float>(planned({n, 5}, {"01", "0"}), scaled{}));
    CHECK(reduces_every_way<1, double>(planned({9, n}, {"01", "0"}), scaled{}));
    CHECK(reduces_every_way<2, float>(planned({9, n}, {"01", "0", "1"}), add{}));
    CHECK(reduces_every_way<2, float>(planned({n, 4}, {"01", "1", "01"}), add{}));
  }
}

TEST_CASE("many short rows that share what they are joined with", "[nest]") {
  for (extent n : {2, 3, 10, 16, 17, 40, 100}) {
    extent const rows = 5000 / n + 3;
    for (auto x : {"012", "02", "01", "2"})
      for (auto y : {"12", "02", "01", "1", "2", ""}) {
        INFO(n << ": " << x << ", " << y);
        CHECK(maps<2, float>(planned({2, rows, n}, {x, y, "012"}), add{}));
        CHECK(maps<2, std::int32_t>(planned({1, rows, n}, {x, y, "012"}), add{}));
        CHECK(maps<2, bfloat16>(planned({2, rows, n}, {x, y, "012"}), add{}));
      }
    CHECK(reduces_every_way<1, float>(planned({rows, n}, {"01", "0"}), scaled{}));
    CHECK(reduces_every_way<2, float>(planned({2, rows, n}, {"012", "12", "01"}), add{}));
    CHECK(reduces_every_way<2, bfloat16>(planned({2, rows, n}, {"012", "12", "01"}), add{}));
  }
}

TEST_CASE("broadcasts, transpositions and sums over every choice of dimensions", "[nest]") {
  // of four dimensions: every subset for each operand, the larger ones in two orders
  std::array<char const*, 22> const shapes{"",    "0",    "1",    "2",    "3",    "01",  "02",  "03",
                                           "12",  "13",   "23",   "012",  "013",  "023", "123", "210",
                                           "321", "3120", "0123", "3210", "1032", "10"};
  for (auto const& loops : {std::vector<extent>{3, 5, 2, 17}, {2, 40, 3, 6}, {20, 1, 9, 4}}) {
    for (auto x : shapes)
      for (auto z : shapes) {
        // what the result has and no operand has is a broadcast; what it lacks is summed
        INFO(x << " -> " << z);
        CHECK(reduces<2, reduction::sum, false, float>(planned(loops, {x, "0123", z}), add{}));
        CHECK(reduces<2, reduction::max, true, std::int32_t>(planned(loops, {x, "0123", z}), add{}));
        CHECK(reduces<1, reduction::min, false, double>(planned(loops, {x, z}), scaled{}) == true);
        CHECK(reduces<2, reduction::sum, false, bfloat16>(planned(loops, {x, "0123", z}), add{}));
      }
    for (auto x : shapes)
      for (auto y : shapes)
        for (auto z : {"0123", "3210", "1032"}) {
          INFO(x << ", " << y << " -> " << z);
          CHECK(maps<3, float>(planned(loops, {x, y, "0321", z}), mixture{}));
          CHECK(maps<2, double>(planned(loops, {x, y, z}), add{}));
          CHECK(maps<3, bfloat16>(planned(loops, {x, y, "0321", z}), mixture{}));
        }
  }
}

TEST_CASE("narrow rows are rounded once, as one number is", "[nest]") {
  for (extent n : {1, 15, 16, 17, 1000, 1024, 5003}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    std::uint32_t state = 7;
    // of every size, and some are not a number
    for (auto& e : x) e = std::bit_cast<float>(state = state * 1664525U + 1013904223U);
    std::vector<bfloat16> z(x.size());
    kernel::map_row(n, meshtf::function::identity{}, z.data(), x.data());
    std::vector<float> back(x.size());
    kernel::widen(n, z.data(), back.data());
    bool same       = true;
    bool wide_again = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      same       = same && z[i].bits == bfloat16{x[i]}.bits;
      wide_again = wide_again && std::bit_cast<std::uint32_t>(back[i]) == std::uint32_t{z[i].bits} << 16;
    }
    CHECK(same);
    CHECK(wide_again);
    // a result of two operations has one rounding: 1 + 1/256 is a tie in bfloat16, and goes to 1
    std::vector<bfloat16> one(x.size(), bfloat16{1});
    std::vector<bfloat16> small(x.size(), bfloat16{0x1p-8F});
    kernel::map_row(
        n, [](float a, float b) { return a + b - 1.0F; }, one.data(),
        static_cast<bfloat16 const*>(one.data()), static_cast<bfloat16 const*>(small.data()));
    CHECK(one == small);
  }
}

TEST_CASE("transpositions of every size", "[nest]") {
  for (extent n = 1; n <= 70; ++n) {
    INFO(n);
    CHECK(maps<1, float>(planned({n, 19}, {"01", "10"}), scaled{}));
    CHECK(maps<1, double>(planned({37, n}, {"01", "10"}), scaled{}));
    CHECK(maps<1, std::int32_t>(planned({n, 21}, {"01", "10"}), scaled{}));
    CHECK(maps<1, bfloat16>(planned({n, 21}, {"01", "10"}), scaled{}));
    CHECK(maps<1, std::int64_t>(planned({n, 21}, {"01", "10"}), scaled{}));
    CHECK(maps<2, float>(planned({n, 33}, {"01", "10", "01"}), add{}));
    CHECK(maps<2, float>(planned({18, n}, {"0", "10", "01"}), add{}));
    for (auto z : {"021", "102", "210", "201", "120"}) {
      CHECK(maps<1, float>(planned({5, n, 3}, {"012", z}), scaled{}));
      CHECK(maps<1, float>(planned({6, 20, n}, {"012", z}), scaled{}));
      CHECK(maps<1, double>(planned({n, 2, 9}, {"012", z}), scaled{}));
    }
  }
}

TEST_CASE("bools are turned and joined", "[nest]") {
  std::array<bool, 20 * 33> x{};
  std::array<bool, 20 * 33> z{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 7 < 3;
  kernel::map_nest(planned({20, 33}, {"01", "10"}), meshtf::function::identity{}, z.data(),
                   static_cast<bool const*>(x.data()));
  bool same = true;
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < 33; ++j) same = same && z[j * 20 + i] == x[i * 33 + j];
  CHECK(same);
  std::array<bool, 20> any{};
  std::array<bool, 20> all{};
  x[5]  = true;
  x[33] = false;
  for (std::size_t j = 0; j < 33; ++j) {
    x[2 * 33 + j] = true;
    x[3 * 33 + j] = false;
  }
  kernel::reduce_nest<reduction::max>(planned({20, 33}, {"01", "0"}), meshtf::function::identity{},
                                      any.data(), static_cast<bool const*>(x.data()));
  kernel::reduce_nest<reduction::min>(planned({20, 33}, {"01", "0"}), meshtf::function::identity{},
                                      all.data(), static_cast<bool const*>(x.data()));
  CHECK((any[0] && any[2] && !any[3] && !all[0] && all[2] && !all[3]));
}

TEMPLATE_TEST_CASE("products of an array and one that is read across its rows", "[nest]", float, double,
                   std::int32_t) {
  using T = TestType;
  for (extent n : {30, 64, 96, 128, 129, 256}) {
    INFO(n);
    std::vector<T> x(static_cast<std::size_t>(20 * n));
    std::vector<T> y(static_cast<std::size_t>(n * 8));
    std::vector<T> z(20 * 8);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 5);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(i % 7);
    kernel::reduce_nest<reduction::sum>(planned({20, 8, n}, {"02", "21", "01"}), times{}, z.data(),
                                        std::as_const(x).data(), std::as_const(y).data());
    for (extent i = 0; i < 20; ++i)
      for (extent j = 0; j < 8; ++j) {
        T expected{};
        for (extent k = 0; k < n; ++k)
          expected += x[static_cast<std::size_t>(i * n + k)] * y[static_cast<std::size_t>(k * 8 + j)];
        REQUIRE(z[static_cast<std::size_t>(i * 8 + j)] == expected);
      }
  }
}

TEST_CASE("sums of few and of many rows of every length", "[nest]") {
  for (extent rows : {2, 7, 16, 17, 33})
    for (extent n = 1; n <= 70; ++n) {
      INFO(rows << " x " << n);
      CHECK(reduces_every_way<1, float>(planned({rows, n}, {"01", "0"}), scaled{}));
      CHECK(reduces_every_way<2, double>(planned({rows, n}, {"01", "1", "0"}), add{}));
      CHECK(reduces_every_way<2, float>(planned({rows, n}, {"01", "0", "1"}), add{}));
      CHECK(reduces_every_way<1, float>(planned({3, n, rows}, {"012", "02"}), scaled{}));
      CHECK(reduces_every_way<1, float>(planned({rows, n}, {"10", "0"}), scaled{}));
    }
  // in pieces: what a number at a time is given, and what lies across
  CHECK(reduces_every_way<1, float>(planned({3, 5000}, {"01", "0"}), scaled{}));
  CHECK(reduces_every_way<2, std::int32_t>(planned({3, 5000}, {"01", "1", "0"}), add{}));
  CHECK(reduces_every_way<2, float>(planned({20, 3000}, {"01", "10", "0"}), add{}));
}

TEST_CASE("nests that are one block, and those that are a little too large for it", "[nest]") {
  for (extent rows : {2, 8, 63, 64, 65})
    for (extent n : {15, 16, 17, 127, 128, 129, 512, 1000}) {
      INFO(rows << " x " << n);
      for (auto x : {"01", "10", "0", "1", ""})
        for (auto y : {"01", "10", "0", "1"}) {
          INFO(x << ", " << y);
          CHECK(maps<2, float>(planned({rows, n}, {x, y, "01"}), add{}));
          CHECK(reduces<2, reduction::sum, true, float>(planned({rows, n}, {x, y, "0"}), add{}));
          CHECK(reduces<2, reduction::max, false, double>(planned({rows, n}, {x, y, "1"}), add{}));
        }
    }
}

TEST_CASE("a sum's bits do not depend on how many rows are added up", "[nest]") {
  for (extent n : {7, 8, 9, 16, 17, 100, 300}) {
    std::vector<float> x(static_cast<std::size_t>(n * 40));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = 0.1f + std::sqrt(static_cast<float>(i % static_cast<std::size_t>(n)));
    for (extent rows = 2; rows <= 40; ++rows) {
      INFO(rows << " x " << n);
      std::vector<float> z(static_cast<std::size_t>(rows));
      kernel::reduce_nest<reduction::sum>(planned({rows, n}, {"01", "0"}), meshtf::function::identity{},
                                          z.data(), x.data());
      float one = 0;
      kernel::reduce_nest<reduction::sum>(planned({n}, {"0", ""}), meshtf::function::identity{}, &one,
                                          x.data());
      for (float sum : z) CHECK(sum == one);
    }
  }
}

TEST_CASE("strides that no tensor has", "[nest]") {
  std::uint32_t state = 1;
  auto const next     = [&](std::uint32_t n) {
    return static_cast<extent>((state = state * 1664525u + 1013904223u) >> 16) % static_cast<extent>(n);
  };
  for (int round = 0; round < 400; ++round) {
    nest_steps nest{.rank = 1 + static_cast<int>(next(4)), .operands = 3};
    extent run = 1;
    for (std::size_t i = static_cast<std::size_t>(nest.rank); i-- > 0;) {
      nest.size[i]      = 1 + next(next(3) == 0 ? 50 : 7);
      bool const still  = next(3) == 0;
      nest.stride[0][i] = next(4) * (1 + next(20));
      nest.stride[1][i] = next(3) * run;
      // no two iterations write one element unless they join there
      nest.stride[2][i] = still ? 0 : run * (1 + next(2));
      run *= nest.size[i] * 2;
    }
    nest = collapsed(nest);
    INFO(round);
    CHECK(reduces<2, reduction::sum, false, float>(nest, add{}));
    CHECK(reduces<2, reduction::max, true, double>(nest, add{}));
    if (!nest.reduces) CHECK(maps<2, float>(nest, add{}));
  }
}

TEST_CASE("a nest without loops is one turn", "[nest]") {
  CHECK(maps<2, float>(planned({1, 1}, {"01", "", "10"}), add{}));
  CHECK(reduces_every_way<1, float>(planned({}, {"", ""}), scaled{}));
}

TEST_CASE("in place", "[nest]") {
  for (extent n : {1, 15, 16, 17, 300}) {
    auto x    = numbers<float>(n * 3, 1);
    auto b    = numbers<float>(n, 2);
    auto want = x;
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = want[i] + b[i % static_cast<std::size_t>(n)];
    kernel::map_nest(planned({3, n}, {"01", "1", "01"}), add{}, x.data(), x.data(), b.data());
    CHECK(x == want);
    kernel::map_nest(planned({3, n}, {"01", "01"}), [](float v) { return v + 1; }, x.data(), x.data());
    for (auto& v : want) v += 1;
    CHECK(x == want);
  }
}

TEST_CASE("in place, rows of every length", "[nest]") {
  for (extent n = 1; n <= 70; ++n) {
    INFO(n);
    auto x    = numbers<float>(n * 5, 1);
    auto b    = numbers<float>(5, 2);
    auto want = x;
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = want[i] + b[i / static_cast<std::size_t>(n)];
    kernel::map_nest(planned({5, n}, {"01", "0", "01"}), add{}, x.data(), x.data(), b.data());
    CHECK(x == want);
    kernel::map_row(n, add{}, x.data(), x.data(), x.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) want[i] += want[i];
    CHECK(x == want);
  }
}

TEST_CASE("element types may differ", "[nest]") {
  auto const x    = numbers<std::int32_t>(6 * 35, 3);
  auto const cast = [](auto v) { return static_cast<float>(v) / 2; };
  std::vector<float> z(x.size());
  std::vector<float> sums(6);
  kernel::map_nest(planned({6, 35}, {"01", "10"}), cast, z.data(), x.data());
  kernel::reduce_nest<reduction::sum>(planned({6, 35}, {"01", "0"}), cast, sums.data(), x.data());
  for (std::size_t i = 0; i < 6; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 35; ++k) {
      float const half = static_cast<float>(x[i * 35 + k]) / 2;
      sum += half;
      CHECK(z[k * 6 + i] == half);
    }
    CHECK(sums[i] == sum);
  }
}

TEST_CASE("an element's bits do not depend on where it stands", "[nest]") {
  std::vector<float> x(67, 0.37f);
  std::vector<float> z(67);
  kernel::map_nest(planned({67}, {"0", "0"}), exponential{}, z.data(), x.data());
  for (float v : z) CHECK(v == z[0]);
  kernel::map_nest(planned({1, 67}, {"", "1"}), exponential{}, z.data(), x.data());
  for (float v : z) CHECK(v == z[0]);
  CHECK(std::abs(z[0] - std::exp(0.37f)) < 3e-7f);
}

TEST_CASE("NaN is handed on", "[nest]") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t bad = 0; bad < 100; ++bad) {
    auto x = numbers<float>(100, 4);
    x[bad] = nan;
    std::vector<float> z(100);
    std::vector<float> columns(10);
    kernel::map_nest(planned({100}, {"0", "0"}), relu{}, z.data(), x.data());
    CHECK(std::isnan(z[bad]));
    float largest = 0;
    kernel::reduce_nest<reduction::max>(planned({100}, {"0", ""}), meshtf::function::identity{}, &largest,
                                        x.data());
    CHECK(std::isnan(largest));
    kernel::reduce_nest<reduction::min>(planned({10, 10}, {"01", "1"}), meshtf::function::identity{},
                                        columns.data(), x.data());
    for (std::size_t i = 0; i < 10; ++i) CHECK(std::isnan(columns[i]) == (i == bad % 10));
    kernel::reduce_nest<reduction::max>(planned({10, 10}, {"01", "0"}), meshtf::function::identity{},
                                        columns.data(), x.data());
    for (std::size_t i = 0; i < 10; ++i) CHECK(std::isnan(columns[i]) == (i == bad / 10));
  }
  CHECK(std::isnan(meshtf::math::max(0.0f, nan)));
}

TEST_CASE("long sums of floats are accurate", "[nest]") {
  std::vector<float> x(1'000'003);
  double want = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    want += static_cast<double>(x[i] = 0.1f + 1e-7f * static_cast<float>(i % 1000));
  float sum = 0;
  kernel::reduce_nest<reduction::sum>(planned({1'000'003}, {"0", ""}), meshtf::function::identity{}, &sum,
                                      x.data());
  CHECK(std::abs(static_cast<double>(sum) / want - 1) < 2e-6);
  kernel::reduce_nest<reduction::sum>(
      planned({1'000'003}, {"0", ""}), [](float v) { return v; }, &sum, x.data());
  CHECK(std::abs(static_cast<double>(sum) / want - 1) < 5e-6);
}

namespace {

struct momentum {
  static constexpr bool vectorised = true;
  float rate;
  template<class X>
  void operator()(X& w, X& v, X const& g) const {
    using meshtf::math::sqrt;
    v = v * X(0.5f) + g * g;
    w = w - X(rate) * g / (sqrt(v) + X(1));
  }
};

}  // namespace

TEST_CASE("transform changes arrays where they lie", "[transform]") {
  for (extent n = 0; n <= 50; ++n) {
    auto w       = numbers<float>(n, 1);
    auto v       = numbers<float>(n, 2);
    auto v0      = v;
    auto w1      = w;
    auto v1      = v;
    auto const g = numbers<float>(n, 3);
    for (auto* p : {&v, &v1})
      for (auto& x : *p) x *= x;
    kernel::transform(n, momentum{0.1f}, w.data(), v.data(), g.data());
    kernel::transform(
        n, [](float& a, float& b, float const& c) { momentum{0.1f}(a, b, c); }, w1.data(), v1.data(),
        g.data());
    CHECK(v == v1);
    for (std::size_t i = 0; i < w.size(); ++i) CHECK(std::abs(w[i] - w1[i]) <= 1e-5f);
    kernel::fill(n, 2.0f, w.data());
    for (float x : w) CHECK(x == 2.0f);
  }
}

TEST_CASE("pick reads and writes one element along a dimension", "[pick]") {
  constexpr extent outer = 3;
  constexpr extent along = 5;
  constexpr extent inner = 2;
  constexpr extent first = 10;
  auto const x           = numbers<double>(outer * along * inner, 8);
  std::vector<std::int32_t> const index{10, 14, 9, 15, 12, -3};
  std::vector<double> z(6, 99);
  std::vector<double> dx(x.size(), 1);
  kernel::pick(meshtf::contiguous_lines(outer, along, inner), first, x.data(), index.data(), z.data());
  CHECK(z == std::vector<double>{x[0], x[9], 0, 0, x[24], 0});

  std::vector<double> const dz{1, 2, 3, 4, 5, 6};
  kernel::pick_gradient(meshtf::contiguous_lines(outer, along, inner), first, -2.0, dz.data(), index.data(),
                        dx.data());
  std::vector<double> want(x.size(), 1);
  want[0] -= 2;
  want[9] -= 4;
  want[24] -= 10;
  CHECK(dx == want);
}

TEST_CASE("argmax is the first index of the largest", "[pick]") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const x{-3, 1, -1, 5, -1, 5, /**/ 2, nan, nan, 7, 9, nan};  // [2][3][2]
  std::vector<float> best(4);
  std::vector<std::int32_t> where(4);
  kernel::argmax(meshtf::contiguous_lines(2, 3, 2), 0, x.data(), best.data(), where.data());
  CHECK(where == std::vector<std::int32_t>{1, 1, 1, 0});
  CHECK((best[0] == -1 && best[1] == 5 && std::isnan(best[2]) && std::isnan(best[3])));
}

TEST_CASE("pick and argmax along the innermost dimension", "[pick]") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const x{-3, 5, 5, /**/ nan, 7, 8, /**/ 2, 9, nan, /**/ -1, -1, -2};
  std::vector<float> best(4);
  std::vector<float> z(4);
  std::vector<float> dx(12, 1);
  std::vector<std::int32_t> where(4);
  kernel::argmax(meshtf::contiguous_lines(4, 3, 1), 0, x.data(), best.data(), where.data());
  CHECK(where == std::vector<std::int32_t>{1, 0, 2, 0});
  CHECK((best[0] == 5 && std::isnan(best[1]) && std::isnan(best[2]) && best[3] == -1));

  std::vector<std::int32_t> const index{12, 13, 9, 11};  // what is out of range would be in another row
  kernel::pick(meshtf::contiguous_lines(4, 3, 1), 10, x.data(), index.data(), z.data());
  CHECK(z == std::vector<float>{5, 0, 0, -1});
  std::vector<float> const dz{1, 2, 3, 4};
  kernel::pick_gradient(meshtf::contiguous_lines(4, 3, 1), 10, 2.0f, dz.data(), index.data(), dx.data());
  CHECK(dx == std::vector<float>{1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 9, 1});
}

TEST_CASE("xtensor sees a shard without copying it", "[xtensor_view]") {
  std::vector<float> data(6, 1);
  auto view  = kernel::xtensor_view(data.data(), std::array<extent, 2>{2, 3});
  view(1, 0) = 7;
  CHECK(data[3] == 7);
  CHECK(view.shape()[1] == 3);

  float const* fixed = data.data();
  auto const seen    = kernel::xtensor_view(fixed, std::array<extent, 1>{6});
  CHECK(seen(3) == 7);
  static_assert(!std::is_assignable_v<decltype(seen(3)), float>);

  auto scalar = kernel::xtensor_view(data.data(), std::array<extent, 0>{});
  scalar()    = 4;
  CHECK(data[0] == 4);
}
