// Contractions against a plain loop over all indices.
#include "../catch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/kernel/contract.hpp>

namespace {

using namespace meshtf;

struct einsum {
  std::vector<extent> loops;
  dim_list x;
  dim_list y;
  dim_list z;

  extent size_of(dim_list const& dims) const {
    extent n = 1;
    for (int d : dims) n *= loops[static_cast<std::size_t>(d)];
    return n;
  }
};

std::string words(einsum const& e) {
  std::string text;
  for (auto const* dims : {&e.x, &e.y, &e.z}) {
    for (int d : *dims) text += static_cast<char>('a' + d);
    text += ' ';
  }
  for (extent n : e.loops) text += std::to_string(n) + ' ';
  return text;
}

/// The definition: every combination of indices, one after the other, summed in double.
template<class T>
std::vector<double> by_definition(einsum const& e, std::vector<T> const& x, std::vector<T> const& y) {
  std::vector<double> z(static_cast<std::size_t>(e.size_of(e.z)));
  std::vector<extent> index(e.loops.size());
  auto const offset = [&](dim_list const& dims) {
    extent at = 0;
    for (int d : dims) at = at * e.loops[static_cast<std::size_t>(d)] + index[static_cast<std::size_t>(d)];
    return static_cast<std::size_t>(at);
  };
  for (;;) {
    z[offset(e.z)] += static_cast<double>(x[offset(e.x)]) * static_cast<double>(y[offset(e.y)]);
    std::size_t d = e.loops.size();
    while (d > 0 && ++index[d - 1] == e.loops[d - 1]) index[--d] = 0;
    if (d == 0) return z;
  }
}

template<class T>
std::vector<T> small_integers(extent n, std::mt19937& random) {
  std::uniform_int_distribution<int> number(-4, 4);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& v : values) v = static_cast<T>(number(random));
  return values;
}

/// What nobody wrote must not leak into a result.
template<class T>
constexpr T poison = std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN()
                                                           : std::numeric_limits<T>::max();

/// Sums of small integers are exact in every element type, so the results must be equal to the last bit.
template<class T>
void check(einsum const& e, std::mt19937& random) {
  auto const steps = plan_contraction(e.loops, e.x, e.y, e.z);
  auto const x     = small_integers<T>(e.size_of(e.x), random);
  auto const y     = small_integers<T>(e.size_of(e.y), random);
  std::vector<T> z(static_cast<std::size_t>(e.size_of(e.z)), poison<T>);
  std::vector<T> scratch(static_cast<std::size_t>(steps.scratch), poison<T>);
  kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
  auto const expected = by_definition(e, x, y);
  INFO(words(e));
  bool const equal = std::equal(z.begin(), z.end(), expected.begin(),
                                [](T a, double b) { return static_cast<double>(a) == b; });
  CHECK(equal);
}

/// In bfloat16 these sums are exact in float and rounded once, unless an operand is summed alone before the
/// product: that sum is rounded too.
void check_narrow(einsum const& e, std::mt19937& random) {
  auto const steps      = plan_contraction(e.loops, e.x, e.y, e.z);
  auto const x          = small_integers<bfloat16>(e.size_of(e.x), random);
  auto const y          = small_integers<bfloat16>(e.size_of(e.y), random);
  extent const elements = narrow_scratch_of(steps, 2, 4).all();
  auto const expected   = by_definition(e, x, y);
  double const slack    = steps.x.walk.reduces || steps.y.walk.reduces ? 0x1p-5 : 0;
  for (bool natively : {kernel::multiplies_narrow(), false}) {
    std::vector<bfloat16> z(static_cast<std::size_t>(e.size_of(e.z)), poison<bfloat16>);
    std::vector<float> scratch(static_cast<std::size_t>(elements) + 1, poison<float>);
    scratch.back()     = 77;
    bool const usually = std::exchange(kernel::multiplies_narrow(), natively);
    kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
    kernel::multiplies_narrow() = usually;
    INFO(words(e) << (natively ? "natively" : "widened"));
    bool equal = true;
    for (std::size_t i = 0; i < z.size(); ++i)
      equal = equal && (z[i] == bfloat16{expected[i]} || std::abs(static_cast<double>(z[i]) - expected[i]) <
                                                             slack * (1000 + std::abs(expected[i])));
    CHECK(equal);
    CHECK(scratch.back() == 77);
  }
}

