// Mixed precision: float weights and bfloat16 activations, against double on one process; prices, types of
// gradients, and what the tape keeps.
// test: processes 1 2 3 4
#include <cmath>
#include <type_traits>

#include "language_model.hpp"

#include <meshtf/kernel/narrow_product.hpp>

namespace accounting {

namespace {

using meshtf::bfloat16;

// Rounding to bfloat16 has a relative error of up to 2^-9. The loss and the gradients have been through some
// twenty roundings in a row.
constexpr double of_a_model = 12 * 0x1p-9;
constexpr double of_a_layer = 6 * 0x1p-9;

}  // namespace

template<meshtf::Layout L>
using in_double = language_model<double, two_layers, meshtf::adam, L>;
template<meshtf::Layout L>
using in_mixed_precision = language_model<float, two_layers, meshtf::adam, L, bfloat16>;

template<meshtf::Layout L>
using in_float = language_model<float, two_layers, meshtf::adam, L>;

template<meshtf::Layout L>
using untied_in_double = language_model<double, untied_layer, meshtf::adam, L>;
template<meshtf::Layout L>
using untied_in_mixed_precision = language_model<float, untied_layer, meshtf::adam, L, bfloat16>;

/// Each layer by itself, with a result of all of them.
template<class T, class Activation, meshtf::Layout L>
struct each_layer {
  static constexpr bool prepared = false;

  meshtf::nn::embedding<T, L, vocab, width> tokens;
  meshtf::nn::layer_norm<T, L, width> centred;
  meshtf::nn::rms_norm<T, L, width> scaled;
  meshtf::nn::streams seeds{3};
  meshtf::nn::self_attention<T, L, length, width, heads, key> attends;
  meshtf::nn::feed_forward<T, L, width, hidden> feeds;
  meshtf::nn::linear<T, L, width, hidden> up;
  meshtf::nn::projection<T, L, hidden, width> down;
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  meshtf::adam optimizer{1e-3};

  constexpr explicit each_layer(meshtf::machine<L>& m)
      : tokens{m, meshtf::normal{1}},
        centred{m},
        scaled{m},
        attends{m, seeds, 0.3, 0.3},
        feeds{m, seeds, 0.3, 0.3},
        up{m, meshtf::normal{7, 0.3}},
        down{m, meshtf::normal{8, 0.3}},
        ids{m},
        targets{m} {
    fill_ids(ids, 0, vocab::size);
    fill_ids(targets, 1, vocab::size);
  }

  constexpr auto parameters() {
    return meshtf::parameters(tokens, centred, scaled, attends, feeds, up, down);
  }
  constexpr auto loss() const {
    auto const x      = cast<Activation>(tokens(ids));
    auto const a      = attends(scaled(x));
    auto const r      = centred(x, a);
    auto const y      = down(tanh(up(feeds(r.norm))));
    auto const logits = tokens.logits(y + r.sum);
    static_assert(std::is_same_v<typename decltype(logits)::element_type, Activation>);
    return mean(meshtf::softmax_cross_entropy<vocab>(logits, targets));
  }
  constexpr auto step() {
    auto result = loss();
    backward(result);
    optimizer.step(parameters());
    return result;
  }
};

template<meshtf::Layout L>
using layers_in_double = each_layer<double, double, L>;
template<meshtf::Layout L>
using layers_in_mixed_precision = each_layer<float, bfloat16, L>;

namespace {

template<template<meshtf::Layout> class Program, meshtf::Layout L>
void has_gradients_in_float() {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  Program<L> program{m};
  backward(program.loss());
  program.parameters().for_each([](auto const& w) {
    static_assert(std::is_same_v<typename decltype(finish(gradient(w)))::element_type, float>);
  });
}

/// With products that are widened: oneDNN asks for memory of its own whenever it multiplies bfloat16.
template<template<meshtf::Layout> class Program, meshtf::Layout L>
void costs_what_was_promised_if_widened() {
  bool const before                   = meshtf::kernel::multiplies_narrow();
  meshtf::kernel::multiplies_narrow() = false;
  costs_what_was_promised<Program, L>();
  meshtf::kernel::multiplies_narrow() = before;
}

/// The loss after 100 steps, relative to the first.
template<template<meshtf::Layout> class Program, meshtf::Layout L>
double learned() {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  Program<L> program{m};
  double const first = double{program.step().value()};
  for (int i = 0; i < 98; ++i) program.step();
  return double{program.step().value()} / first;
}

template<meshtf::Layout L>
void learns_as_float_does() {
  INFO(meshtf::name_of<L>());
  double const expected = learned<in_float, L>();
  double const found    = learned<in_mixed_precision, L>();
  CHECK(expected < 0.7);
  CHECK(std::abs(found / expected - 1) <= 0.01);
}

template<meshtf::Layout L>
void check() {
  costs_what_was_promised_if_widened<in_mixed_precision, L>();
  costs_what_was_promised_if_widened<layers_in_mixed_precision, L>();
  has_the_answer_of_one_process<layers_in_mixed_precision, L, layers_in_double>(of_a_layer);
  has_the_answer_of_one_process<in_mixed_precision, L, in_double>(of_a_model);
  has_the_answer_of_one_process<untied_in_mixed_precision, L, untied_in_double>(of_a_model);
  has_gradients_in_float<layers_in_mixed_precision, L>();
  has_gradients_in_float<in_mixed_precision, L>();
}

}  // namespace

TEST_CASE("mixed precision on 1 process gives what double gives", "[1]") {
  check<replicated>();
  learns_as_float_does<replicated>();
}
TEST_CASE("mixed precision on 2 processes gives what double gives on one", "[2]") { check<model>(); }
TEST_CASE("mixed precision on 3 processes gives what double gives on one", "[3]") { check<uneven_data>(); }
TEST_CASE("mixed precision on 4 processes gives what double gives on one", "[4]") { check<mixed>(); }

}  // namespace accounting
