// Who is at work where values are made, not computed: iota and random numbers name themselves, unless another
// operation makes them.
#include <string>

#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

using L = dry<mixed>;

unsigned line_here(std::source_location at = std::source_location::current()) { return at.line(); }

/// Does the machine book what happens now to this operation, of the caller's line?
template<class M>
bool at_work(M const& m, std::string const& operation, unsigned line) {
  return m.now().operation == operation && m.now().at.line() == line;
}

}  // namespace

TEST_CASE("iota and random numbers are booked to themselves, at the line that asks for them") {
  machine<L> m;
  auto const y = tanh(tensor<float, L, batch>{m});

  auto const i = iota<int, L, batch>(m);
  CHECK(at_work(m, "iota", line_here() - 1));
  auto const u = random_uniform<float, L, batch>(m, {.seed = 1});
  CHECK(at_work(m, "random_uniform", line_here() - 1));
  auto const n = random_normal<float, L, batch>(m, {.seed = 1}, 0, 2);
  CHECK(at_work(m, "random_normal", line_here() - 1));
}

TEST_CASE("numbers that another operation makes are its own") {
  machine<L> m;
  tensor<int, L, batch> const ids{m};
  auto const one = one_hot<vocab, float>(ids);
  CHECK(at_work(m, "one_hot", line_here() - 1));
  auto const d = dropout(one, 0.5, {.seed = 1});
  CHECK(at_work(m, "dropout", line_here() - 1));
  auto const y = tanh(one);
  parameter<float, L, batch> const w{m, normal{1}};
  CHECK(at_work(m, "tanh", line_here() - 2));  // an initialiser has no name of its own
}
