// backward: once for a value, and as often as one likes for a parameter.
#include <string>

#include "../zoo.hpp"

using namespace zoo;

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
  auto const first = sum(w), second = sum(w * w);
  backward(first);
  CHECK(refused([&] { backward(second); }).starts_with(used_up));
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
