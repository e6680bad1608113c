// searchsorted under every layout, and against the plain loop: lines of any stride, ties, NaNs, each element
// type, and a program with a compiled library.
// test: program ops2 compiled
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"
#include "../../rejected_operands.hpp"

using namespace fixture;

namespace {

struct bins : dim<33> {};
struct one_bin : dim<1> {};

/// How many of the `n` elements, `step` apart, are less than x, or not larger.
template<class T>
int found_by_loop(T const* sequence, extent n, extent step, T x, bool right) {
  int found = 0;
  for (extent i = 0; i < n; ++i) {
    double const element = static_cast<double>(sequence[i * step]);
    double const value   = static_cast<double>(x);
    bool const less      = element < value || (std::isnan(value) && !std::isnan(element));
    bool const equal     = element == value || (std::isnan(value) && std::isnan(element));
    found += less || (right && equal);
  }
  return found;
}

template<class T>
void check_type() {
  auto& m            = processes<single>();
  auto const numbers = random_normal<double, alone, batch, bins>(m, {.seed = 1}, 0, 3);
  auto const sorted  = sort<bins>(cast<T>(round(numbers)));
  auto const x       = cast<T>(round(random_normal<double, alone, batch, hidden>(m, {.seed = 2}, 0, 4)));
  for (bool const right : {false, true}) {
    auto const z = searchsorted<bins>(sorted, x, {.right = right});
    for (extent b = 0; b < batch::size; ++b)
      for (extent h = 0; h < hidden::size; ++h) {
        extent const at = b * hidden::size + h;
        CHECK(z.data()[at] ==
              found_by_loop(sorted.data() + b * bins::size, bins::size, 1, x.data()[at], right));
      }
  }
}

}  // namespace

TEST_CASE("searchsorted of literal numbers: how many edges are before each") {
  if (!on_one_process()) return;
  auto const edges = literal<trio>({1, 3, 5});
  auto const x     = literal<quartet>({0, 1, 4, 9});
  CHECK(numbers_of(searchsorted<trio>(edges, x)) == list{0, 0, 2, 3});
  CHECK(numbers_of(searchsorted<trio>(edges, x, {.right = true})) == list{0, 1, 2, 3});
}

TEST_CASE("the positions of values are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const edges  = sort<in>(random_normal<double, L, in>(m, {.seed = 1}));
    auto const own    = sort<in>(floor(random_normal<double, L, batch, in>(m, {.seed = 2}, 0, 3)));
    auto const inside = sort<in>(random_normal<double, L, in, hidden>(m, {.seed = 3}));
    auto const x      = floor(random_normal<double, L, batch, hidden>(m, {.seed = 4}, 0, 3));
    see(searchsorted<in>(edges, x));
    see(searchsorted<in>(own, x));
    see(searchsorted<in>(own, x, {.right = true}));
    see(searchsorted<in>(inside, x));
    see(searchsorted<in>(inside, random_normal<double, L, batch>(m, {.seed = 5})));
    see(searchsorted<in>(edges, sum<batch, hidden>(x)));
    see(searchsorted<in>(cast<int>(own), cast<int>(x)));
    see(searchsorted<in>(cast<bfloat16>(own), cast<bfloat16>(x)));
  });
}

TEST_CASE("a search finds what the plain loop counts, in each type") {
  if (boost::mpi::communicator{}.size() != 1) return;
  check_type<float>();
  check_type<double>();
  check_type<bfloat16>();
  check_type<int>();
  check_type<std::int64_t>();
}

TEST_CASE("NaNs are larger than numbers; a sequence of one element; one line of a stride") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  tensor<double, alone, bins, hidden> columns{m};
  tensor<double, alone, hidden> x{m};
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (extent i = 0; i < columns.size; ++i) {
    extent const place = i / hidden::size;
    columns.data()[i]  = place < 30 ? static_cast<double>(place / 2) : nan;
  }
  for (extent i = 0; i < x.size; ++i) x.data()[i] = i % 3 == 0 ? nan : static_cast<double>(i - 2) / 2;
  for (bool const right : {false, true}) {
    auto const z = searchsorted<bins>(columns, x, {.right = right});
    for (extent i = 0; i < x.size; ++i)
      CHECK(z.data()[i] == found_by_loop(columns.data() + i, bins::size, hidden::size, x.data()[i], right));
  }
  tensor<double, alone, one_bin> one{m};
  auto const z = searchsorted<one_bin>(one, x);
  for (extent i = 0; i < x.size; ++i) CHECK(z.data()[i] == (x.data()[i] > 0 || std::isnan(x.data()[i])));
}

TEST_CASE("searchsorted accepts operands that were refused") {
  tensor<double, alone, batch> const x{processes<single>()};
  all_rejected(searchsorted<bins>(rejected{}, x), searchsorted<bins>(x, rejected{}, {.right = true}));
}
