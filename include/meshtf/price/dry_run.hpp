// dry_run: the price of a program, found by running it in the compiler.
#pragma once

#include <meshtf/price/ledger.hpp>
#include <meshtf/price/staged_cost.hpp>

namespace meshtf {
inline namespace v0 {

/// `Program` can't be run on the compiler's machine: it is made for one layout, and a dry run makes it for
/// another, which has no storage. A dry run takes a class template,
/// `template<meshtf::Layout L> struct training { ... };`, or a function template,
/// `[]<meshtf::Layout L>(meshtf::machine<L>& m) { ... }`.
template<class Program>
struct program_is_no_template {};

namespace detail {

// Called only in constant evaluation, where reaching it stops the compiler with its name.
inline void values_outlive_the_dry_run() {}

/// Whether `F` has no call `f.operator()<L>(machine)`. Its body is not looked into, since every message about
/// a program that has the call would then show it: whatever is not a template has an address.
template<class F>
concept FixedProgram = !std::is_class_v<F> || requires { &F::operator(); };

struct nothing {};
template<class Program>
constexpr auto result_of_step(Program& program) {
  if constexpr (std::is_void_v<decltype(program.step())>) {
    program.step();
    return nothing{};
  } else {
    return program.step();
  }
}

}  // namespace detail

namespace detail {

template<Layout L, class F>
consteval cost<typename L::mesh_type> price_function(F const& f, threads t, int stage, stage_passes& passes) {
  ledger<typename L::mesh_type> m{t};
  if constexpr (is_staged<L>) m.template stand_at<stage_axis<L>>(stage);
  f.template operator()<dry<actual<L>>>(m);
  m.unwind_tape(false);
  // some value is kept in a place that outlives f
  if (m.live_bytes() != 0) values_outlive_the_dry_run();
  passes = m.passes();
  return m.noted();
}

}  // namespace detail

/// What all that `f.operator()<L>(machine)` does costs one process: every collective in order, flops, bytes.
/// It is a literal value that a `static_assert` can bound.
///
///     constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) { ... });
///
/// This is the real program, with its control flow, run on the ledger instead of processes. clang counts the
/// steps of constant evaluation and stops a long program at about 40 Transformer layers: pass
/// -fconstexpr-steps=100000000 (the CMake target does).
///
/// `threads{n}` after `f` (or before the constructor's arguments) prices a process with n threads: it needs
/// scratch memory for each.
template<Layout L, class F>
consteval auto dry_run(F f, threads t = {}) {
  constexpr bool is_template = !detail::FixedProgram<F>;  // not the lambda itself, whose name is a path
  static_assert(is_template, "meshtf: dry_run takes []<meshtf::Layout L>(meshtf::machine<L>& m) { ... }");
  if constexpr (is_staged<L> && is_template) {
    staged_cost<typename L::mesh_type, stage_count<L>> all;
    for (int k = 0; k < stage_count<L>; ++k) all.stage(k) = detail::price_function<L>(f, t, k, all.passes(k));
    return all;
  } else {
    ledger<typename L::mesh_type> m{t};
    if constexpr (is_template) f.template operator()<dry<actual<L>>>(m);
    m.unwind_tape(false);
    // some value is kept in a place that outlives f
    if (m.live_bytes() != 0) detail::values_outlive_the_dry_run();
    return m.noted();
  }
}

namespace detail {

template<Mesh M>
struct priced_step {
  cost<M> step;
  stage_passes passes;
  extent left;  // bytes that are alive after the program
};

/// Each `dry_run` looks at the bytes itself, so that a compiler's message about them shows one call less.
/// They keep it in variables that are not const, since clang would evaluate the whole step once more to see
/// whether those are constants.
template<template<Layout> class Program, Layout L, class... A>
consteval auto price_step(threads t, int stage, A... arguments) {
  using layout = dry<actual<L>>;
  ledger<typename L::mesh_type> m{t};
  if constexpr (is_staged<L>) m.template stand_at<stage_axis<L>>(stage);
  priced_step<typename L::mesh_type> priced{};
  {
    Program<layout> program{m, arguments...};
    m.start_over();
    {
      [[maybe_unused]] auto const result = result_of_step(program);
    }
    m.unwind_tape(false);
    priced.step = m.noted();
    if constexpr (is_staged<L>) priced.passes = m.passes();
  }
  priced.left = m.live_bytes();
  return priced;
}

template<template<Layout> class Program, Layout L, class... A>
consteval auto price_stages(threads t, A... arguments) {
  staged_cost<typename L::mesh_type, stage_count<L>> all;
  for (int k = 0; k < stage_count<L>; ++k) {
    auto priced = price_step<Program, L>(t, k, arguments...);
    if (priced.left != 0) values_outlive_the_dry_run();
    all.stage(k)  = priced.step;
    all.passes(k) = priced.passes;
  }
  return all;
}

}  // namespace detail

/// The price of the first `step()` of a fresh `Program<L>{machine, arguments...}`; under a layout with
/// stages, a `staged_cost`. What the constructor holds counts in the bytes; the constructor's flops and
/// collectives do not count.
template<template<Layout> class Program, Layout L, class... A>
consteval auto dry_run(A... arguments) {
  if constexpr (is_staged<L>) {
    return detail::price_stages<Program, L>(threads{}, arguments...);
  } else {
    auto priced = detail::price_step<Program, L>(threads{}, 0, arguments...);
    if (priced.left != 0) detail::values_outlive_the_dry_run();
    return priced.step;
  }
}
template<template<Layout> class Program, Layout L, class... A>
consteval auto dry_run(threads t, A... arguments) {
  if constexpr (is_staged<L>) {
    return detail::price_stages<Program, L>(t, arguments...);
  } else {
    auto priced = detail::price_step<Program, L>(t, 0, arguments...);
    if (priced.left != 0) detail::values_outlive_the_dry_run();
    return priced.step;
  }
}

/// Refuses, with a sentence, a class that is not a template (such as that of a lambda) or that already has
/// its layout.
template<class Program, class L = void, class... A>
  requires(!Layout<Program>)
consteval auto dry_run(A const&...) {
  using verdict = program_is_no_template<Program>;
  static_assert(accepted<verdict>,
                "meshtf: dry_run takes template<meshtf::Layout L> struct training { ... };");
  if constexpr (Layout<L>) return cost<typename L::mesh_type>{};
}

}  // namespace v0
}  // namespace meshtf
