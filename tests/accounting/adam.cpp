// The perceptron trained by Adam, in single precision, in every layout of the fixture.
#include "mlp.hpp"

namespace accounting {

template<meshtf::Layout L>
using by_adam = training<float, meshtf::adam, L>;

namespace {

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_adam, L>();
  has_the_answer_of_one_process<by_adam, L>(1e-5);
}

}  // namespace

TEST_CASE("Adam on 1 process costs what was promised", "[1]") { check<replicated>(); }

TEST_CASE("Adam on 2 processes costs what was promised and gives one process's gradients", "[2]") {
  check<data>();
  check<model>();
}

TEST_CASE("Adam on 4 processes costs what was promised and gives one process's gradients", "[4]") {
  check<mixed>();
  check<two_axes>();
}

TEST_CASE("Adam on 8 processes costs what was promised and gives one process's gradients", "[8]") {
  check<wide_mixed>();
  check<wide_two_axes>();
  check<cubic>();
}

}  // namespace accounting
