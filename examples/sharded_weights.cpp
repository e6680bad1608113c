// Weights that are kept in parts (ZeRO-3, FSDP): the same network trained under data parallelism and under a
// layout with the rule `kept_over`, in which each process keeps a quarter of every weight.
// Run:    examples/processes 4 build/release/examples/sharded_weights
// Prints: the cost of a step under both layouts, as promised and counted, and the loss after 50 steps.
#include <cmath>
#include <cstdio>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

namespace {

using meshtf::extent;

// clang-format off
struct batch  : meshtf::dim<32>  {};
struct in     : meshtf::dim<64>  {};
struct hidden : meshtf::dim<512> {};
struct middle : meshtf::dim<256> {};
struct out    : meshtf::dim<8>   {};

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct whole : meshtf::layout<grid, meshtf::split<batch, rows>> {};  // data parallelism
struct parts : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::kept_over<rows>> {};
// clang-format on

template<meshtf::Layout L>
struct network {
  meshtf::nn::linear<float, L, in, hidden> up;  // a layer keeps its own weights in parts
  meshtf::kept_parameter<float, L, hidden, middle> weight;
  meshtf::kept_parameter<float, L, middle> scale;
  meshtf::nn::linear<float, L, middle, out> down;

  constexpr explicit network(meshtf::machine<L>& m)
      : up{m, meshtf::he_normal{1}},
        weight{m, meshtf::he_normal{2}},
        scale{m, meshtf::constant{1}},
        down{m, meshtf::normal{3, 0.02}} {}

  constexpr auto operator()(auto const& x) const {
    auto const h = gelu(up(x));
    auto const z = einsum<batch, middle>(h, weight);   // gathers, here and for the gradient of h
    return down(gelu(z * meshtf::reshard<L>(scale)));  // any other operation: gather by hand
  }

  constexpr auto parameters() {
    return meshtf::parameters(named("up", up), named("weight", weight), named("scale", scale),
                              named("down", down));
  }
};

template<meshtf::Layout L>
struct training {
  network<L> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<float, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m) : net{m}, x{m}, y{m} { opt.prepare(parameters(net)); }

  constexpr auto loss() const { return mean(square(net(x) - y)); }
  constexpr auto step() {
    auto const l = loss();
    backward(l);
    opt.step(parameters(net));
    return l;
  }
};

constexpr auto of_whole = meshtf::dry_run<training, whole>();
constexpr auto of_parts = meshtf::dry_run<training, parts>();

static_assert(of_whole.parameter_bytes() == 666'656 && of_parts.parameter_bytes() == 166'688);
static_assert(of_whole.optimizer_bytes() == 1'333'312 && of_parts.optimizer_bytes() == 333'376);
static_assert(of_whole.peak_bytes() == 2'685'316 && of_parts.peak_bytes() == 1'348'484);
static_assert(of_parts.flops() == of_whole.flops());

// A process sends 4 (N - 1) / N bytes for each float that is gathered or reduce-scattered. A matrix moves
// three times: twice if it multiplies what needs no gradient, as x, and so does a bias.
constexpr extent once = 4 * (rows::size - 1) / rows::size;
constexpr extent ends = 2 * once * (out::size + 1);  // all-reduces of the loss and of 8 floats, under 1 KiB
static_assert(of_parts.bytes_sent() ==
              once * (3 * hidden::size * middle::size + 3 * middle::size * out::size +
                      2 * in::size * hidden::size + 2 * hidden::size + 2 * middle::size) +
                  ends);
static_assert(of_parts.calls<meshtf::collective::all_gather>() == 7);
static_assert(of_parts.calls<meshtf::collective::reduce_scatter>() == 5);

template<meshtf::Layout L>
void next_batch(training<L>& t, std::uint64_t n) {
  auto& m           = t.x.machine();
  auto const secret = meshtf::random_normal<float, L, in, out>(m, {.seed = 4}, 0, 0.125);
  t.x               = meshtf::random_normal<float, L, batch, in>(m, {.seed = 5, .stream = n});
  t.y               = tanh(einsum<batch, out>(t.x, secret));
}

/// Trains, and returns the loss of a batch that no step has seen.
template<meshtf::Layout L>
float train(meshtf::process_mesh<grid>& m, auto const& promised) {
  training<L> t{m};
  next_batch(t, 0);
  check_promise<L>(promised, meshtf::recorded<L>(m, [&]<class>(auto&) { t.step(); }));
  for (std::uint64_t n = 1; n < 50; ++n) {
    next_batch(t, n);
    t.step();
  }
  next_batch(t, 1000);
  meshtf::no_gradient const guard{m};
  return t.loss().value();
}

void print(char const* name, auto const& cost) {
  std::printf("%s: %7ld bytes of parameters, %7ld of state, peak %7ld, %7ld sent in %2ld calls\n", name,
              cost.parameter_bytes(), cost.optimizer_bytes(), cost.peak_bytes(), cost.bytes_sent(),
              cost.calls());
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  float const loss_of_whole = train<whole>(m, of_whole);
  float const loss_of_parts = train<parts>(m, of_parts);
  if (m.rank() == 0) {
    print("whole", of_whole);
    print("parts", of_parts);
    std::printf("loss after 50 steps: %.4f whole, %.4f parts\n", loss_of_whole, loss_of_parts);
  }
  // equal to rounding: a reduce-scatter adds in another order than an all-reduce
  return std::abs(loss_of_whole - loss_of_parts) < 1e-4F * loss_of_whole ? 0 : 1;
}
