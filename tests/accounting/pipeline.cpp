// A pipeline: MPI sees one send for each that a stage promises, of its bytes, over the axis of stages alone.
#include <boost/mpi/communicator.hpp>

#include "../catch.hpp"
#include "compare.hpp"

namespace accounting {

namespace {

struct batch : meshtf::dim<8> {};
struct part : meshtf::dim<2> {};
struct width : meshtf::dim<6> {};

struct stages : meshtf::axis<2> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<stages, rows> {};
struct piped
    : meshtf::layout<grid, meshtf::staged<stages>, meshtf::split<batch, rows>, meshtf::split<part, rows>> {};

template<meshtf::Layout L>
struct block {
  meshtf::parameter<double, L, width> scale;
  constexpr explicit block(meshtf::machine<L>& m) : scale{m, meshtf::normal{1}} {}
  constexpr auto operator()(auto const& x) const { return x + x * scale; }
  constexpr auto parameters() { return meshtf::parameters(scale); }
};

/// Four micro-batches through two blocks, a clipped step, and an evaluation.
struct step {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    meshtf::nn::stack<block<L>, 2> net{m};
    meshtf::adamw opt{1e-2};
    opt.max_norm   = 1;
    auto const x   = meshtf::random_normal<double, L, batch, width>(m, {.seed = 1});
    auto const run = [&] {
      return meshtf::accumulate<4>(m, [&](meshtf::extent i) {
        auto const y = net(meshtf::micro_batch<batch, part>(x, i));
        return mean(y * y);
      });
    };
    auto const loss = run();
    opt.step(parameters(net));
    meshtf::no_gradient const guard{m};
    auto const again = run();
  }
};

}  // namespace

TEST_CASE("what the stages of a pipeline send is what MPI is asked to send", "[4]") {
  if (boost::mpi::communicator{}.size() != 4) return;
  meshtf::process_mesh<grid> m{boost::mpi::communicator{}};
  static constexpr auto promised = meshtf::dry_run<piped>(step{});
  auto const stage               = static_cast<int>(m.coordinate<stages>());
  pmpi::start();
  auto const counted = meshtf::recorded<piped>(m, step{});
  auto const made    = pmpi::stop();
  CHECK(difference(promised.stage(stage), counted) == "");
  CHECK(difference(counted, made) == "");
  // forward 4 and 4, backward 4, of 2 / 2 rows of 6 doubles
  meshtf::extent const handed = 6 * 8;
  CHECK(counted.calls<meshtf::collective::hand_on>() == (stage == 0 ? 8 : 4));
  CHECK(promised.stage(1).bytes_sent<stages>() > 4 * handed);
}

}  // namespace accounting
