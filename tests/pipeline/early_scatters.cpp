// Gradients that are reduce-scattered during the backward pass, for an optimizer with a sharded state: their
// values, their bits when messages are late, and their price.
// test: program pipeline
#include <string_view>
#include <vector>

#include <mpi.h>

#include "whole_arrays.hpp"

extern long bytes_begun;  // late.cpp

namespace {

using namespace meshtf;
using namespace during_backward;
using boost::mpi::communicator;

struct batch : dim<24> {};
struct in : dim<72> {};
struct hidden : dim<96> {};
struct classes : dim<95> {};

template<int R, int C = 1>
struct both : layout<grid<R, C>, split<batch, rows<R>>, split<hidden, cols<C>>> {};

/// The matrix of `up` is scattered where it lies; its bias shares a message with the arrays of `norm`. The
/// bias of `down` has no equal parts, so the step scatters it.
template<Layout L>
struct net {
  nn::linear<double, L, in, hidden> up;
  nn::layer_norm<double, L, hidden> norm;
  nn::linear<double, L, hidden, classes> down;

  constexpr explicit net(machine<L>& m) : up{m, he_normal{1}}, norm{m}, down{m, he_normal{2}} {}
  constexpr auto operator()(auto const& x) const { return mean(square(down(gelu(norm(up(x)))))); }
  constexpr auto parameters() { return meshtf::parameters(up, norm, down); }
};

enum class sums { in_the_step, early, at_once };

/// Two steps of AdamW, each after the backward passes of `losses` losses.
struct training {
  sums when      = sums::in_the_step;
  double clipped = 0;
  int losses     = 1;

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    net<L> model{m};
    run<L>(m, model);
  }
  template<Layout L>
  constexpr void run(machine<L>& m, net<L>& model) const {
    auto const list = model.parameters();
    adamw opt{0.01};
    opt.shard_state = true;
    opt.max_norm    = clipped;
    opt.prepare(list);
    if (when == sums::in_the_step) return steps<L>(m, model, opt);
    early_sums const guard{list, opt,
                           when == sums::early ? wait_for_sums::at_the_end : wait_for_sums::at_once};
    steps<L>(m, model, opt);
  }
  template<Layout L>
  constexpr void steps(machine<L>& m, net<L>& model, adamw& opt) const {
    auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < losses; ++k) backward(model(x));
      opt.step(model.parameters());
    }
  }
};

template<Layout L>
std::vector<double> weights_after(training const& t) {
  auto& m = processes<typename L::mesh_type>();
  net<L> model{m};
  t.run<L>(m, model);
  return global_elements(model.parameters());
}

template<Layout L>
void check_values() {
  for (double const clipped : {0.0, 0.5})
    for (int const losses : {1, 2}) {
      auto const step  = weights_after<L>({sums::in_the_step, clipped, losses});
      auto const early = weights_after<L>({sums::early, clipped, losses});
      CHECK(early == weights_after<L>({sums::at_once, clipped, losses}));
      CHECK(difference(early, step) < 1e-12);
    }
}

/// Until the step a gradient is still a sum, and whoever asks gets the whole.
template<Layout L>
void check_gradients() {
  auto& m      = processes<typename L::mesh_type>();
  auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
  net<L> model{m};
  auto const list = model.parameters();
  auto const take = [&list] {
    auto const all = global_elements(list, [](auto const& w) { return finish(gradient(w)); });
    zero_gradients(list);
    return all;
  };
  backward(model(x));
  auto const expected = take();
  adamw opt{0.01};
  opt.shard_state = true;
  early_sums const guard{list, opt};
  backward(model(x));
  CHECK(difference(take(), expected) < 1e-12);
}

template<Layout L, training T>
void check_price() {
  static constexpr auto promised = dry_run<L>(T);
  auto const before              = bytes_begun;
  auto const counted             = recorded<L>(processes<typename L::mesh_type>(), T);
  CHECK(counted == promised);
  long begun    = bytes_begun - before;
  long of_calls = 0;
  int goes_on   = 0;
  for (collective_call const& call : promised.collectives()) {
    if (std::string_view{call.site.operation} != "early_sums") continue;
    CHECK(call.kind == collective::reduce_scatter);
    of_calls += call.payload * communicator{}.size();
    if (!call.until.is_nothing()) ++goes_on;
  }
  MPI_Allreduce(MPI_IN_PLACE, &begun, 1, MPI_LONG, MPI_SUM, communicator{});
  CHECK(begun == of_calls);
  CHECK(goes_on > 0);
}

/// The bytes of the step's own reduce-scatters, sent while the backward pass goes on.
template<Layout L>
constexpr void check_bytes() {
  constexpr auto early = dry_run<L>(training{sums::early});
  constexpr auto step  = dry_run<L>(training{sums::in_the_step});
  static_assert(early.template bytes_sent<>() == step.template bytes_sent<>());
  static_assert(early.time().overlapped() < early.time().total());
}

template<Layout L>
void check_all() {
  check_bytes<L>();
  check_values<L>();
  check_gradients<L>();
  check_price<L, training{sums::early}>();
  check_price<L, training{sums::early, 0.5, 2}>();
}

}  // namespace

TEST_CASE("gradients that are scattered in the backward pass give the weights of a sharded step", "[2][4]") {
  switch (communicator{}.size()) {
    case 2: check_all<both<2>>(); break;
    case 4:
      check_all<both<4>>();
      check_all<both<2, 2>>();
      break;
    default: break;
  }
}
