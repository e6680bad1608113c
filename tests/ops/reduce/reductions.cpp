// Products, minima, what is true, logsumexp, variance, norms, extremes with their index and softmax with an
// extra logit, under every layout and against closed formulas.
// test: program ops2
#include <cmath>
#include <limits>
#include <vector>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

constexpr double inf          = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool alone_here() { return boost::mpi::communicator{}.size() == 1; }

/// The value and gradient of f of one row of these numbers.
struct value_and_gradient {
  double value;
  std::vector<double> gradient;
};
struct four : dim<4> {};
value_and_gradient of_row(auto const& f, std::array<double, 4> const& numbers) {
  parameter<double, alone, four> x{processes<single>()};
  std::copy(numbers.begin(), numbers.end(), x.data());
  auto const z = f(x);
  backward(z);
  auto const dx = finish(gradient(x));
  return {z.value(), {dx.data(), dx.data() + 4}};
}

}  // namespace

TEST_CASE("reductions of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 6}, {4, 9, 5}});
  backward(sum(product<trio>(x)));
  CHECK(numbers_of(min<trio>(x)) == list{1, 4});
  CHECK(numbers_of(product<trio>(x)) == list{12, 180});
  CHECK(slopes_of(x) == list{12, 6, 2, 45, 20, 36});
  CHECK(rounded(numbers_of(logsumexp<duo>(literal<duo>({std::log(2.0), std::log(6.0)})))) == list{2.0794});
  CHECK(rounded(numbers_of(variance<duo>(x))) == list{2.25, 12.25, 0.25});
  CHECK(rounded(numbers_of(l2_norm(literal<duo>({3, 4})))) == list{5});
  CHECK(numbers_of(any<trio>(greater(x, 8))) == list{0, 1});
}

TEST_CASE("min over one, several and all dimensions") {
  check_operation<shape<batch, in, hidden>>(
      [](auto const& x) { return std::tuple{min<hidden>(x), min<batch, in>(x), min(x)}; });
}

TEST_CASE("product over one, several and all dimensions") {
  check_operation<drawn{1, 0.3}, shape<batch, length, hidden>>([](auto const& x) {
    return std::tuple{product<hidden>(x), product<batch, length>(x), product<length>(x)};
  });
  check_operation<drawn{1, 0.3}, shape<hidden>>([](auto const& x) { return product(x); });
}

TEST_CASE("product of elements of which some are 0: their gradient is the product of the others") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1}};
    auto const few  = random_normal<double, L, batch, hidden>(m, {.seed = 8});
    auto const hole = where(less(few, -1.5), 0, x);  // rows with none, one and several zeros
    see(product<hidden>(hole));
    auto const of_rows = sum(product<hidden>(hole));
    auto const of_all  = sum(product<batch>(hole));
    auto const loss    = of_rows + of_all;
    backward(loss);
    see(finish(gradient(x)));
  });
  if (!alone_here()) return;
  auto const f    = [](auto const& x) { return product(x); };
  auto const none = of_row(f, {2, 3, -1, 5});
  auto const one  = of_row(f, {2, 0, -1, 5});
  auto const two  = of_row(f, {2, 0, 0, 5});
  CHECK(none.value == -30);
  CHECK(none.gradient == std::vector<double>{-15, -10, 30, -6});
  CHECK(one.value == 0);
  CHECK(one.gradient == std::vector<double>{0, -10, 0, 0});
  CHECK(two.gradient == std::vector<double>{0, 0, 0, 0});
  CHECK(std::isnan(of_row(f, {2, 0, inf, 5}).value));
}

