// The language model in double precision, trained by Adam, in every layout of the fixture.
#include "language_model.hpp"

namespace accounting {

template<meshtf::Layout L>
using by_adam_in_double = language_model<double, two_layers, meshtf::adam, L>;

namespace {

/// The losses of 100 steps.
template<meshtf::Layout L>
std::vector<double> curve(MPI_Comm processes) {
  meshtf::process_mesh<typename L::mesh_type> m{processes};
  by_adam_in_double<L> program{m};
  std::vector<double> losses;
  for (int i = 0; i < 100; ++i) losses.push_back(program.step().value());
  return losses;
}

template<meshtf::Layout L>
void has_the_curve_of_one_process() {
  static std::vector<double> const expected = curve<replicated>(MPI_COMM_SELF);
  auto const found                          = curve<L>(MPI_COMM_WORLD);
  INFO(meshtf::name_of<L>());
  CHECK(expected.back() < 0.7 * expected.front());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(found[i] / expected[i] - 1));
  CHECK(worst <= 1e-9);
}

template<meshtf::Layout L>
void check() {
  costs_what_was_promised<by_adam_in_double, L>();
  has_the_answer_of_one_process<by_adam_in_double, L>(1e-12);
  has_the_curve_of_one_process<L>();
}

}  // namespace

TEST_CASE("the language model on 1 process", "[1]") { check<replicated>(); }

TEST_CASE("the language model on 2 processes costs what was promised and learns as one does", "[2]") {
  check<data>();
  check<model>();
}

TEST_CASE("the language model on 4 processes costs what was promised and learns as one does", "[4]") {
  check<mixed>();
  check<two_axes>();
}

TEST_CASE("the language model on 8 processes costs what was promised and learns as one does", "[8]") {
  check<wide_mixed>();
  check<wide_two_axes>();
  check<cubic>();
}

}  // namespace accounting
