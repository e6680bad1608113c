// The program of docs/getting_started.md: a small network, trained on one process, and on four under two
// layouts. With `test` it trains nothing, but loads what a training has saved in FOLDER.
// Run:    examples/processes 4 build/release/examples/getting_started [FOLDER [test]]
// (build/getting_started)
// Prints: for each layout the bytes that a process sends in a step, promised and counted, and the loss as it
// falls.
#include <cstdio>
#include <string>

#include <meshtf/meshtf.hpp>

#include "options.hpp"
#include "promise.hpp"

namespace {

// clang-format off
struct batch  : meshtf::dim<256> {};         // dimensions: a name and a size
struct in     : meshtf::dim<16> {};
struct hidden : meshtf::dim<256> {};
struct out    : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};            // meshes: one process, and four as a square
struct cols : meshtf::axis<2> {};
struct one  : meshtf::mesh<> {};
struct four : meshtf::mesh<rows, cols> {};

using meshtf::split;                         // layouts: which dimension is split over which axis
struct alone         : meshtf::layout<one> {};
struct data_parallel : meshtf::layout<four, split<batch, rows, cols>> {};
struct mixed         : meshtf::layout<four, split<batch, rows>, split<hidden, cols>> {};
// clang-format on

template<meshtf::Layout L>
struct training {  // one source for every layout
  meshtf::parameter<float, L, in, hidden> w;
  meshtf::parameter<float, L, hidden, out> v;
  meshtf::adam opt{3e-3};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<float, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m)
      : w{m, meshtf::he_normal{1}}, v{m, meshtf::he_normal{2}}, x{m}, y{m} {}

  constexpr auto parameters() { return meshtf::parameters(w, v); }

  constexpr auto loss() const {
    auto const h = relu(einsum<batch, hidden>(x, w));
    return mean(square(einsum<batch, out>(h, v) - y));
  }

  constexpr auto step() {
    auto const l = loss();
    backward(l);
    opt.step(parameters());
    return l;
  }
};

/// Batch number `n`: random inputs, and what the network is to learn of them. No layout changes it.
template<meshtf::Layout L>
void next_batch(training<L>& t, std::uint64_t n) {
  auto& m           = t.x.machine();
  auto const secret = meshtf::random_normal<float, L, in, out>(m, {.seed = 3}, 0, 0.25);
  t.x               = meshtf::random_normal<float, L, batch, in>(m, {.seed = 4, .stream = n});
  t.y               = tanh(einsum<batch, out>(t.x, secret));
}

/// printf of a line about the layout `L`, by one process for all.
template<meshtf::Layout L, class... T>
void say(meshtf::process_mesh<typename L::mesh_type> const& m, char const* format, T... values) {
  if (m.rank() != 0) return;
  std::printf("%s: ", std::string{meshtf::name_of<L>()}.c_str());
  std::printf(format, values...);
  std::printf("\n");
}

template<meshtf::Layout L>
void train(meshtf::process_mesh<typename L::mesh_type>& m, std::string const& folder) {
  static constexpr auto promised = meshtf::dry_run<training, L>();  // the compiler runs a step
  static_assert(promised.bytes_sent() <= 32 * meshtf::KiB);         // a step that sends more does not compile

  training<L> t{m};
  m.agree(t.parameters());  // processes that hold the same shard begin with the same elements
  next_batch(t, 0);
  double loss        = 0;
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { loss = t.step().value(); });
  say<L>(m, "%ld bytes sent promised, %ld counted; %ld bytes of memory promised, %ld counted",
         promised.bytes_sent(), counted.bytes_sent(), promised.peak_bytes(), counted.peak_bytes());
  check_promise<L>(promised, counted);
  say<L>(m, "step 0: loss %.2f", loss);

  for (std::uint64_t n = 1; n <= 300; ++n) {
    next_batch(t, n);
    loss = t.step().value();
    if (n % 100 == 0) say<L>(m, "step %lu: loss %.2f", n, loss);
  }
  meshtf::save(t.parameters(), t.opt, {.step = 300, .seed = 1}, folder);
}

template<meshtf::Layout L>
void test(meshtf::process_mesh<typename L::mesh_type>& m, std::string const& folder) {
  training<L> t{m};
  auto const position = meshtf::load(t.parameters(), t.opt, folder);
  next_batch(t, 1000);  // no training step has seen it
  meshtf::no_gradient const guard{m};
  double const loss = t.loss().value();
  say<L>(m, "loaded after step %lu: loss of a new batch %.2f", position.step, loss);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  std::string const folder = argc > 1 ? argv[1] : "build/getting_started";
  bool const trains        = argc <= 2 || one_of({"test"}, argv[2]) != "test";

  // one binary: on one process it has the mesh `one`, on four processes the mesh `four`
  meshtf::run_on<one, four>(env, [&]<class M>(meshtf::process_mesh<M>& m) {
    m.agree("the folder for checkpoints", folder);
    m.agree("test", trains ? "train" : "test");
    if constexpr (std::same_as<M, one>) {
      trains ? train<alone>(m, folder) : test<alone>(m, folder);
    } else {
      trains ? train<data_parallel>(m, folder) : test<data_parallel>(m, folder);
      trains ? train<mixed>(m, folder) : test<mixed>(m, folder);
    }
  });
}
