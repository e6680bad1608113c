// Trains a multi-layer perceptron on Fashion-MNIST: one source, any layout, its price known to the compiler.
//
// First a few steps under each of five layouts: the losses must be equal, and what each layout sends must be
// what the compiler promised. Then training under one of them, and the accuracy on images that the network
// has not seen.
// Run:    examples/processes 4 build/release/examples/mlp
// Prints: a table of the layouts, promised and counted, then the losses of the training, and the accuracy.
#include <cstdint>
#include <cstdio>
#include <string>

#include <meshtf/data/batches.hpp>

#include "fashion_options.hpp"
#include "fashion_training.hpp"
#include "mlp_model.hpp"
#include "side_by_side.hpp"

namespace {

using fashion::batch, fashion::hidden;

// ---- the layouts ----------------------------------------------------------------------------------------

// clang-format off
struct rows : meshtf::axis<2> {};        // the machine: four processes as a square
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct replicated : meshtf::layout<grid> {};
struct data       : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct model      : meshtf::layout<grid, meshtf::split<hidden, cols>> {};
struct mixed      : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct two_axes   : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
// clang-format on

using all_layouts = layouts<replicated, data, model, mixed, two_axes>;

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  auto const chosen = read_options(argc, argv, all_layouts::names(), 1400);
  if (chosen.help) {
    if (env.world().rank() == 0) std::fputs(usage_of("mlp", "1400, six epochs").c_str(), stdout);
    return 0;
  }
  meshtf::process_mesh<grid> m{env.world()};  // four processes, or an error
  agree_on(m, chosen);

  auto const [images, unseen] = read_both(m, chosen.data);

  side_by_side<grid, rows, cols> table{m};
  all_layouts::visit(chosen.layout, [&]<class L>() {
    fashion::training<L> t{m, chosen.seed};
    meshtf::shuffled_batches batches{images, chosen.seed};
    table.add(t, [&] { batches.next(t.x, t.labels); });
  });
  table.finish();

  std::string const trained = chosen.layout.empty() ? name<mixed> : chosen.layout;
  all_layouts::visit(trained, [&]<class L>() {
    train<fashion::training, batch, L>(m, images, unseen, chosen.steps, chosen.seed, chosen.plain);
  });
}
