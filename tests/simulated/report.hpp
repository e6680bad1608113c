// What the programs for simulated ranks share: a mesh of any extents, and the losses that a script compares.
// The extents of the mesh are macros, so that one source runs on 4 real processes and on 256 simulated ones.
// With -DMODELLED they compare the simulated seconds of a step with those of the machine model instead.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <meshtf/meshtf.hpp>

#ifndef ROWS
#define ROWS 2
#define COLUMNS 2
#endif

namespace simulated {

struct rows : meshtf::axis<ROWS> {};
struct columns : meshtf::axis<COLUMNS> {};
struct grid : meshtf::mesh<rows, columns> {};

/// A rank that leaves after the first step, so that the others wait for it: LEAVES_EARLY names it.
inline bool leaves(int rank) {
  char const* const named = std::getenv("LEAVES_EARLY");
  return named != nullptr && std::atoi(named) == rank;
}

#ifdef MODELLED

// examples/simulation/switch.xml: 10 Gbit/s, 2 us from host to host; arithmetic takes no simulated time, and
// SimGrid's messages begin when their receiver waits for them
constexpr meshtf::machine_model of_switch{
    .flops_per_second        = 1e30,
    .memory_bytes_per_second = 1e30,
    .seconds_per_byte_added  = 0,
    .within_node             = {.seconds_per_message = 2e-6, .seconds_per_byte = 8 / 10e9},
    .algorithms              = meshtf::algorithm_choice::open_mpi,
    .eager_limit             = 0};

template<template<class> class Training>
struct first_step {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    Training<L> t{m};
    static_cast<void>(t.step(0));
  }
};

/// All processes begin at the same moment, and the slowest counts.
inline double simulated_seconds(auto const& f) {
  double const now = MPI_Wtime();
  double latest    = 0;
  MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  timespec const rest{0, static_cast<long>((latest + 0.01 - MPI_Wtime()) * 1e9)};
  nanosleep(&rest, nullptr);
  double const begin = MPI_Wtime();
  f();
  double const mine = MPI_Wtime() - begin;
  double longest    = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

/// Prints the milliseconds of a step: simulated, modelled. Communicators are made in the step before.
template<template<class> class Training, meshtf::Layout L>
void train(meshtf::process_mesh<grid>& m, char const* name, int = 0) {
  constexpr double modelled = meshtf::dry_run<L>(first_step<Training>{}).time(of_switch).total();
  Training<L> t{m};
  static_cast<void>(t.step(0));
  double const seconds = simulated_seconds([&t] { static_cast<void>(t.step(0)); });
  if (m.rank() != 0) return;
  std::printf("step %s %.4f %.4f %.3f\n", name, 1e3 * seconds, 1e3 * modelled, seconds / modelled);
}

#else

/// Takes a few steps of a training and prints its losses, in digits enough to compare them to 1e-6.
template<template<class> class Training, meshtf::Layout L>
void train(meshtf::process_mesh<grid>& m, char const* name, int steps = 3) {
  Training<L> t{m};
  double losses[8]{};
  for (int i = 0; i < steps; ++i) {
    losses[i] = static_cast<double>(t.step(i).value());
    if (leaves(m.rank())) return;
  }
  if (m.rank() != 0) return;
  std::printf("loss %s", name);
  for (int i = 0; i < steps; ++i) std::printf(" %.9e", losses[i]);
  std::printf("\n");
}

#endif

}  // namespace simulated