TEST_CASE("any and all, of bools, integers and the results of comparisons") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x     = random_normal<double, L, batch, hidden>(m, {.seed = 3});
    auto const large = greater(x, 1.2);
    see(any<hidden>(large));
    see(all<hidden>(less(x, 1.2)));
    see(any<batch>(cast<bool>(large)));
    see(all<batch>(cast<bool>(less(x, 1))));
    see(any(cast<bool>(greater(x, 100))));
    see(all(cast<int>(x)));
    see(any<batch, hidden>(is_nan(x)));
    see(product<hidden>(cast<int>(2 * x)));
    see(min<hidden>(cast<int>(10 * x)));
    see(max<batch>(cast<std::int64_t>(10 * x)));
  });
  if (!alone_here()) return;
  auto& m = processes<single>();
  tensor<double, alone, four> x{m};
  CHECK(any(x).value() == 0);
  CHECK(all(x).value() == 0);
  x.data()[2] = not_a_number;  // is not 0, so it is true
  CHECK(any(x).value() == 1);
  x.data()[0] = x.data()[1] = x.data()[3] = -1;
  CHECK(all(x).value() == 1);
  tensor<bool, alone, four> b{m};
  b.data()[3] = true;
  CHECK(any(b).value());
  CHECK(!all(b).value());
}

TEST_CASE("logsumexp, variance and l2_norm over one, several and all dimensions") {
  check_operation<drawn{1, 2}, shape<batch, hidden>>([](auto const& x) {
    return std::tuple{logsumexp<hidden>(x), logsumexp<batch>(x), logsumexp(x),
                      variance<hidden>(x),  variance<batch>(x),  variance(x)};
  });
  check_operation<shape<batch, in, hidden>>(
      [](auto const& x) { return std::tuple{l2_norm<hidden>(x), l2_norm<batch, in>(x), l2_norm(x)}; });
}

TEST_CASE("the same in single precision") {
  check_operation_in_float<shape<batch, hidden>>([](auto const& x) {
    return std::tuple{logsumexp<hidden>(x), variance<batch>(x), l2_norm<hidden>(x), product<hidden>(x + 1),
                      min<batch>(x)};
  });
}

TEST_CASE("reductions of special values") {
  if (!alone_here()) return;
  auto const lse = [](auto const& x) { return logsumexp(x); };
  CHECK(std::abs(of_row(lse, {1000, 1000, -1000, 999}).value - (1000 + std::log(2 + std::exp(-1)))) < 1e-12);
  CHECK(of_row(lse, {-inf, 0, -inf, -inf}).value == 0);
  CHECK(of_row(lse, {-inf, 0, -inf, -inf}).gradient == std::vector<double>{0, 1, 0, 0});
  CHECK(of_row(lse, {-inf, -inf, -inf, -inf}).value == -inf);
  CHECK(of_row(lse, {-inf, -inf, -inf, -inf}).gradient == std::vector<double>{0, 0, 0, 0});
  CHECK(of_row(lse, {1, inf, 0, -inf}).value == inf);
  CHECK(std::isnan(of_row(lse, {1, not_a_number, 0, inf}).value));
  auto const length_of = [](auto const& x) { return l2_norm(x); };
  CHECK(of_row(length_of, {0, 0, 0, 0}).gradient == std::vector<double>{0, 0, 0, 0});
  CHECK(of_row(length_of, {0, 3, 0, -4}).value == 5);
  CHECK(of_row(length_of, {0, 3, 0, -4}).gradient == std::vector<double>{0, 0.6, 0, -0.8});
  auto const spread_of = [](auto const& x) { return variance(x); };
  CHECK(of_row(spread_of, {1e8 + 1, 1e8 + 2, 1e8 + 3, 1e8 + 4}).value == 1.25);
  auto const least = [](auto const& x) { return min(x); };
  CHECK(of_row(least, {2, 1, 1, 3}).gradient == std::vector<double>{0, 1, 1, 0});  // all that have it
  CHECK(std::isnan(of_row(least, {2, not_a_number, 1, 3}).value));
  CHECK(std::isnan(of_row(least, {not_a_number, 5, 1, 3}).value));
}

