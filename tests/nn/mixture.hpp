// What the tests of a mixture of experts share: its dimensions, layouts of these, and what is compared.
#pragma once

#include <meshtf/nn/mixture_of_experts.hpp>

#include "../layout_fixture.hpp"

namespace mixtures {

using namespace fixture;

struct sentences : dim<16> {};
struct words : dim<16> {};
struct width : dim<6> {};
struct inside : dim<10> {};
struct experts : dim<8> {};
struct groups : dim<8> {};  // of two sentences, 32 words
using every = nn::all_of<experts>;

/// Experts over the batch's axis, of two and four processes.
struct by_two : layout<pair, split<sentences, line>, split<groups, line>, split<experts, line>> {};
struct by_four : layout<two_by_two, split<sentences, rows, cols>, split<groups, rows, cols>,
                        split<experts, rows, cols>> {};
/// Hidden units over another axis.
struct inside_too : layout<two_by_two, split<sentences, rows>, split<groups, rows>, split<experts, rows>,
                           split<inside, cols>> {};

/// No token is dropped.
using ample = nn::capacity_factors<std::ratio<8>, std::ratio<8>>;
/// Each expert has places for half of the tokens of a group.
using half = nn::capacity_factors<std::ratio<4>, std::ratio<4>>;

template<Layout L, class Gating = nn::top_2_gating, class Factors = nn::capacity_factors<>>
using mixture_of = nn::mixture_of_experts<double, L, width, inside, experts, groups, Gating, Factors>;

template<class Z>
constexpr auto loss_of(Z const& z) {
  auto const task = sum(square(z.value));
  return task + finish(z.balance_loss) * 3 + finish(z.router_z_loss) * 2;
}

/// Shows the value, both losses, and all gradients of a loss with all three.
template<class Z, class X, class Net>
constexpr void show(value_recorder const& see, Z const& z, X const& x, Net& net) {
  see(z.value);
  see(finish(z.balance_loss));
  see(finish(z.router_z_loss));
  auto const loss = loss_of(z);
  backward(loss);
  see(finish(gradient(x)));
  meshtf::parameters(net).for_each([&](auto const& w) { see(finish(gradient(w))); });
}
/// Shows the tokens that were dropped and how many each expert has, and then the rest.
template<class Z, class X, class Net>
constexpr void show_with_load(value_recorder const& see, Z const& z, X const& x, Net& net) {
  see(z.dropped);
  see(z.load);
  show(see, z, x, net);
}

}  // namespace mixtures
