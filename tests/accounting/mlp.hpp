// A perceptron with three layers, its training, and what its first step gives on one process.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "../catch.hpp"
#include "compare.hpp"
#include "heap.hpp"
#include "zoo.hpp"

namespace accounting {

template<class T, class Optimizer, meshtf::Layout L>
struct training {
  meshtf::parameter<T, L, in, hidden> w1;
  meshtf::parameter<T, L, hidden> b1;
  meshtf::parameter<T, L, hidden, inner> w2;
  meshtf::parameter<T, L, inner> b2;
  meshtf::parameter<T, L, inner, classes> w3;
  meshtf::parameter<T, L, classes> b3;
  meshtf::tensor<T, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;
  Optimizer optimizer{0.1};

  constexpr explicit training(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}},
        b1{m, meshtf::normal{2, 0.1}},
        w2{m, meshtf::he_normal{3}},
        b2{m, meshtf::normal{4, 0.1}},
        w3{m, meshtf::he_normal{5}},
        b3{m, meshtf::normal{6, 0.1}},
        x{meshtf::random_normal<T, L, batch, in>(m, {.seed = 7})},
        labels{m} {
    if constexpr (!meshtf::is_dry<L>) {
      constexpr auto dims = meshtf::placed_dims<L, meshtf::shape<batch>>;
      auto const first    = meshtf::first_indices(dims, m.coordinates(), meshtf::axis_sizes<typename L::mesh_type>)[0];
      for (meshtf::extent i = 0; i < labels.size; ++i) labels.data()[i] = static_cast<int>((first + i) * 5 % classes::size);
    }
  }

  constexpr auto parameters() { return meshtf::parameters(w1, b1, w2, b2, w3, b3); }

  constexpr auto loss() const {
    auto const h1     = relu(meshtf::einsum<batch, hidden>(x, w1) + b1);
    auto const h2     = tanh(meshtf::einsum<batch, inner>(h1, w2) + b2);
    auto const logits = meshtf::einsum<batch, classes>(h2, w3) + b3;
    return mean(meshtf::softmax_cross_entropy<classes>(logits, labels));
  }

  constexpr auto step() {
    auto result = loss();
    backward(result);
    optimizer.step(parameters());
    return result;
  }
};

/// The loss and every gradient, whole.
struct answer {
  double loss = 0;
  std::vector<std::vector<double>> gradients;

  double largest() const {
    double most = 0;
    for (auto const& g : gradients)
      for (double x : g) most = std::max(most, std::abs(x));
    return most;
  }
};

/// What this process has of it, compared with `whole`: the largest difference.
template<class T, class L, class... D>
double distance(meshtf::tensor<T, L, D...> const& x, std::vector<double> const& whole) {
  std::span<meshtf::placed const> const dims{meshtf::placed_dims<L, meshtf::shape<D...>>};
  double most = 0;
  meshtf::for_each_run(dims, meshtf::first_indices(dims, x.machine().coordinates(), meshtf::axis_sizes<typename L::mesh_type>),
                       [&](meshtf::extent local, meshtf::extent at, meshtf::extent n) {
                         for (meshtf::extent i = 0; i < n; ++i)
                           most = std::max(most, std::abs(double{x.data()[local + i]} - whole[static_cast<std::size_t>(at + i)]));
                       });
  return most;
}

template<template<meshtf::Layout> class Program>
answer const& on_one_process() {
  static answer const known = [] {
    meshtf::process_mesh<one_process> m{MPI_COMM_SELF};
    Program<replicated> program{m};
    auto const loss = program.loss();
    backward(loss);
    answer a;
    a.loss = double{loss.value()};
    program.parameters().for_each([&](auto const& w) {
      auto const g = finish(gradient(w));
      a.gradients.emplace_back(g.data(), g.data() + g.size);
    });
    return a;
  }();
  return known;
}

/// Loss and gradients of the first step, relative to the largest entry of all gradients.
template<template<meshtf::Layout> class Program, meshtf::Layout L>
void has_the_answer_of_one_process(double tolerance) {
  auto const& expected = on_one_process<Program>();
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  Program<L> program{m};
  auto const loss = program.loss();
  backward(loss);
  double worst     = std::abs(double{loss.value()} - expected.loss) / std::abs(expected.loss);
  std::size_t i    = 0;
  double const all = expected.largest();
  program.parameters().for_each([&](auto const& w) {
    auto const g = finish(gradient(w));
    worst        = std::max(worst, distance(g, expected.gradients[i++]) / all);
  });
  INFO(meshtf::name_of<L>());
  CHECK(all > 0.01);
  CHECK(worst <= tolerance);
}

/// Promised by the compiler = counted by the ledger of a run = seen by MPI, in three steps; after these a step allocates nothing.
template<template<meshtf::Layout> class Program, meshtf::Layout L>
void costs_what_was_promised() {
  static constexpr auto promised = meshtf::dry_run<Program, L>();
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  Program<L> program{m};
  INFO(meshtf::name_of<L>());
  for (int step = 1; step <= 3; ++step) {
    INFO("step " << step);
    pmpi::start();
    meshtf::extent peak = 0;
    auto const counted  = meshtf::recorded<L>(m, [&]<class>(auto&) {
      program.step();
      peak = m.peak_bytes();
    });
    auto const made     = pmpi::stop();
    CHECK(difference(promised, made) == "");
    if (step == 1) {   // an optimizer makes its state in the first
      CHECK(difference(promised, counted) == "");
      CHECK(promised == counted);
      CHECK(peak == promised.peak_bytes());
      CHECK(m.live_bytes() == promised.live_bytes());
      CHECK(m.parameter_bytes() == promised.parameter_bytes());
    }
    CHECK(counted.calls() == promised.calls());
    CHECK(counted.flops() == promised.flops());
    CHECK(m.tape_is_empty());
  }

  // from here on nobody is asked for memory
  auto const blocks   = m.memory().blocks();
  auto const reserved = m.memory().reserved_bytes();
  auto const live     = m.live_bytes();
  auto const before   = heap::allocations();
  for (int i = 0; i < 3; ++i) program.step();
  CHECK(heap::allocations() - before == 0);
  CHECK(m.memory().blocks() == blocks);
  CHECK(m.memory().reserved_bytes() == reserved);
  CHECK(m.live_bytes() == live);
}

}  // namespace accounting