einsum read(std::string const& x, std::string const& y, std::string const& z, std::vector<extent> loops) {
  einsum e{std::move(loops), {}, {}, {}};
  for (char c : x) e.x.push_back(c - 'a');
  for (char c : y) e.y.push_back(c - 'a');
  for (char c : z) e.z.push_back(c - 'a');
  return e;
}

/// Up to six loops, each in x, in y or in both, kept or not, in any order.
einsum any_einsum(std::mt19937& random) {
  auto const pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  einsum e;
  std::vector<int> in_x;
  std::vector<int> in_y;
  std::vector<int> in_z;
  int const loops = 1 + pick(6);
  for (int d = 0; d < loops; ++d) {
    e.loops.push_back(pick(12) == 0 ? 33 + pick(10) : 1 + pick(5));
    int const where = pick(8);  // in both half of the time
    if (where != 0 && where != 1) in_x.push_back(d);
    if (where != 2 && where != 3) in_y.push_back(d);
    if (pick(5) < 3) in_z.push_back(d);
  }
  for (auto* dims : {&in_x, &in_y, &in_z}) std::shuffle(dims->begin(), dims->end(), random);
  for (int d : in_x) e.x.push_back(d);
  for (int d : in_y) e.y.push_back(d);
  for (int d : in_z) e.z.push_back(d);
  return e;
}

}  // namespace

TEST_CASE("a vector times a matrix that is large enough for the kernels of one row") {
  std::mt19937 random{5};
  // rows and columns that fill no batch and no block of rows; a vector that is a row, a column, a strided one
  for (auto const& e :
       {read("a", "ab", "b", {131, 129}), read("b", "ab", "a", {131, 129}),
        read("ca", "ab", "cb", {67, 261, 1}), read("cb", "ab", "ca", {261, 67, 1}),
        read("ab", "a", "b", {8, 2051}), read("ab", "b", "a", {2051, 9}),
        read("ac", "ab", "cb", {300, 64, 3}), read("ac", "ba", "cb", {300, 64, 3}),
        read("dac", "dab", "dcb", {257, 65, 1, 2}), read("dc", "dabc", "dab", {3, 90, 130, 2})}) {
    check<float>(e, random);
    check<double>(e, random);
  }
}

TEST_CASE("a product with a vector adds to what is there, or does not read it") {
  std::mt19937 random{6};
  extent const m = 130;
  extent const k = 133;
  auto const a   = small_integers<double>(m * k, random);
  auto const x   = small_integers<double>(std::max(m, k), random);
  for (double const beta : {0.0, 1.0, -2.0})
    for (bool const transposed : {false, true}) {
      extent const rows  = transposed ? k : m;
      extent const inner = transposed ? m : k;
      auto const size    = static_cast<std::size_t>(rows);
      std::vector<double> once(size, beta == 0 ? poison<double> : 3.0);
      auto turned = once;
      kernel::gemm(transposed, false, rows, extent{1}, inner, a.data(), k, x.data(), extent{1}, beta,
                   once.data(), extent{1});
      kernel::gemm(false, !transposed, extent{1}, rows, inner, x.data(), inner, a.data(), k, beta,
                   turned.data(), rows);
      for (extent i = 0; i < rows; ++i) {
        double sum = beta == 0 ? 0 : 3 * beta;
        for (extent p = 0; p < inner; ++p)
          sum += a[static_cast<std::size_t>(transposed ? p * k + i : i * k + p)] *
                 x[static_cast<std::size_t>(p)];
        INFO("row " << i << " of " << rows << ", beta " << beta);
        CHECK(once[static_cast<std::size_t>(i)] == sum);
        CHECK(turned[static_cast<std::size_t>(i)] == sum);
      }
    }
}

TEMPLATE_TEST_CASE("the einsums that models are made of", "", double, float, std::int32_t) {
  std::mt19937 random(1);
  // a layer, its two gradients, the transposed result
  for (auto const& e : {read("ab", "bc", "ac", {17, 40, 35}), read("ac", "bc", "ab", {17, 40, 35}),
                        read("ab", "ac", "bc", {17, 40, 35}), read("ab", "bc", "ca", {17, 40, 35})})
    check<TestType>(e, random);
  // projections, logits, their use, the gradients of keys
  check<TestType>(read("abc", "cde", "abde", {2, 9, 12, 3, 8}), random);
  check<TestType>(read("abde", "dec", "abc", {2, 9, 12, 3, 8}), random);
  check<TestType>(read("abcd", "aecd", "acbe", {2, 9, 3, 8, 7}), random);
  check<TestType>(read("acbe", "aecd", "abcd", {2, 9, 3, 8, 7}), random);
  check<TestType>(read("acbe", "abcd", "aecd", {2, 9, 3, 8, 7}), random);
  // cut in parts; through a buffer
  check<TestType>(read("abc", "cde", "adbe", {2, 40, 12, 3, 33}), random);
  check<TestType>(read("abc", "cde", "adbe", {2, 9, 12, 3, 8}), random);
}

