// One source, three ways: each operation and its gradient are recorded without a layout and dry run,
// by the compiler, and run. Calls, bytes, flops and the peak of memory are the same in all.
// test: program compiled
//
// The functions of x alone are those of the catalogue (tests/checks/catalogue.py).
#include <array>
#include <tuple>

#include "../../examples/mlp_model.hpp"
#include "../ops/functions_of_x.hpp"
#include "../search/same_price.hpp"

#include <meshtf/meshtf.hpp>

#include <meshtf/search/search.hpp>

#include "../catch.hpp"

namespace {

using namespace meshtf;

struct batch : dim<4> {};
struct width : dim<6> {};
struct key : dim<4> {};
struct narrow : dim<2> {};
struct longer : dim<9> {};
struct rest : dim<4> {};
struct two : dim<2> {};
struct three : dim<3> {};

struct rows : axis<2> {};
struct pair_of : mesh<rows> {};
struct halves : layout<pair_of, split<batch, rows>> {};

struct perceptrons : layout<pair_of, split<fashion::batch, rows>> {};

/// A step with one operation: `F` gets x of batch and width, w of width and key, and an id for each x.
template<class F>
struct step_with {
  template<class L>  // not Layout: g++ 12 would refuse it where a template<Layout> is asked for
  struct program {
    parameter<float, L, batch, width> x;
    parameter<float, L, width, key> w;
    tensor<int, L, batch> ids;

    constexpr explicit program(machine<L>& m) : x{m, normal{1}}, w{m, normal{2}}, ids{m} {}

    constexpr auto step() {
      auto const z     = cast<float>(F{}(x, w, ids));
      auto const first = sum(z);
      auto const loss  = first + sum(x);  // some operations have no gradient
      backward(loss);
      return loss;
    }
  };
};

/// Figures alone, since a cost has thousands of entries: a constant of a test is written into its program.
template<class Cost>
constexpr std::array<extent, 8> figures_of(Cost const& c) {
  return {c.calls(),         c.bytes_sent(),      c.payload(),           c.flops(),
          c.bytes_touched(), c.parameter_bytes(), c.elementwise_flops(), c.peak_bytes()};
}

template<template<Layout> class Program, Layout L, Dimension... D>
consteval auto promised_figures() {
  auto const recorded = price<L>(record<Program, D...>());
  auto const promised = dry_run<Program, L>();
  if (!tests::same_price(recorded, promised)) throw "the record's price is not that of the dry run";
  return figures_of(promised);
}

/// A step of `Program` under `L`. Its record may split `D...`.
template<template<Layout> class Program, Layout L, Dimension... D>
void check_step(process_mesh<pair_of>& m, char const* name) {
  static constexpr auto promised = promised_figures<Program, L, D...>();
  Program<L> program{m};
  INFO(name);
  CHECK(figures_of(recorded<L>(m, [&]<class>(auto&) { program.step(); })) == promised);
}

template<class F>
void check_operation(process_mesh<pair_of>& m, char const* name, F) {
  check_step<step_with<F>::template program, halves, batch>(m, name);
}

// In an order of their own: C++ leaves that of arguments open, and the compiler may take another one in a dry
// run than in the program.
constexpr auto normed(auto const& x, auto const& w) {
  auto const scale = sum<key>(w);
  auto const bias  = max<key>(w);
  return layer_norm<width>(x, scale, bias);
}
constexpr auto joined(auto const& x) {
  auto const first  = slice<width, narrow>(x, 1);
  auto const second = slice<width, rest>(x, 2);
  return concat<width>(first, second);
}

// What is called, by its name; the catalogue has the functions of x alone.
// clang-format off
#define MESHTF_OTHER_OPERATIONS(X)                                        \
  X(einsum, einsum<batch, key>(x, w))                                     \
  X(sum, sum<batch>(x))                                                   \
  X(mean, mean<width>(x))                                                 \
  X(variance, variance<width>(x))                                         \
  X(max, max<batch>(x))                                                   \
  X(logsumexp, logsumexp<width>(x))                                       \
  X(softmax, softmax<width>(x))                                           \
  X(layer_norm, normed(x, w))                                             \
  X(cumsum, cumsum<batch>(x))                                             \
  X(sort, sort<width>(x))                                                 \
  X(top_k, top_k<batch, narrow>(x).value)                                 \
  X(argmax, argmax<batch>(x))                                             \
  X(slice, slice<width, narrow>(x, 1))                                    \
  X(pad, pad<width, longer>(x, 1))                                        \
  X(concat, joined(x))                                                    \
  X(shift, shift<batch>(x, 1))                                            \
  X(flip, flip<batch>(x))                                                 \
  X(split_dim, split_dim<width, two, three>(x))                           \
  X(transpose, transpose<width, batch>(x))                                \
  X(gather, gather<width>(w, ids))                                        \
  X(where, where(greater(x, 0), x, 2 * x))                                \
  X(copy, copy(x))                                                        \
  X(recompute, recompute([](auto const& v) { return square(v) + v; }, x)) \
  X(matmul, matmul<width>(x, w))                                          \
  X(min, min<width>(x))                                                   \
  X(product, product<width>(x))                                           \
  X(l2_norm, l2_norm<width>(x))                                           \
  X(log_softmax, log_softmax<width>(x))                                   \
  X(clamp, clamp(x, -1, 1))                                               \
  X(elu, elu(x))                                                          \
  X(dropout, dropout(x, 0.5, {4}))                                        \
  X(roll, roll<batch>(x, 1))                                              \
  X(avg_pool, avg_pool<window<width, two>>(x))                            \
  X(one_hot, one_hot<key, float>(ids))                                    \
  X(softmax_cross_entropy, softmax_cross_entropy<key>(einsum<batch, key>(x, w), ids))
// clang-format on

#define MESHTF_EACH(NAME, ...)                                                       \
  check_operation(m, #NAME,                                                          \
                  []([[maybe_unused]] auto const& x, [[maybe_unused]] auto const& w, \
                     [[maybe_unused]] auto const& ids) { return __VA_ARGS__; }),     \
      ++number;
#define MESHTF_OF_X(F) MESHTF_EACH(F, F(x))
#define MESHTF_OF_POSITIVE(F) MESHTF_EACH(F, F(square(x) + 1))

}  // namespace

TEST_CASE("more than 50 operations cost what their records and their dry runs say", "[2]") {
  process_mesh<pair_of> m{MPI_COMM_WORLD};
  int number = 0;
  MESHTF_SMOOTH_FUNCTIONS(MESHTF_OF_X)
  MESHTF_BENT_FUNCTIONS(MESHTF_OF_X)
  MESHTF_STEP_FUNCTIONS(MESHTF_OF_X)
  MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_OF_POSITIVE)
  MESHTF_OTHER_OPERATIONS(MESHTF_EACH)
  CHECK(number > 50);
}

TEST_CASE("the step of the perceptron of the examples costs what its record and its dry run say", "[2]") {
  process_mesh<pair_of> m{MPI_COMM_WORLD};
  check_step<fashion::training, perceptrons, fashion::batch, fashion::hidden>(m, "mlp");
}
