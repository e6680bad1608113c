// Where the value of an operation is NaN, so is its gradient: a guard on the norm of the gradients sees a NaN
// of the forward pass.
// test: program ops2
#include <cmath>
#include <limits>

#include "../layout_fixture.hpp"
#include "functions_of_x.hpp"

using namespace fixture;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf          = std::numeric_limits<double>::infinity();

struct nine : dim<9> {};  // a batch, and numbers to compare with
struct eight : dim<8> {};
struct three : dim<3> {};
struct taps : dim<2> {};
struct pairs : dim<4> {};

/// The gradient of f(x), a number.
template<class T, class D>
std::vector<double> slopes(auto const& f, std::vector<double> const& numbers) {
  parameter<T, alone, D> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<T>(numbers[static_cast<std::size_t>(i)]);
  auto const z = f(x);
  backward(z);
  auto const dx = finish(gradient(x));
  std::vector<double> got;
  for (extent i = 0; i < dx.size; ++i) got.push_back(static_cast<double>(dx.data()[i]));
  return got;
}

/// f is a function of each element: its gradient is NaN where that is, and there alone.
template<class T>
void check_pointwise(char const* name, auto const& f) {
  INFO(name);
  std::vector<double> const numbers{0.5,           not_a_number, 0.25, 0.75,        -0.0,
                                    -not_a_number, 0.125,        0.5,  not_a_number};
  auto const dx = slopes<T, nine>([&f](auto const& x) { return sum(f(x)); }, numbers);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    INFO("of " << numbers[i]);
    CHECK(std::isnan(dx[i]) == std::isnan(numbers[i]));
  }
}

template<class T>
void check_all_pointwise() {
#define MESHTF_CHECK(f) check_pointwise<T>(#f, [](auto const& x) { return f(x); });
  MESHTF_SMOOTH_FUNCTIONS(MESHTF_CHECK)
  MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_CHECK)
  MESHTF_BENT_FUNCTIONS(MESHTF_CHECK)
#undef MESHTF_CHECK
  check_pointwise<T>("leaky_relu", [](auto const& x) { return leaky_relu(x); });
  check_pointwise<T>("leaky_relu with the slope 0", [](auto const& x) { return leaky_relu(x, 0); });
  check_pointwise<T>("elu", [](auto const& x) { return elu(x); });
  check_pointwise<T>("elu with alpha 0", [](auto const& x) { return elu(x, 0); });
  check_pointwise<T>("clamp", [](auto const& x) { return clamp(x, -1, 0.3); });
  check_pointwise<T>("clamp from below", [](auto const& x) { return clamp(x, 0, inf); });
  check_pointwise<T>("maximum", [](auto const& x) { return maximum(x, 0.2); });
  check_pointwise<T>("minimum", [](auto const& x) { return minimum(0.2, x); });
  check_pointwise<T>("logaddexp", [](auto const& x) { return logaddexp(x, 0.5); });
  check_pointwise<T>("pow", [](auto const& x) { return pow(x, 2); });
  check_pointwise<T>("sigmoid_cross_entropy", [](auto const& x) { return sigmoid_cross_entropy(x, 0.5); });
}

/// f reduces: of a NaN it is NaN, and then each element has a gradient that is not finite.
void check_reduction(char const* name, auto const& f) {
  INFO(name);
  for (std::vector<double> const& numbers :
       {std::vector{1.0, not_a_number, 3.0}, {not_a_number, not_a_number, 3.0}, {0.0, not_a_number, 0.0}}) {
    auto const dx = slopes<double, three>(f, numbers);
    CHECK((std::isnan(dx[0]) && std::isnan(dx[1]) && std::isnan(dx[2])));
  }
  auto const of_numbers = slopes<double, three>(f, {1.0, -inf, 3.0});
  CHECK_FALSE(std::isnan(of_numbers[0]));
}

}  // namespace

TEST_CASE("the gradient of a function of each element is NaN where its operand is") {
  if (boost::mpi::communicator{}.size() != 1) return;
  check_all_pointwise<double>();
  check_all_pointwise<float>();
  check_all_pointwise<bfloat16>();
}

TEST_CASE("the gradient of an extreme that is NaN is NaN for all that it is taken of") {
  if (boost::mpi::communicator{}.size() != 1) return;
  check_reduction("max", [](auto const& x) { return max(x); });
  check_reduction("min", [](auto const& x) { return -min(-x); });
  check_reduction("logsumexp", [](auto const& x) { return logsumexp(x); });
  check_reduction("softmax", [](auto const& x) {
    return sum(softmax<three>(x) * iota<double, alone, three>(x.machine()));
  });
  auto const hidden_by_zeros =
      slopes<double, three>([](auto const& x) { return product(x); }, {0, 0, not_a_number});
  CHECK((std::isnan(hidden_by_zeros[0]) && std::isnan(hidden_by_zeros[1]) && std::isnan(hidden_by_zeros[2])));
  auto const of_norm = slopes<double, three>([](auto const& x) { return l2_norm(x); }, {0, 0, not_a_number});
  CHECK((std::isnan(of_norm[0]) && std::isnan(of_norm[1]) && std::isnan(of_norm[2])));
  // windows of two: the second one holds a NaN
  auto const pooled = slopes<double, eight>(
      [](auto const& x) { return sum(max_pool<window<eight, taps, pairs, stride<2>>>(x)); },
      {1, 2, not_a_number, 3, 5, 4, 0, 1});
  CHECK((pooled[0] == 0 && pooled[1] == 1 && std::isnan(pooled[2]) && std::isnan(pooled[3]) &&
         pooled[4] == 1 && pooled[5] == 0));
}

TEST_CASE("the norm of the gradients is NaN if the forward pass met one, under every layout") {
  under_each_layout([]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    parameter<double, L, batch, hidden> x{m, normal{1}};
    auto const row   = iota<double, L, batch>(m);
    auto const place = iota<double, L, hidden>(m);
    auto const one   = logical_and(equal(row, 3), equal(place, 5));
    x                = where(one, not_a_number, x);
    auto const norm  = [&](auto const& f) {
      auto const z = f(x);
      backward(z);
      auto const of = global_norm(parameters(x));
      zero_gradients(parameters(x));
      return of.value();
    };
    CHECK(std::isnan(norm([](auto const& v) { return sum(relu(v)); })));
    CHECK(std::isnan(norm([](auto const& v) { return sum(max<hidden>(v)); })));
    CHECK(std::isnan(norm([](auto const& v) { return sum(min<batch>(v)); })));
    CHECK(std::isnan(norm([](auto const& v) { return max(v); })));
    CHECK(std::isnan(norm([](auto const& v) { return sum(max_and_argmax<hidden>(v).value); })));
    CHECK_FALSE(std::isnan(norm([&](auto const& v) { return sum(where(one, 0, v)); })));
  });
}