TEMPLATE_TEST_CASE("any einsum is what it is by definition", "", double, float, std::int32_t) {
  std::mt19937 random(7);
  int products  = 0;
  int parts     = 0;
  int packed[3] = {};
  int nests     = 0;
  for (int i = 0; i < 400; ++i) {
    auto const e = any_einsum(random);
    if (e.size_of(e.x) > 50'000 || e.size_of(e.y) > 50'000) continue;
    extent iterations = 1;
    for (extent n : e.loops) iterations *= n;
    if (iterations > 500'000) continue;
    auto const steps = plan_contraction(e.loops, e.x, e.y, e.z);
    CHECK(steps.flops == 2 * iterations);
    products += steps.by_gemm;
    nests += !steps.by_gemm;
    parts += steps.batch.iterations > 1;
    packed[0] += steps.x.needed;
    packed[1] += steps.y.needed;
    packed[2] += steps.z.needed;
    check<TestType>(e, random);
    if constexpr (std::is_same_v<TestType, float>) check_narrow(e, random);
  }
  // the draw has met every way to do it
  CHECK(std::min({products, nests, parts, packed[0], packed[1], packed[2]}) >= 10);
}

TEST_CASE("products of bfloat16 that are cut into pieces") {
  std::mt19937 random(5);
  for (auto const& loops : {std::vector<extent>{1030, 20, 30}, std::vector<extent>{20, 30, 1030},
                            std::vector<extent>{30, 1030, 20}})
    for (auto x : {"ab", "ba"})
      for (auto y : {"bc", "cb"})
        for (auto z : {"ac", "ca"}) check_narrow(read(x, y, z, loops), random);
}

// Intel's instructions for bfloat16 alone have half of float's rate, AMD's twice that.
static_assert(!kernel::narrow_is_faster({}));
static_assert(!kernel::narrow_is_faster({.of_intel = true}));
static_assert(!kernel::narrow_is_faster({.of_intel = true, .bf16 = true}));
static_assert(kernel::narrow_is_faster({.of_intel = true, .bf16 = true, .amx = true}));
static_assert(kernel::narrow_is_faster({.bf16 = true}));

TEST_CASE("a product of bfloat16 rounds once") {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  extent const m = 70;
  extent const n = 60;
  extent const k = 600;
  std::vector<bfloat16> x;
  std::vector<bfloat16> y;
  for (extent i = 0; i < m * k; ++i) x.push_back(bfloat16{normal(random)});
  for (extent i = 0; i < k * n; ++i) y.push_back(bfloat16{normal(random)});
  auto const e        = read("ab", "bc", "ac", {m, k, n});
  auto const steps    = plan_contraction(e.loops, e.x, e.y, e.z);
  auto const expected = by_definition(e, x, y);
  for (bool natively : {kernel::multiplies_narrow(), false}) {
    std::vector<bfloat16> z(static_cast<std::size_t>(m * n));
    std::vector<float> scratch(static_cast<std::size_t>(narrow_scratch_of(steps, 2, 4).all()));
    bool const usually = std::exchange(kernel::multiplies_narrow(), natively);
    kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
    kernel::multiplies_narrow() = usually;
    double worst                = 0;
    for (std::size_t i = 0; i < z.size(); ++i)
      worst =
          std::max(worst, (std::abs(static_cast<double>(z[i]) - expected[i]) - 1e-4) / std::abs(expected[i]));
    INFO((natively ? "natively" : "widened"));
    CHECK(worst <= 0x1p-8);
  }
}

TEST_CASE(
    "the first product of bfloat16 that is done in float is told of once, where the environment asked for "
    "it") {
  auto const e     = read("ab", "bc", "ac", {4, 5, 6});
  auto const steps = plan_contraction(e.loops, e.x, e.y, e.z);
  std::vector<bfloat16> const x(20);
  std::vector<bfloat16> const y(30);
  std::vector<bfloat16> z(24);
  std::vector<float> scratch(static_cast<std::size_t>(narrow_scratch_of(steps, 2, 4).all()));
  auto const told_of = [&](bool natively) {
    bool const usually    = std::exchange(kernel::multiplies_narrow(), natively);
    std::FILE* const told = std::tmpfile();
    int const terminal    = dup(STDERR_FILENO);
    dup2(fileno(told), STDERR_FILENO);
    kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    kernel::multiplies_narrow() = usually;
    std::fseek(told, 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::ftell(told)), '\0');
    std::rewind(told);
    text.resize(std::fread(text.data(), 1, text.size(), told));
    std::fclose(told);
    return text;
  };
  bool const before = kernel::tell_of_widened_products.exchange(true);
  if (kernel::multiplies_narrow()) CHECK(told_of(true).empty());
  CHECK_THAT(told_of(false), Catch::Matchers::StartsWith(
                                 "meshtf: products of bfloat16 are done in float, since this processor"));
  CHECK(told_of(false).empty());
  kernel::tell_of_widened_products = before;
  CHECK(told_of(false).empty());
}

