// Programs that are trained: what their first step gives on one process, and what every step costs.
//
// A program is a template on its layout, with `step()`, `loss()` and `parameters()`.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#if defined(MESHTF_WITH_ONEDNN) && __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#endif

#include "../catch.hpp"
#include "compare.hpp"
#include "heap.hpp"
#include "layouts.hpp"

namespace accounting {

/// oneDNN 3 calls `operator new` in some products, oneDNN 2 in none.
#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR >= 3
inline constexpr bool products_allocate = true;
#else
inline constexpr bool products_allocate = false;
#endif

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
  meshtf::for_each_run(dims, meshtf::first_indices(dims, x.machine().place()),
                       [&](meshtf::extent local, meshtf::extent at, meshtf::extent n) {
                         for (meshtf::extent i = 0; i < n; ++i)
                           most = std::max(most, std::abs(double{x.data()[local + i]} -
                                                          whole[static_cast<std::size_t>(at + i)]));
                       });
  return most;
}

// The layout is a parameter since clang 16 crashes where it looks up a concept for `Program<replicated>` in a
// template.
template<template<meshtf::Layout> class Program, meshtf::Layout L = replicated>
answer const& on_one_process() {
  static answer const known = [] {
    meshtf::process_mesh<one_process> m{MPI_COMM_SELF};
    Program<L> program{m};
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

/// Loss and gradients of the first step, relative to the largest entry of all gradients, are those of `Truth`
/// on one process.
template<template<meshtf::Layout> class Program, meshtf::Layout L,
         template<meshtf::Layout> class Truth = Program>
void has_the_answer_of_one_process(double tolerance) {
  auto const& expected = on_one_process<Truth>();
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

/// Promised by the compiler = counted by the ledger of a run = seen by MPI, in three steps; after these a
/// step allocates nothing.
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
    // an optimizer makes its state in the first, if it was not asked to before
    if (step == 1 || Program<L>::prepared) {
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
  if (!products_allocate) CHECK(heap::allocations() - before == 0);
  CHECK(m.memory().blocks() == blocks);
  CHECK(m.memory().reserved_bytes() == reserved);
  CHECK(m.live_bytes() == live);
}

}  // namespace accounting
