// backward: once for a value, and as often as one likes for a parameter.
#include <string>

#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

/// What f() throws as a software_error.
template<class F>
std::string refused(F f) {
  try {
    f();
  } catch (software_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

constexpr char const* used_up = "an earlier backward has used up the tape of this value";

}  // namespace

TEST_CASE("a second backward of a value is refused, and leaves gradients and tape as they were") {
  auto& m = processes<single>();
  parameter<double, alone, in> const w{m, normal{1}};
  auto const loss = sum(w);
  backward(loss);
  auto const other = sum(w * w);
  CHECK(refused([&] { backward(loss); }).starts_with(used_up));
  auto const g = finish(gradient(w));
  for (extent i = 0; i < g.size; ++i) CHECK(g.data()[i] == 1);
  CHECK_FALSE(m.tape_is_empty());
  CHECK(refused([&] { backward(other); }) == "nothing was thrown");
}

TEST_CASE("so is a first backward of a value whose tape another one has used up") {
  auto& m = processes<single>();
  parameter<double, alone, in> const w{m, normal{1}};
  auto const first  = sum(w);
  auto const second = sum(w * w);
  backward(first);
  CHECK(refused([&] { backward(second); }).starts_with(used_up));
}

TEST_CASE(
    "a backward that comes to a value of an earlier tape is refused, and names the operation that used the "
    "value") {
  auto& m = processes<single>();
  parameter<double, alone, in> const w{m, normal{1}};
  auto const refused_after = [&](auto const& h, auto const& use) {
    backward(mean(h));
    auto const loss = use(h);
    return refused([&] { backward(loss); });
  };
  // operators have no line
  auto const says = [](std::string const& operation) {
    return Catch::Matchers::Matches(
        "backward of " + operation +
        "( \\(backward.cpp:[0-9]+\\))? comes to an operand whose tape an earlier backward has used up: "
        "compute it again, .*");
  };
  CHECK_THAT(refused_after(exp(w), [](auto const& h) { return sum(square(h)); }), says("square"));
  CHECK_THAT(refused_after(exp(w), [&](auto const& h) { return sum(h * w); }), says("operator\\*"));
  CHECK_THAT(refused_after(exp(w), [](auto const& h) { return sum(h); }), says("sum"));
  CHECK_THAT(refused_after(exp(w), [](auto const& h) { return sum(square(copy(h))); }), says("copy"));
  // a linear image of a parameter
  CHECK_THAT(refused_after(w * 2.0, [](auto const& h) { return sum(square(h)); }), says("square"));
  CHECK_THAT(refused_after(exp(w), [](auto const& h) { return einsum<>(h, h); }), says("einsum"));
  CHECK_THAT(
      refused_after(
          exp(w), [&](auto const& h) { return sum(layer_norm<in>(h, stop_gradient(w), stop_gradient(w))); }),
      says("layer_norm"));
  CHECK(m.tape_is_empty());
}

TEST_CASE("such a value may be looked at, and used as data") {
  auto& m = processes<single>();
  parameter<double, alone, in> w{m, constant{3}};
  auto const h = square(w);
  backward(sum(h));
  auto const mean_of_h = mean(h);  // on the tape, but no gradient flows back to it
  CHECK(mean_of_h.value() == 9);
  w.zero_gradient();
  backward(sum(w * stop_gradient(h)));
  auto const g = finish(gradient(w));
  for (extent i = 0; i < g.size; ++i) CHECK(g.data()[i] == 9);
}

TEST_CASE("a state that is carried over steps goes on as data") {
  auto& m = processes<single>();
  parameter<double, alone, in> w{m, constant{2}};
  tensor<double, alone, in> state{m};
  for (int step = 0; step < 3; ++step) {
    auto const next = state + w;
    backward(sum(next));
    state = stop_gradient(next);
  }
  auto const g = finish(gradient(w));
  for (extent i = 0; i < g.size; ++i) CHECK(g.data()[i] == 3);
  for (extent i = 0; i < state.size; ++i) CHECK(state.data()[i] == 6);
}

TEST_CASE("a linear image of a parameter is no parameter") {
  auto& m = processes<single>();
  parameter<double, alone> const w{m, constant{3}};
  auto const twice = w * 2.0;
  backward(twice);
  CHECK(refused([&] { backward(twice); }).starts_with(used_up));
  CHECK(finish(gradient(w)).value() == 2);
}

TEST_CASE("a parameter without dimensions is its own loss, as often as it is asked") {
  auto& m = processes<single>();
  parameter<double, alone> w{m, constant{3}};
  backward(w);
  CHECK(finish(gradient(w)).value() == 1);
  backward(w);
  CHECK(finish(gradient(w)).value() == 2);
  w.zero_gradient();
  backward(w);
  CHECK(finish(gradient(w)).value() == 1);
}