TEMPLATE_TEST_CASE("a matrix product adds to what is there if it is told so", "", double, float) {
  std::mt19937 random(3);
  for (extent m : {1, 2, 20, 50})
    for (extent n : {1, 3, 50})
      for (extent k : {1, 7, 64})
        for (int which = 0; which < 8; ++which) {
          bool const ta     = which & 1;
          bool const tb     = which & 2;
          auto const beta   = static_cast<TestType>(which >> 2);
          extent const lda  = (ta ? m : k) + 3;
          extent const ldb  = (tb ? k : n) + 2;
          extent const ldc  = n + 1;
          auto const a      = small_integers<TestType>((ta ? k : m) * lda, random);
          auto const b      = small_integers<TestType>((tb ? n : k) * ldb, random);
          auto const before = small_integers<TestType>(m * ldc, random);
          auto c            = before;
          kernel::gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
          bool equal = true;
          for (extent i = 0; i < m; ++i)
            for (extent j = 0; j < ldc; ++j) {
              auto const at     = static_cast<std::size_t>(i * ldc + j);
              TestType expected = before[at];
              if (j < n) {
                expected *= beta;
                for (extent p = 0; p < k; ++p)
                  expected += a[static_cast<std::size_t>(ta ? p * lda + i : i * lda + p)] *
                              b[static_cast<std::size_t>(tb ? j * ldb + p : p * ldb + j)];
              }
              equal = equal && c[at] == expected;
            }
          INFO(m << ' ' << n << ' ' << k << ' ' << which);
          CHECK(equal);
        }
}

TEST_CASE("a large product of floats, which BLAS computes where oneDNN would not pack, is by definition") {
  std::mt19937 random(5);
  // more than 2^25 multiplications
  constexpr extent m = 500;
  constexpr extent n = 512;
  constexpr extent k = 144;
  for (int which = 0; which < 8; ++which) {
    bool const ta     = which & 1;
    bool const tb     = which & 2;
    auto const beta   = static_cast<float>(which >> 2);
    extent const lda  = ta ? 2048 : k + 3;
    extent const ldb  = (tb ? k : n) + 2;
    auto const a      = small_integers<float>((ta ? k : m) * lda, random);
    auto const b      = small_integers<float>((tb ? n : k) * ldb, random);
    auto const before = small_integers<float>(m * n, random);
    auto c            = before;
    kernel::detail::gemm_of_strip(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, c.data(), n);
    bool equal = true;
    for (extent i = 0; i < m; i += 31)
      for (extent j = 0; j < n; ++j) {
        auto const here = static_cast<std::size_t>(i * n + j);
        float expected  = beta * before[here];
        for (extent p = 0; p < k; ++p)
          expected += a[static_cast<std::size_t>(ta ? p * lda + i : i * lda + p)] *
                      b[static_cast<std::size_t>(tb ? j * ldb + p : p * ldb + j)];
        equal = equal && c[here] == expected;
      }
    INFO(which);
    CHECK(equal);
  }
}

TEST_CASE("a matrix too large for BLAS is refused") {
  double one        = 1;
  extent const many = extent{1} << 32;
  CHECK_THROWS_AS(kernel::gemm(false, false, extent{2}, extent{2}, extent{2}, &one, many, &one, extent{2},
                               0.0, &one, extent{2}),
                  std::length_error);
}

TEST_CASE("the kernels that BLAS chose have a name") {
  std::string const name(kernel::blas_kernel_name());
  INFO(name);
  if (name == "Haswell" || name == "Zen" || name == "SkylakeX") CHECK_FALSE(kernel::blas_kernel_is_generic());
  if (name.empty()) CHECK_FALSE(kernel::blas_kernel_is_generic());
}