TEST_CASE("an extreme and its index") {
  check_operation<shape<batch, hidden>>([](auto const& x) {
    return std::tuple{max_and_argmax<hidden>(x).value, max_and_argmax<batch>(x).value,
                      min_and_argmin<hidden>(x).value, min_and_argmin<batch>(x).value};
  });
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x                 = random_normal<double, L, batch, hidden>(m, {.seed = 3});
    auto const few               = cast<int>(x);  // -2 to 2: many are equal
    auto const [most, at_most]   = max_and_argmax<hidden>(few);
    auto const [least, at_least] = min_and_argmin<hidden>(few);
    see(most);
    see(at_most);
    see(least);
    see(at_least);
    see(max_and_argmax<batch>(x).index);
    see(min_and_argmin<batch>(x).index);
    see(min_and_argmin<hidden>(cast<bfloat16>(x)).index);
    see(min_and_argmin<hidden>(cast<bfloat16>(x)).value);
    see(max_and_argmax<hidden>(few * 0).index);
  });
  if (!alone_here()) return;
  // the first
  CHECK(of_row([](auto const& x) { return max_and_argmax<four>(x).value; }, {2, 7, 7, 3}).gradient ==
        std::vector<double>{0, 1, 0, 0});
  CHECK(of_row([](auto const& x) { return min_and_argmin<four>(x).value; }, {2, 1, 1, 3}).gradient ==
        std::vector<double>{0, 1, 0, 0});
  tensor<int, alone, four> x{processes<single>()};
  x.data()[2]               = std::numeric_limits<int>::min();
  auto const [value, index] = min_and_argmin<four>(x);
  CHECK(value.value() == std::numeric_limits<int>::min());
  CHECK(index.value() == 2);
}

TEST_CASE("of elements with NaNs the first of these is the extreme, also where the dimension is split") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const row   = iota<double, L, batch>(m);
    auto const place = iota<double, L, hidden>(m);
    // row 0 has none, row 1 one, which is no largest element, all others two
    auto const late    = logical_and(greater(row, 0), equal(place, 13));
    auto const early   = logical_and(greater(row, 1), equal(place, 5));
    auto const unknown = logical_or(late, early);
    auto const x       = where(unknown, (unknown - unknown) / (unknown - unknown), outer_product(row, place));
    see(argmax<hidden>(x));
    see(argmax<batch>(x));
    see(argmax<hidden>(cast<bfloat16>(x)));
    auto const [most, at_most]   = max_and_argmax<hidden>(x);
    auto const [least, at_least] = min_and_argmin<hidden>(x);
    see(where(is_nan(most), -1, most));
    see(at_most);
    see(where(is_nan(least), -1, least));
    see(at_least);
  });
  if (!alone_here()) return;
  auto const is_first_of = [](auto const& f) {
    auto const dx = of_row(f, {2, not_a_number, 9, not_a_number}).gradient;
    return dx[0] == 0 && std::isnan(dx[1]) && dx[2] == 0 && dx[3] == 0;
  };
  CHECK(is_first_of([](auto const& x) { return max_and_argmax<four>(x).value; }));
  CHECK(is_first_of([](auto const& x) { return min_and_argmin<four>(x).value; }));
  tensor<double, alone, four> x{processes<single>()};
  x.data()[2] = x.data()[3] = not_a_number;
  CHECK(argmax<four>(x).value() == 2);
}

TEST_CASE("softmax with an extra logit, a number and a tensor that gets its gradient") {
  check_operation<shape<batch, heads, length>, shape<heads>>([](auto const& x, auto const& e) {
    return std::tuple{softmax<length>(x, e), log_softmax<length>(x, 0.5), logsumexp<length>(x, e),
                      softmax<batch>(x, e), softmax<length>(x, -2)};
  });
  if (!alone_here()) return;
  auto const rest = of_row([](auto const& x) { return sum(softmax<four>(x, 0)); }, {1, 2, 3, 4}).value;
  double const e  = std::exp(1) + std::exp(2) + std::exp(3) + std::exp(4);
  CHECK(std::abs(rest - e / (1 + e)) < 1e-14);
  CHECK(of_row([](auto const& x) { return sum(softmax<four>(x, 0)); }, {-1000, -2000, -1000, -1000}).value ==
        0);
}
