// fused: the values and gradients of the operations that it stands for, under every layout.
// test: program ops2
#include <cmath>
#include <cstring>
#include <limits>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

constexpr auto gated   = [](auto g, auto u) { return silu(g) * u; };
constexpr auto blended = [](auto x, auto y, auto v) { return x + sigmoid(v) * (y - x); };
constexpr auto several = [](auto x, auto b) { return std::tuple{silu(x) * b, x - 2 * b}; };
constexpr auto chosen  = [](auto x, auto y) {
  return where(x > 0.5 && !(y < 0), 2 * x, where(x < y, y / (1 + x * x), -y));
};

// what f counts: silu's 4 steps and a product; a constant is free
static_assert(fusion::function_of<decltype(gated), 2>::steps<> == 5);
static_assert(fusion::function_of<decltype([](auto x) { return 2 * 3 * x + 1; }), 1>::steps<> == 2);
static_assert(fusion::function_of<decltype([rate = 0.5](auto x) { return rate * x; }), 1>::steps<> == 1);
// the derivative of a sum by one operand takes no step
static_assert(fusion::function_of<decltype([](auto x, auto y) { return x + y; }), 2>::steps<1> == 1);

// what it can't take
template<class F, std::size_t K = 1>
using lambda = fusion::can_be_fused<F, K>;
static_assert(lambda<decltype(blended), 3>::yes);
static_assert(!lambda<decltype(gated), 1>::takes);
static_assert(!lambda<decltype([](auto x) { return x > 0; })>::returns);
static_assert(!lambda<decltype([](auto) { return 1.0; })>::returns);
static_assert(!lambda<decltype([](auto x) { return x > 0 ? x : 2 * x; })>::chooses);
static_assert(!lambda<decltype([p = static_cast<double*>(nullptr)](auto x) { return *p * x; })>::keeps);

// several results: numbers alone, of which `fused_sum` and `fused_max` take one
static_assert(lambda<decltype(several), 2>::yes && lambda<decltype(several), 2>::in_tuple);
static_assert(!lambda<decltype(gated), 2>::in_tuple);
static_assert(fusion::function_of<decltype(several), 2>::results == 2);
static_assert(fusion::function_of<decltype(several), 2>::steps<> == 7);
static_assert(fusion::function_of<decltype([](auto x) { return std::array{x, x, x}; }), 1>::results == 3);
static_assert(!lambda<decltype([](auto x) { return std::tuple{x, x > 0}; })>::returns);
static_assert(!lambda<decltype([](auto) { return std::tuple<>{}; })>::returns);
static_assert(std::same_as<decltype(fused(several, rejected{}, rejected{})), std::array<rejected, 2>>);

// on which operands a value depends is part of its type
static_assert(std::same_as<decltype(gated(fusion::dual<double, 1>{}, fusion::dual<double, 2>{})),
                           fusion::dual<double, 3>>);

template<Layout L, class Out, class... X>
using plan = fused_plan<L, Out, X...>;
static_assert(plan<alone, shape<batch, in>, shape<batch, in>, shape<batch, in>>::one_pass);
static_assert(plan<alone, shape<batch, in>, shape<in>, shape<batch, in>>::one_pass);
static_assert(plan<alone, shape<batch, in>, shape<in>, shape<batch, in>>::rows == 1);
static_assert(!plan<alone, shape<batch, in>, shape<batch, in>, shape<batch>>::one_pass);
static_assert(!plan<alone, shape<batch, in>, shape<batch, in>, shape<>>::one_pass);
static_assert(!plan<alone, shape<batch, in>, shape<batch, in>, shape<in, batch>>::one_pass);

/// As `check_operation`, under two layouts.
template<class... S, class F>
void under_two(F const&) {
  using program = operation<double, F, drawn{}, S...>;
  if (boost::mpi::communicator{}.size() == 1) program::check_differences();
  check_program_under_two(program{}, 1e-12);
}

/// Whether two tensors have the same bits.
void same_bits(auto const& a, auto const& b) {
  REQUIRE(a.size == b.size);
  CHECK(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size) * sizeof(*a.data())) == 0);
}

}  // namespace

