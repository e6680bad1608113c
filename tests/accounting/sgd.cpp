// The perceptron trained by SGD, in double precision, in every layout of the fixture.
#include "mlp.hpp"

namespace accounting {

template<meshtf::Layout L>
using by_sgd = training<double, meshtf::sgd, L>;

namespace {

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_sgd, L>();
  has_the_answer_of_one_process<by_sgd, L>(1e-12);
}

}  // namespace

TEST_CASE("SGD on 1 process costs what was promised", "[1]") { check<replicated>(); }

TEST_CASE("SGD on 2 processes costs what was promised and gives one process's gradients", "[2]") {
  check<data>();
  check<model>();
}

TEST_CASE(
    "SGD on 3 processes, which do not divide the batch, costs what was promised and gives one process's "
    "gradients",
    "[3]") {
  check<uneven_data>();
}

TEST_CASE(
    "SGD on 5 processes, which do not divide the layers, costs what was promised and gives one process's "
    "gradients",
    "[5]") {
  check<uneven_model>();
}

TEST_CASE("SGD on 4 processes costs what was promised and gives one process's gradients", "[4]") {
  check<mixed>();
  check<two_axes>();
}

TEST_CASE("SGD on 8 processes costs what was promised and gives one process's gradients", "[8]") {
  check<wide_mixed>();
  check<wide_two_axes>();
  check<cubic>();
}

}  // namespace accounting
