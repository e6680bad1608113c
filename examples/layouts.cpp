// One program under several layouts: what a step of a Transformer language model sends, holds and computes,
// as the compiler promised it and as four processes then counted it.
// Run:    examples/processes 4 build/release/examples/layouts
// Prints: for each layout two lines of equal figures, and the loss, which is the same under all of them.
// README.md shows three of the layouts.
#include <cmath>
#include <cstdio>
#include <string>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

// clang-format off
struct batch  : meshtf::dim<16>  {};           // a dimension: a name and a size
struct length : meshtf::dim<64>  {};
struct vocab  : meshtf::dim<256> {};
struct model  : meshtf::dim<128> {};
struct heads  : meshtf::dim<4>   {};
struct key    : meshtf::dim<32>  {};
struct hidden : meshtf::dim<512> {};

struct rows   : meshtf::axis<2> {};            // the machine: four processes as a square
struct cols   : meshtf::axis<2> {};
struct grid   : meshtf::mesh<rows, cols> {};

using meshtf::split;
struct replicated     : meshtf::layout<grid> {};
struct data_parallel  : meshtf::layout<grid, split<batch, rows>> {};
struct model_parallel : meshtf::layout<grid, split<heads, cols>, split<hidden, cols>, split<vocab, cols>> {};
struct mixed          : meshtf::layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>,
                                       split<vocab, cols>> {};
struct two_axes       : meshtf::layout<grid, split<batch, rows, cols>> {};

constexpr auto feed_forward(auto const& x, auto const& up, auto const& down) {    // one source, every layout
  auto h = gelu(einsum<batch, length, hidden>(x, up));          // local GEMM, nothing to send
  return einsum<batch, length, model>(h, down);                 // where hidden is split: all_reduce over cols
}

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

// the constructor sets up, step() is what the loop calls
template<meshtf::Layout L> struct training {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));                                  // reduces the gradients over replicas
    return loss;
  }
};

constexpr auto cost = meshtf::dry_run<training, mixed>();       // the step, run by the compiler
static_assert(cost.bytes_sent<rows>() <= 2 * meshtf::MiB);      // a communication budget that fails the build
static_assert(cost.peak_bytes() <= 16 * meshtf::MiB);

struct clash : meshtf::layout<grid, split<batch, rows>, split<hidden, rows>> {};
static_assert(std::same_as<meshtf::placement_verdict<clash, batch, length, hidden>,
                           meshtf::one_axis_splits_two_dims<rows, batch, hidden>>);
// clang-format on

// What the comments in feed_forward say.
constexpr auto layer = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, length, model> const x{m};
  meshtf::tensor<float, L, model, hidden> const up{m};
  meshtf::tensor<float, L, hidden, model> const down{m};
  feed_forward(x, up, down);
});
static_assert(layer.calls() == 1 && layer.calls<meshtf::collective::all_reduce>() == 1 &&
              layer.bytes_sent<rows>() == 0);

// What docs/walk.md says of its second line.
using second = meshtf::einsum_plan<mixed, meshtf::shape<batch, length, model>,
                                   meshtf::shape<batch, length, hidden>, meshtf::shape<hidden, model>>;
static_assert(std::same_as<second::verdict, meshtf::legal>);
static_assert(second::local.by_gemm && second::local.m == 8 * 64 && second::local.n == 128 &&
              second::local.k == 256);
// one call, and nothing is copied for it
static_assert(second::local.batch.iterations == 1 && second::local.scratch == 0);
static_assert(second::finished_over == meshtf::axis_set_of<grid, meshtf::axes<cols>>);

// The optimizer's means are there from the start, so a later step's peak is that of the first.
template<meshtf::Layout L>
struct later : training<L> {
  constexpr explicit later(meshtf::machine<L>& m) : training<L>{m} { this->step(); }
};
static_assert(meshtf::dry_run<later, mixed>().peak_bytes() == cost.peak_bytes());

void print(std::string const& layout, char const* figures, auto const& price) {
  std::printf("%-14s  %-8s  %10ld  %10ld  %10ld  %10ld", layout.c_str(), figures,
              price.template bytes_sent<rows>(), price.template bytes_sent<cols>(), price.peak_bytes(),
              price.flops());
}

/// The two lines of one layout; returns its loss.
template<meshtf::Layout L>
float compare(meshtf::process_mesh<grid>& m) {
  static constexpr auto promised = meshtf::dry_run<training, L>();
  training<L> t{m};
  // processes that hold the same part of a parameter begin with the same elements
  m.agree(parameters(t.net));
  t.ids     = cast<int>(meshtf::random_uniform<float, L, batch, length>(m, {.seed = 3}, 0, vocab::size));
  t.targets = cast<int>(meshtf::random_uniform<float, L, batch, length>(m, {.seed = 4}, 0, vocab::size));

  float loss         = 0;
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { loss = t.step().value(); });
  if (m.rank() == 0) {
    print(std::string{meshtf::name_of<L>()}, "promised", promised);
    std::printf("\n");
    print("", "counted", counted);
    std::printf("  %.4f\n", static_cast<double>(loss));
  }
  check_promise<L>(promised, counted);
  return loss;
}

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};        // MPI up, errors become messages
  meshtf::process_mesh<grid> m{env.world()};  // four processes, or an error
  if (m.rank() == 0)
    std::printf("layout          a step    along rows  along cols  peak bytes       flops  loss\n");
  float const loss = compare<replicated>(m);
  for (float const other :
       {compare<data_parallel>(m), compare<model_parallel>(m), compare<mixed>(m), compare<two_axes>(m)})
    if (!(std::abs(other / loss - 1) <= 1e-5f))
      throw meshtf::software_error("expected the same loss under every layout, got another");
}