TEST_CASE("fused of literal numbers: a choice and a square, and their slopes") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({-2, -1, 0, 3});
  auto const z = fused([](auto v) { return where(v > 0, v * v, 0.5 * v); }, x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{-1, -0.5, 0, 9});
  CHECK(slopes_of(x) == list{0.5, 0.5, 0.5, 6});
}

TEST_CASE("fused of operands of one shape, and of rows, which may be first: one pass") {
  check_operation<shape<batch, in, hidden>, shape<batch, in, hidden>, shape<in, hidden>>(
      [](auto const& x, auto const& y, auto const& b) {
        return fused([](auto u, auto v, auto w) { return tanh(v + u) * w; }, b, fused(gated, x, y), b);
      });
}

TEST_CASE("fused of operands that lack other dimensions: a pass for each gradient") {
  under_two<shape<batch, hidden>, shape<batch>, shape<>>(
      [](auto const& x, auto const& y, auto const& v) { return fused(blended, x, y, v); });
}

TEST_CASE("fused in single precision, and comparisons") {
  check_operation_in_float<shape<batch, hidden>, shape<batch, hidden>>(
      [](auto const& x, auto const& y) { return fused(chosen, x, y); });
}

TEST_CASE("fused has the bits of the operations that it stands for") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  parameter<float, alone, batch, in, hidden> x{m, normal{1}};
  parameter<float, alone, batch, in, hidden> y{m, normal{2}};
  parameter<float, alone, hidden> b{m, normal{3}};
  same_bits(fused(gated, x, y), silu(x) * y);
  same_bits(fused([](auto v) { return 50 * tanh(v / 50); }, x), tanh(x / 50) * 50);
  same_bits(fused(blended, x, y, b), x + sigmoid(b) * (y - x));
  same_bits(fused([](auto v, auto w, auto c) { return v * w + c * w - 0.1 * v; }, x, y, b),
            x * y + b * y - 0.1 * x);
  same_bits(fused([](auto v, auto c) { return gelu(v + c); }, x, b), bias_gelu(x, b));
  same_bits(fused([](auto v, auto w) { return softplus(v) - log(1 + square(w)) * rsqrt(1 + w * w); }, x, y),
            softplus(x) - log(1 + square(y)) * rsqrt(1 + y * y));
}

TEST_CASE("fused of bfloat16 rounds once, and its row's gradient is summed in float") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  parameter<bfloat16, alone, batch, hidden> x{m};
  parameter<bfloat16, alone, hidden> b{m};
  x            = random_normal<bfloat16, alone, batch, hidden>(m, {.seed = 1});
  b            = random_normal<bfloat16, alone, hidden>(m, {.seed = 2});
  auto const f = [](auto v, auto c) { return v * c + sigmoid(v); };
  auto const z = fused(f, x, b);
  backward(sum(cast<float>(z)));
  auto const v = cast<double>(x);
  auto const c = cast<double>(b);
  auto const e = v * c + sigmoid(v);
  auto const s = sigmoid(v);
  auto const g = s * (1 - s) + c;
  for (extent i = 0; i < z.size; ++i) {
    CHECK(std::abs(static_cast<double>(z.data()[i]) - e.data()[i]) <= std::abs(e.data()[i]) / 256);
    CHECK(std::abs(static_cast<double>(gradient(x).local_terms().data()[i]) - g.data()[i]) <=
          std::abs(g.data()[i]) / 256 + 1e-6);
  }
}

TEST_CASE("fused where functions overflow, and an infinity that is not chosen") {
  if (!on_one_process()) return;
  double const inf = std::numeric_limits<double>::infinity();
  auto const x     = literal<quartet>({-100, -800, 100, 800});
  backward(sum(fused([](auto v) { return silu(v) + softplus(v) + gelu(v); }, x)));
  CHECK(rounded(slopes_of(x)) == list{0, 0, 3, 3});
  auto const y = literal<duo>({-1, 1});
  auto const w = literal<duo>({inf, 2});
  backward(sum(fused([](auto v, auto u) { return where(v > 0, v * u, v); }, y, w)));
  CHECK(slopes_of(y) == list{1, 2});
  CHECK(slopes_of(w) == list{0, 1});
}

