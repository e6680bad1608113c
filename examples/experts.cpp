// A mixture of experts: each token passes through two of eight feed-forward networks, which lie on the
// processes that share the batch.
// Run:    examples/processes 4 build/release/examples/experts
// Prints: the communication of a step, and of a training without and one with a balance loss: the error, how
//         unequal the experts' loads are (standard deviation by mean), and how many choices found no place.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <meshtf/meshtf.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

#include "promise.hpp"

namespace {

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct batch : meshtf::dim<32> {};
struct length : meshtf::dim<32> {};
struct in : meshtf::dim<8> {};
struct model : meshtf::dim<16> {};
struct hidden : meshtf::dim<32> {};
struct experts : meshtf::dim<8> {};
struct groups : meshtf::dim<8> {};  // of four rows of the batch, 128 tokens

struct spread : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<groups, rows>,
                               meshtf::split<experts, rows>> {};

template<meshtf::Layout L>
struct training {
  meshtf::nn::streams seeds{1};
  meshtf::nn::linear<float, L, in, model> first;
  meshtf::nn::mixture_of_experts<float, L, model, hidden, experts, groups> mixture;
  meshtf::adamw opt{1e-2};
  meshtf::tensor<float, L, batch, length, in> x;
  meshtf::tensor<float, L, batch, length, model> y;
  float balance        = 0.05F;
  std::uint64_t number = 0;

  constexpr explicit training(meshtf::machine<L>& m)
      : first{m, meshtf::normal{seeds.next(), 0.3}}, mixture{m, seeds, 0.2, 0.2}, x{m}, y{m} {
    opt.prepare(parameters());
  }
  constexpr auto parameters() { return meshtf::parameters(named("first", first), named("mixture", mixture)); }
  constexpr auto step() {
    auto const h     = first(x);
    auto const z     = mixture(h, {.seed = 2, .stream = ++number});
    auto const error = mean(square(h + z.value - y));
    auto const loss  = error + finish(z.balance_loss * balance + z.router_z_loss * 0.001F);
    backward(loss);
    opt.step(parameters());
    return error;
  }
};

constexpr auto cost = meshtf::dry_run<training, spread>();

static_assert(cost.calls<meshtf::collective::all_to_all>() == 4);  // two forward, two backward

// of each: 8 / 4 groups, 8 experts, floor(128 * 1.25 / 8) = 20 places, 16 floats
constexpr bool exchanges_equally_much = [] {
  bool all = true;
  for (auto const& c : cost.collectives())
    if (c.kind == meshtf::collective::all_to_all) all = all && c.payload == 8 / 4 * 8 * 20 * 16 * 4;
  return all;
}();
static_assert(exchanges_equally_much);

/// Tokens are of four kinds, of which the first is as frequent as the others together; each has a function.
template<meshtf::Layout L>
void next_batch(training<L>& t, std::uint64_t n) {
  auto& m           = t.x.machine();
  auto const secret = meshtf::random_normal<float, L, in, model>(m, {.seed = 5});
  auto const noise  = meshtf::random_normal<float, L, batch, length, in>(m, {.seed = 3, .stream = n});
  auto const draw   = meshtf::random_uniform<float, L, batch, length>(m, {.seed = 4, .stream = n});
  auto const kind   = where(less(draw, 0.5F), 0.0F, floor(draw * 6));
  t.x               = noise * 0.5F + kind;
  t.y               = sin(einsum<batch, length, model>(t.x, secret) + kind * 3);
}

struct outcome {
  float error;
  double variation;
  int dropped;
};

template<meshtf::Layout L>
outcome train(meshtf::process_mesh<grid>& m, float balance) {
  training<L> t{m};
  t.balance = balance;
  for (std::uint64_t n = 0; n < 100; ++n) {
    next_batch(t, n);
    if (n == 0) check_promise<L>(cost, meshtf::recorded<L>(m, [&]<class>(auto&) { t.step(); }));
    else t.step();
  }
  next_batch(t, 1000);
  meshtf::no_gradient const guard{m};
  auto const h      = t.first(t.x);
  auto const z      = t.mixture.evaluate(h);
  auto const load   = to_global(sum<groups>(z.load));
  double const fair = 2.0 * batch::size * length::size / experts::size;
  double variance   = 0;
  for (int const n : load) variance += (n - fair) * (n - fair) / experts::size;
  return {mean(square(h + z.value - t.y)).value(), std::sqrt(variance) / fair, sum(z.dropped).value()};
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  bool const is_first = m.rank() == 0;
  if (is_first)
    std::printf("a step: %ld all-to-alls, %ld bytes sent, %ld bytes of parameters\n",
                cost.calls<meshtf::collective::all_to_all>(), cost.bytes_sent(), cost.parameter_bytes());
  auto const without = train<spread>(m, 0);
  auto const with    = train<spread>(m, 0.05F);
  if (is_first) {
    std::printf("without: loss %.4f, loads vary by %.3f, %d dropped\n", without.error, without.variation,
                without.dropped);
    std::printf("with:    loss %.4f, loads vary by %.3f, %d dropped\n", with.error, with.variation,
                with.dropped);
  }
  return with.variation < without.variation ? 0 : 1;
}
