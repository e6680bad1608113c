// Trains a multi-layer perceptron on Fashion-MNIST: one source, any layout, its price known to the compiler.
//
// First a few steps under each of five layouts: the losses must be equal, and what each layout sends must be what the compiler promised. Then training under
// one of them, and the accuracy on images that the network has not seen. For four processes: examples/processes 4 build/release/examples/mlp
#include <cstdint>
#include <cstdio>
#include <string>

#include <meshtf/data/batches.hpp>
#include <meshtf/meshtf.hpp>

#include "mlp_options.hpp"
#include "side_by_side.hpp"

namespace {

// ---- the model ------------------------------------------------------------------------------------------------------------------------------------

// clang-format off
struct batch    : meshtf::dim<256> {};   // dimensions: a name and a size
struct pixels   : meshtf::dim<784> {};
struct hidden   : meshtf::dim<512> {};
struct features : meshtf::dim<128> {};
struct classes  : meshtf::dim<10>  {};

struct rows : meshtf::axis<2> {};        // the machine: four processes as a square
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct replicated : meshtf::layout<grid> {};
struct data       : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct model      : meshtf::layout<grid, meshtf::split<hidden, cols>> {};
struct mixed      : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct two_axes   : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
// clang-format on

template<meshtf::Layout L>
struct mlp {
  // clang-format off
  meshtf::parameter<float, L, pixels, hidden>    w1;
  meshtf::parameter<float, L, hidden>            b1;
  meshtf::parameter<float, L, hidden, features>  w2;
  meshtf::parameter<float, L, features>          b2;
  meshtf::parameter<float, L, features, classes> w3;
  meshtf::parameter<float, L, classes>           b3;
  // clang-format on

  constexpr mlp(meshtf::machine<L>& m, std::uint64_t seed)
      : w1{m, meshtf::he_normal{3 * seed}}, b1{m}, w2{m, meshtf::he_normal{3 * seed + 1}}, b2{m}, w3{m, meshtf::he_normal{3 * seed + 2}}, b3{m} {}

  constexpr auto operator()(auto const& x) const {
    auto h = relu(einsum<batch, hidden>(x, w1) + b1);
    auto f = relu(einsum<batch, features>(h, w2) + b2);  // sums over hidden: where that is split, an all-reduce over its axes
    return einsum<batch, classes>(f, w3) + b3;
  }
  constexpr auto parameters() { return meshtf::parameters(w1, b1, w2, b2, w3, b3); }
};

template<meshtf::Layout L>
struct training {
  mlp<L> net;
  meshtf::adam opt{1e-3};
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1) : net{m, seed}, x{m}, labels{m} {}

  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<classes>(net(x), labels));
    backward(loss);
    opt.step(parameters(net));  // adds the gradients up over the processes that share a parameter
    return loss;
  }

  /// How many of the batch the network names rightly.
  constexpr auto hits() const {
    auto off = cast<float>(argmax<classes>(net(x)) - labels);
    return sum(relu(1 - square(off)));  // 1 where the two are equal, else 0
  }
};

using all_layouts = layouts<replicated, data, model, mixed, two_axes>;

// ---- training -------------------------------------------------------------------------------------------------------------------------------------

template<meshtf::Layout L>
void train(meshtf::process_mesh<grid>& m, meshtf::labelled_images const& images, meshtf::labelled_images const& unseen, long steps,
           std::uint64_t seed) {
  say(m, "\ntraining under %s: %ld steps of %ld images\n", name<L>.c_str(), steps, batch::size);
  training<L> t{m, seed};
  meshtf::shuffled_batches batches{images, seed};
  auto const start = wall_clock::now();
  for (long i = 1; i <= steps; ++i) {
    batches.next(t.x, t.labels);
    t.opt.rate      = 2e-3 * static_cast<double>(steps - i + 1) / static_cast<double>(steps);
    auto const loss = t.step();
    if (i % 100 != 0 && i != steps) continue;
    double const a_step = seconds_since(start) / static_cast<double>(i);
    say(m, "step %5ld  epoch %2ld  loss %.4f  %6.0f images/s  %4.0f s left\n", i, batches.epoch(), loss.value(), batch::size / a_step,
        a_step * static_cast<double>(steps - i));
  }

  meshtf::no_gradient guard{m};
  double right = 0;
  for (meshtf::batches_in_order test{unseen}; test.next(t.x, t.labels);) right += t.hits().value();
  say(m, "test accuracy %.2f %% (%.0f of %ld images)\n", 100 * right / static_cast<double>(unseen.count), right, unseen.count);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  auto const chosen = read_options(argc, argv, all_layouts::names());
  if (chosen.help) {
    if (env.world().rank() == 0) std::fputs(usage, stdout);
    return 0;
  }
  meshtf::process_mesh<grid> m{env.world()};  // four processes, or a sentence that says so

  auto images = meshtf::agreed(m.world(), [&] { return meshtf::read_mnist(chosen.data, "train"); });
  auto unseen = meshtf::agreed(m.world(), [&] { return meshtf::read_mnist(chosen.data, "t10k"); });
  auto by     = standard_scale(images);
  scale(images, by);
  scale(unseen, by);

  side_by_side<grid, rows, cols> table{m};
  all_layouts::visit(chosen.layout, [&]<class L>() {
    training<L> t{m, chosen.seed};
    meshtf::shuffled_batches batches{images, chosen.seed};
    table.add(t, [&] { batches.next(t.x, t.labels); });
  });
  table.finish();

  std::string const trained = chosen.layout.empty() ? name<mixed> : chosen.layout;
  all_layouts::visit(trained, [&]<class L>() { train<L>(m, images, unseen, chosen.steps, chosen.seed); });
}
