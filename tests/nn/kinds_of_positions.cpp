// A Transformer with learned, sinusoid and no positions: its results under every layout, and what each kind
// does.
// test: program attention
#include "../layout_fixture.hpp"

#include <meshtf/nn/positions.hpp>

using namespace fixture;

namespace {

struct moment : dim<6> {};

struct learned : nn::transformer_dims<moment, vocab, out, heads, key, hidden> {
  static constexpr int layers    = 1;
  static constexpr double stddev = 0.5;
};
struct waves : learned {
  using positions = nn::sinusoids;
};
struct untold : learned {
  using positions = nn::no_positions;
};

template<class Dims>
std::vector<std::string> names() {
  auto& m = processes<single>();
  nn::transformer<double, alone, Dims> net{m, 1};
  std::vector<std::string> found;
  net.parameters().for_each_named([&](std::string const& name, auto const&) { found.push_back(name); });
  return found;
}

template<class Dims>
void check_kind() {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::transformer<double, L, Dims> net{m, 1};
    auto const ids    = modulo(iota<int, L, moment>(m), 3);
    auto const scores = net(broadcast<batch, moment>(ids));
    see(scores);
    backward(mean(softmax_cross_entropy<vocab>(scores, broadcast<batch, moment>(ids))));
    see(finish(gradient(net.tokens.table)));
  });
}

}  // namespace

TEST_CASE("positions of each kind, under every layout") {
  check_kind<learned>(), check_kind<waves>(), check_kind<untold>();
}

TEST_CASE("only learned positions are parameters, and without positions equal ids have equal scores") {
  if (boost::mpi::communicator{}.size() != 1) return;
  CHECK(names<learned>()[1] == "positions");
  CHECK(names<waves>()[1] == "blocks.0.norm1.scale");
  CHECK(names<untold>().size() + 1 == names<learned>().size());

  auto& m = processes<single>();
  // one id everywhere: what is seen of those before is the same
  auto const ids   = tensor<int, alone, batch, moment>{m};
  auto const apart = [&]<class Dims>(Dims) {
    auto const scores = to_global(nn::transformer<double, alone, Dims>{m, 1}(ids));
    double most       = 0;
    for (std::size_t v = 0; v < 8; ++v) most = std::max(most, std::abs(scores(0, 0, v) - scores(0, 5, v)));
    return most;
  };
  CHECK(apart(untold{}) < 1e-12);
  CHECK(apart(waves{}) > 1e-3);
  CHECK(apart(learned{}) > 1e-3);
}
