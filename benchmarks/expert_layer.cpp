// A layer of experts, forward and backward, against the same by hand: gather, products of each expert,
// scatter. One process, one thread; both call the same library for products, on the same values.
//
// 2,048 tokens of 256 elements in groups of 512, 8 experts of 1,024 hidden units, two for each token, places
// for 1.25 times as many tokens as there are; the balance loss, and the gradients of x and of all weights.
// With `--only turns` it answers peers/experts.py instead, which asks for processor time.
#include "experts_by_hand.hpp"
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>

#include <meshtf/meshtf.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

namespace {

// clang-format off
struct batch   : meshtf::dim<16>   {};
struct length  : meshtf::dim<128>  {};
struct groups  : meshtf::dim<4>    {};
struct experts : meshtf::dim<8>    {};
struct model   : meshtf::dim<256>  {};
struct hidden  : meshtf::dim<1024> {};
struct alone   : meshtf::layout<meshtf::mesh<>> {};
// clang-format on

constexpr int tokens = batch::size * length::size / groups::size;
constexpr by_hand::experts_sizes sizes{.groups  = int{groups::size},
                                       .tokens  = tokens,
                                       .experts = int{experts::size},
                                       .places  = tokens * 5 / 4 / int{experts::size},
                                       .model   = int{model::size},
                                       .hidden  = int{hidden::size}};

struct with_meshtf_layer {
  meshtf::nn::streams seeds{1};
  meshtf::nn::mixture_of_experts<float, alone, model, hidden, experts, groups> mixture;
  meshtf::parameter<float, alone, batch, length, model> x;
  meshtf::tensor<float, alone, batch, length, model> dz;

  with_meshtf_layer(meshtf::machine<alone>& m, by_hand::experts_layer const& same)
      : mixture{m, seeds, 0.02, 0.02, {.in_training = meshtf::nn::second_expert::all}}, x{m}, dz{m} {
    auto const copy = [](by_hand::buffer const& from, auto& to) {
      std::copy_n(from.get(), to.size, to.data_to_write());
    };
    copy(same.x, x);
    copy(same.dz, dz);
    copy(same.router, mixture.router.weight);
    copy(same.up, mixture.up.weight);
    copy(same.down, mixture.down.weight);
  }
  double step() {
    auto all = meshtf::parameters(named("mixture", mixture), named("x", x));
    zero_gradients(all);
    auto const z    = mixture(x, {.seed = 1});
    auto const loss = sum(z.value * dz) + finish(z.balance_loss * 0.01F);
    backward(loss);
    return static_cast<double>(loss.value());
  }
};

by_hand::experts_layer filled() {
  by_hand::experts_layer layer{sizes};
  auto fill = [stream = 0U](by_hand::buffer& b, meshtf::extent n, float scale) mutable {
    ++stream;
    for (meshtf::extent i = 0; i < n; ++i) b.get()[i] = scale * by_hand::random_at(stream, i);
  };
  constexpr meshtf::extent all = batch::size * length::size * model::size;
  fill(layer.x, all, 1);
  fill(layer.dz, all, 0.01F);
  fill(layer.router, model::size * experts::size, 0.2F);
  fill(layer.up, experts::size * model::size * hidden::size, 0.05F);
  fill(layer.down, experts::size * model::size * hidden::size, 0.05F);
  return layer;
}

/// Both compute the same: the loss, and the sizes of gradients.
void compare(by_hand::experts_layer& by_hand, with_meshtf_layer& here) {
  double const wanted  = by_hand.step();
  double const found   = here.step();
  auto const differ    = [](double a, double b) { return std::abs(a - b) > 1e-4 * std::abs(a); };
  auto const length_of = [](float const* x, meshtf::extent n) {
    double total = 0;
    for (meshtf::extent i = 0; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return std::sqrt(total);
  };
  auto const same = [&](by_hand::buffer const& a, auto const& b) {
    return !differ(length_of(a.get(), b.size), length_of(finish(gradient(b)).data(), b.size));
  };
  if (differ(wanted, found) || !same(by_hand.dx, here.x) ||
      !same(by_hand.drouter, here.mixture.router.weight) || !same(by_hand.dup, here.mixture.up.weight) ||
      !same(by_hand.ddown, here.mixture.down.weight) || !same(by_hand.dup_bias, here.mixture.up.bias) ||
      !same(by_hand.ddown_bias, here.mixture.down.bias))
    throw std::runtime_error{"the layer by hand computes something else: losses " + std::to_string(wanted) +
                             " and " + std::to_string(found)};
}

/// Answers each line, `by_hand` or `meshtf`, with the seconds of the processor that a step takes, and its
/// loss.
void take_turns(by_hand::experts_layer& by_hand, with_meshtf_layer& here) {
  char word[16];
  while (std::scanf("%15s", word) == 1) {
    bool const hand   = std::string{word} == "by_hand";
    auto const begin  = std::clock();
    double const loss = hand ? by_hand.step() : here.step();
    std::printf("%.6f %.9g\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, loss);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  auto const options = bench::read(argc, argv);
  bench::settle();
  meshtf::process_mesh<meshtf::mesh<>> m{env.world()};
  auto by_hand = filled();
  with_meshtf_layer here{m, by_hand};
  compare(by_hand, here);
  if (options.only == "turns") {
    take_turns(by_hand, here);
    return 0;
  }
  bench::report report{env.world()};
  report.add("layer of experts", bench::interleave(env.world(),
                                                   {{"by hand", [&] { by_hand.step(); }, true},
                                                    {"meshtf", [&] { here.step(); }, false}},
                                                   options.rounds, 1));
  report.write(options.json);
  return 0;
}
