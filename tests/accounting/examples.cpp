// The step of examples/mlp.cpp, in every layout of the fixture. The steps of the other examples are those of
// tests/nn, in sizes of their own.
#include "../../examples/mlp_model.hpp"
#include "program.hpp"

namespace accounting {

template<meshtf::Layout L>
struct fashion_training : fashion::training<L> {
  static constexpr bool prepared = false;
  using fashion::training<L>::training;
};

namespace {

// the fixture's meshes, the example's dimensions
namespace under {
using fashion::batch, fashion::pixels, fashion::hidden, fashion::features, fashion::classes;
struct replicated : meshtf::layout<one_process> {};
struct data : meshtf::layout<line, split<batch, all>> {};
struct model : meshtf::layout<line, split<hidden, all>, split<classes, all>> {};
struct mixed : meshtf::layout<square_grid, split<batch, rows>, split<hidden, cols>, split<classes, cols>> {};
struct two_axes : meshtf::layout<square_grid, split<hidden, rows, cols>, split<classes, cols>> {};
struct wide_mixed : meshtf::layout<grid, split<batch, few>, split<hidden, many>> {};
struct wide_two_axes : meshtf::layout<grid, split<batch, many, few>> {};
struct cubic : meshtf::layout<cube, split<batch, planes>, split<pixels, cols>, split<hidden, rows>,
                              split<features, cols>, split<classes, rows>> {};
}  // namespace under

}  // namespace

TEST_CASE("the perceptron of the examples costs on 1 process what was promised", "[1]") {
  costs_what_was_promised<fashion_training, under::replicated>();
}

TEST_CASE("the perceptron of the examples costs on 2 processes what was promised", "[2]") {
  costs_what_was_promised<fashion_training, under::data>();
  costs_what_was_promised<fashion_training, under::model>();
}

TEST_CASE("the perceptron of the examples costs on 4 processes what was promised", "[4]") {
  costs_what_was_promised<fashion_training, under::mixed>();
  costs_what_was_promised<fashion_training, under::two_axes>();
}

TEST_CASE("the perceptron of the examples costs on 8 processes what was promised", "[8]") {
  costs_what_was_promised<fashion_training, under::wide_mixed>();
  costs_what_was_promised<fashion_training, under::wide_two_axes>();
  costs_what_was_promised<fashion_training, under::cubic>();
}

}  // namespace accounting
