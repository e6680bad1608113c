// A convolutional network on Fashion-MNIST whose images are split: one source, any layout, its price known to
// the compiler.
//
// Two convolutions of 3 x 3 with pooling, batch on one axis of the mesh and the rows of each image on the
// other: parts of an image exchange the rows at their edges. First a few steps under each of five layouts:
// the losses must be equal, and what each layout sends must be what the compiler promised. Then training
// under one of them, and the accuracy on images that the network has not seen, of which the last batch is
// smaller.
// Run:    examples/processes 4 build/release/examples/images   (examples/images installs the data, builds it
// and runs it)
// Prints: a table of the layouts, promised and counted, then the losses of the training, and the accuracy.
#include <cstdint>
#include <cstdio>
#include <string>

#include <meshtf/data/batches.hpp>
#include <meshtf/meshtf.hpp>

#include "fashion_options.hpp"
#include "fashion_training.hpp"
#include "side_by_side.hpp"

namespace {

// ---- the network ----------------------------------------------------------------------------------------

// clang-format off
struct batch    : meshtf::up_to<128> {};   // the last batch of the test is what is left
struct pixels   : meshtf::dim<784> {};
struct height   : meshtf::dim<28> {};     struct width        : meshtf::dim<28> {};
struct half     : meshtf::dim<14> {};     struct half_width   : meshtf::dim<14> {};
struct quarter  : meshtf::dim<7> {};      struct quarter_width : meshtf::dim<7> {};
struct tap      : meshtf::dim<3> {};      struct tap_across   : meshtf::dim<3> {};
struct one      : meshtf::dim<1> {};      // the grey of a pixel
struct two      : meshtf::dim<2> {};      struct two_across   : meshtf::dim<2> {};
struct maps     : meshtf::dim<16> {};
struct features : meshtf::dim<32> {};
struct hidden   : meshtf::dim<128> {};
struct classes  : meshtf::dim<10> {};
// clang-format on

using meshtf::stride, meshtf::window;

template<meshtf::Layout L>
struct network {
  // clang-format off
  meshtf::parameter<float, L, tap, tap_across, one, maps>                    w1;
  meshtf::parameter<float, L, maps>                                          b1;
  meshtf::parameter<float, L, tap, tap_across, maps, features>               w2;
  meshtf::parameter<float, L, features>                                      b2;
  meshtf::parameter<float, L, quarter, quarter_width, features, hidden>      w3;
  meshtf::parameter<float, L, hidden>                                        b3;
  meshtf::parameter<float, L, hidden, classes>                               w4;
  meshtf::parameter<float, L, classes>                                       b4;
  // clang-format on

  constexpr network(meshtf::machine<L>& m, std::uint64_t seed)
      : w1{m, meshtf::he_normal{4 * seed}},
        b1{m},
        w2{m, meshtf::he_normal{4 * seed + 1}},
        b2{m},
        w3{m, meshtf::he_normal{4 * seed + 2}},
        b3{m},
        w4{m, meshtf::he_normal{4 * seed + 3}},
        b4{m} {}

  constexpr auto operator()(auto const& x) const {
    auto const image =
        meshtf::broadcast<batch, height, width, one>(meshtf::split_dim<pixels, height, width>(x));
    auto const edges = relu(conv<window<height, tap>, window<width, tap_across>, one, maps>(image, w1) + b1);
    auto const small =
        max_pool<window<height, two, half, stride<2>>, window<width, two_across, half_width, stride<2>>>(
            edges);
    auto const parts =
        relu(conv<window<half, tap>, window<half_width, tap_across>, maps, features>(small, w2) + b2);
    auto const seen = max_pool<window<half, two, quarter, stride<2>>,
                               window<half_width, two_across, quarter_width, stride<2>>>(parts);
    // where the rows are split, an all-reduce over their axis
    auto const h = relu(einsum<batch, hidden>(seen, w3) + b3);
    return einsum<batch, classes>(h, w4) + b4;
  }
  constexpr auto parameters() { return meshtf::parameters(w1, b1, w2, b2, w3, b3, w4, b4); }
};

template<meshtf::Layout L>
struct training {
  network<L> net;
  meshtf::adam opt{1e-3};
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1)
      : net{m, seed}, x{m}, labels{m} {}

  constexpr auto step() {
    auto const loss = mean(softmax_cross_entropy<classes>(net(x), labels));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }

  /// How many of the batch the network names rightly.
  constexpr auto hits() const { return sum(cast<float>(equal(argmax<classes>(net(x)), labels))); }
};

// ---- the layouts ----------------------------------------------------------------------------------------

// clang-format off
struct rows : meshtf::axis<2> {};        // the machine: four processes as a square
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

using meshtf::layout, meshtf::padded, meshtf::split;
struct replicated : layout<grid> {};
struct data       : layout<grid, split<batch, rows, cols>> {};
// 7 rows over 2: 4 and 3
struct space      : layout<grid, split<height, cols>, split<half, cols>, padded<quarter, cols>> {};
struct mixed      : layout<grid, split<batch, rows>, split<height, cols>, split<half, cols>,
                           padded<quarter, cols>> {};
struct model      : layout<grid, split<batch, rows>, split<maps, cols>, split<hidden, cols>> {};
// clang-format on

using all_layouts = layouts<replicated, data, space, mixed, model>;

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  auto const chosen = read_options(argc, argv, all_layouts::names(), 4690);
  if (chosen.help) {
    if (env.world().rank() == 0) std::fputs(usage_of("images", "4690, ten epochs").c_str(), stdout);
    return 0;
  }
  meshtf::process_mesh<grid> m{env.world()};  // four processes, or an error
  agree_on(m, chosen);
  auto const [images, unseen] = read_both(m, chosen.data);

  side_by_side<grid, rows, cols> table{m};
  all_layouts::visit(chosen.layout, [&]<class L>() {
    training<L> t{m, chosen.seed};
    meshtf::shuffled_batches batches{images, chosen.seed};
    table.add(t, [&] { batches.next(t.x, t.labels); });
  });
  // the largest of a window, and Adam where a gradient is almost 0, jump with the last bit of a sum
  table.finish(1e-3F);

  std::string const trained = chosen.layout.empty() ? name<mixed> : chosen.layout;
  all_layouts::visit(trained, [&]<class L>() {
    train<training, batch, L>(m, images, unseen, chosen.steps, chosen.seed, chosen.plain);
  });
}
