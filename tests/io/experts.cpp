// Checkpoints of a mixture of experts: eight processes save it, and one, two and four load it.
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

#include "../catch.hpp"
#include "folder.hpp"

namespace {

using namespace meshtf;

template<extent N>
struct row : axis<N> {};
template<extent N>
struct line : mesh<row<N>> {};

struct batch : dim<8> {};
struct width : dim<4> {};
struct inside : dim<6> {};
struct experts : dim<8> {};
struct fewer_experts : dim<4> {};
struct groups : dim<8> {};

template<extent N>
struct spread : layout<line<N>, split<batch, row<N>>, split<groups, row<N>>, split<experts, row<N>>> {};

/// The processes in groups of `N`, each of which does the same.
template<extent N>
process_mesh<line<N>>& in_groups_of() {
  static auto* const m = [] {
    boost::mpi::communicator const world;
    return new process_mesh<line<N>>{world.split(world.rank() / int{N})};
  }();
  return *m;
}

template<Layout L, class Experts = experts>
struct network {
  nn::streams seeds;
  nn::mixture_of_experts<double, L, width, inside, Experts, groups> mixture;

  network(machine<L>& m, std::uint64_t seed) : seeds{seed}, mixture{m, seeds, 0.5, 0.5} {}
  auto parameters() { return meshtf::parameters(named("mixture", mixture)); }
  /// A number that all parameters have a part in.
  double answer() {
    auto& m      = mixture.router.weight.machine();
    auto const x = random_normal<double, L, batch, width>(m, {.seed = 8});
    return sum(square(mixture.evaluate(x).value)).value();
  }
};

template<extent N>
void loads(std::string const& path, double answer) {
  auto& m = in_groups_of<N>();
  network<spread<N>> net{m, 2};
  CHECK(net.answer() != Approx(answer));
  load(net.parameters(), path);
  CHECK(net.answer() == Approx(answer).epsilon(1e-12));
}

}  // namespace

TEST_CASE("experts of eight processes are loaded by one, two and four", "[8]") {
  files::folder const folder;
  std::string const path = folder / "eight.safetensors";
  network<spread<8>> net{in_groups_of<8>(), 1};
  save(net.parameters(), path);
  double const answer = net.answer();
  loads<8>(path, answer);
  loads<4>(path, answer);
  loads<2>(path, answer);
  loads<1>(path, answer);
}

TEST_CASE("a checkpoint of another number of experts is refused with a sentence", "[1]") {
  files::folder const folder;
  std::string const path = folder / "eight.safetensors";
  auto& m                = in_groups_of<1>();
  network<spread<1>> eight{m, 1};
  network<spread<1>, fewer_experts> four{m, 1};
  save(eight.parameters(), path);
  CHECK_THROWS_WITH(load(four.parameters(), path),
                    Catch::Contains("'mixture.up.weight'") && Catch::Contains("[4, 4, 6]") &&
                        Catch::Contains("[8, 4, 6]") &&
                        Catch::Contains("make the model of the sizes that it was saved with"));
}
