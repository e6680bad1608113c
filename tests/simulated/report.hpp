// What the programs for simulated ranks share: a mesh of any extents, and the losses that a script compares.
// The extents of the mesh are macros, so that one source runs on 4 real processes and on 256 simulated ones.
#pragma once

#include <cstdio>
#include <cstdlib>

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

}  // namespace simulated
