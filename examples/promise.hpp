// What the compiler promised of a step, and what the step then cost: an example that runs one compares them,
// and fails if they differ.
#pragma once

#include <string>

#include <meshtf/meshtf.hpp>

/// The layout of a program, and the cost of its first step.
template<class>
struct promise_of;

template<template<meshtf::Layout> class Program, meshtf::Layout L>
struct promise_of<Program<L>> {
  using layout               = L;
  static constexpr auto cost = meshtf::dry_run<Program, L>();
};

/// Errors: `software_error`, on every process alike, unless all is as promised: every call in its order, its
/// bytes, arithmetic, and the peak of memory.
template<meshtf::Layout L, class Cost>
void check_promise(Cost const& promised, Cost const& counted) {
  if (counted == promised) return;
  auto const figure = [](char const* what, meshtf::extent said, meshtf::extent was) {
    return said == was ? std::string{}
                       : "; " + std::string{what} + ": " + std::to_string(said) + " promised, " +
                             std::to_string(was) + " counted";
  };
  throw meshtf::software_error("expected a step under " + std::string{meshtf::name_of<L>()} +
                               " to cost what the compiler promised, got other figures" +
                               figure("calls", promised.calls(), counted.calls()) +
                               figure("bytes sent", promised.bytes_sent(), counted.bytes_sent()) +
                               figure("flops", promised.flops(), counted.flops()) +
                               figure("peak bytes", promised.peak_bytes(), counted.peak_bytes()));
}

/// The first step of a fresh `Program<L>`, counted and compared.
template<template<meshtf::Layout> class Program, meshtf::Layout L>
void check_promise(meshtf::process_mesh<typename L::mesh_type>& m) {
  m.agree(promise_of<Program<L>>::cost);  // another binary on some processes would promise something else
  Program<L> program{m};
  check_promise<L>(promise_of<Program<L>>::cost,
                   meshtf::recorded<L>(m, [&]<class>(auto&) { program.step(); }));
}