TEST_CASE("fused stores only gradients that are wanted") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  parameter<double, alone, batch, hidden> x{m, normal{1}};
  tensor<double, alone, batch, hidden> const y = random_normal<double, alone, batch, hidden>(m, {.seed = 2});
  parameter<double, alone, hidden> b{m, normal{3}};
  backward(sum(fused([](auto v, auto w, auto c) { return v * w + c; }, x, y, b)));
  CHECK(numbers_of(finish(gradient(x))) == numbers_of(y));
  CHECK(numbers_of(finish(gradient(b))) == list(static_cast<std::size_t>(hidden::size), batch::size));
}

TEST_CASE("fused_sum and fused_max of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, -2, 3}, {4, 5, -6}});
  auto const s = fused_sum<trio>([](auto v) { return where(v > 0, v, 0); }, x);
  CHECK(numbers_of(s) == list{4, 9});
  auto const z = fused_max<>([](auto v) { return square(v); }, x);
  backward(sum(s) + z);
  CHECK(numbers_of(z) == list{36});
  CHECK(slopes_of(x) == list{1, 0, 1, 1, 1, -12});
}

TEST_CASE("fused_sum and fused_max over all dimensions, and over some, also over split ones") {
  under_two<shape<batch, hidden>, shape<hidden>>([](auto const& x, auto const& b) {
    return std::tuple{fused_sum<>(gated, x, b), fused_sum<hidden>(gated, x, b),
                      fused_max<batch>(gated, x, b)};
  });
}

TEST_CASE("fused with several results of literal numbers, of which one has no gradient") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({-2, -1, 0, 3});
  auto const f = [](auto v) { return std::tuple{v * v, sqrt(v), 2 * v}; };

  auto const [square_of, root, twice] = fused(f, x);
  backward(sum(square_of) + sum(twice * twice));  // the root's derivative is NaN and infinite
  CHECK(numbers_of(square_of) == list{4, 1, 0, 9});
  CHECK(numbers_of(twice) == list{-4, -2, 0, 6});
  CHECK(slopes_of(x) == list{-20, -10, 0, 30});
}

TEST_CASE("fused with several results: of one shape and of rows, one pass; of other shapes, a pass each") {
  check_operation<shape<batch, in, hidden>, shape<in, hidden>>(
      [](auto const& x, auto const& b) { return fused(several, x, b); });
  under_two<shape<batch, hidden>, shape<batch>, shape<>>([](auto const& x, auto const& y, auto const& v) {
    auto const [first, second, third] =
        fused([](auto p, auto q, auto r) { return std::tuple{gated(p, q), p * r, q - r * p}; }, x, y, v);
    return std::tuple{first, third};  // nobody uses the second
  });
}

TEST_CASE("fused with several results has the bits of each alone") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  parameter<float, alone, batch, in, hidden> x{m, normal{1}};
  parameter<float, alone, hidden> b{m, normal{2}};
  auto const [first, second] = fused(several, x, b);
  same_bits(first, silu(x) * b);
  same_bits(second, x - 2 * b);
}

TEST_CASE("fused of bfloat16 with several results rounds each once") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  parameter<bfloat16, alone, batch, hidden> x{m};
  parameter<bfloat16, alone, hidden> b{m};
  x = random_normal<bfloat16, alone, batch, hidden>(m, {.seed = 1});
  b = random_normal<bfloat16, alone, hidden>(m, {.seed = 2});

  auto const [first, second] = fused(several, x, b);
  backward(sum(cast<float>(first)) + sum(cast<float>(second)));
  same_bits(first, cast<bfloat16>(fused(gated, cast<float>(x), cast<float>(b))));
  same_bits(second, cast<bfloat16>(cast<float>(x) - 2 * cast<float>(b)));
  auto const v = cast<double>(x);
  auto const s = sigmoid(v);
  auto const g = (s + v * s * (1 - s)) * cast<double>(b) + 1;
  for (extent i = 0; i < g.size; ++i)
    CHECK(std::abs(static_cast<double>(gradient(x).local_terms().data()[i]) - g.data()[i]) <=
          std::abs(g.data()[i]) / 256 + 1e-6);
  auto const h = sum<batch>(silu(v)) - 2.0 * batch::size;
  for (extent i = 0; i < h.size; ++i)
    CHECK(std::abs(static_cast<double>(gradient(b).local_terms().data()[i]) - h.data()[i]) <=
          std::abs(h.data()[i]) / 256 + 1e-5);
}
