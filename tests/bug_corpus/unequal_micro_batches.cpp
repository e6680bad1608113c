// ml-explore/mlx-lm PR 1544 (docs/bugs_of_others.md, row 24): gradients are accumulated over micro-batches
// with unequal numbers of tokens, and the mean of their means is taken for the mean of all. Here the form
// without weights throws on all processes, and the one with weights gives loss and gradients of the batch.
#include <cmath>
#include <string>

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

struct sentence : dim<8> {};
struct part : dim<4> {};
struct token : up_to<6> {};
struct width : dim<4> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<sentence, rows>, split<part, rows>, split<width, cols>> {};

process_mesh<grid>& processes() {
  // never destroyed: MPI is down when static objects die
  static auto* const m = new process_mesh<grid>{MPI_COMM_WORLD};
  return *m;
}

/// Squares of products: [sentence, token], of which the first `n` tokens of micro-batch i count.
struct squares {
  process_mesh<grid>& m             = processes();
  parameter<double, mixed, width> w = parameter<double, mixed, width>{m, normal{1}};
  tensor<double, mixed, sentence, token, width> x =
      random_normal<double, mixed, sentence, token, width>(m, {.seed = 2});

  auto of_part(extent i) const { return square(einsum<part, token>(micro_batch<sentence, part>(x, i), w)); }
  auto gradient_of_w() { return to_global(finish(gradient(w))); }
};

/// Two micro-batches whose sentences have 2 and 5 tokens.
extent tokens_of(extent i) { return 2 + 3 * i; }

}  // namespace

TEST_CASE("24. the mean of means is refused where micro-batches count differently, on all processes") {
  squares s;
  auto const means = [&](extent i) {
    counted<token> const guard{s.m, tokens_of(i)};
    return mean(s.of_part(i)) / 2.0;
  };
  std::string said;
  try {
    (void)accumulate<2>(means);
  } catch (software_error const& e) {
    said = e.what();
  }
  INFO(said);
  CHECK(said.find("got other counts in micro-batch 1") != said.npos);
  CHECK(said.find("write accumulate<N>(m, loss, weight)") != said.npos);
}

TEST_CASE("24. micro-batches with weights are the mean of all terms") {
  squares s;
  auto const loss = accumulate<2>(
      s.m,
      [&](extent i) {
        counted<token> const guard{s.m, tokens_of(i)};
        return sum(s.of_part(i));
      },
      [&](extent i) {
        counted<token> const guard{s.m, tokens_of(i)};
        return sum(s.of_part(i) * 0.0 + 1.0);
      });
  auto const by_parts = s.gradient_of_w();

  squares at_once;
  double terms = 0;
  double total = 0;
  for (extent i = 0; i < 2; ++i) {
    counted<token> const guard{s.m, tokens_of(i)};
    auto const one = sum(at_once.of_part(i));
    backward(one);
    total += one.value();
    terms += 4.0 * static_cast<double>(tokens_of(i));
  }
  auto const of_sums = at_once.gradient_of_w();
  CHECK(std::abs(loss.value() - total / terms) <= 1e-12);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(by_parts.flat(i) - of_sums.flat(i) / terms) <= 1e-12);
}
