// dry_run: the price of a program, found by running it in the compiler.
#pragma once

#include <type_traits>

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

/// What `dry_run` looks at itself, so that a compiler's message about it shows one call less.
struct priced {
  extent left;              // bytes that are alive after the program
  bool has_changing_block;  // see `called_on_stage`
};

template<Layout L, class F>
constexpr priced price_function(F const& f, threads t, int stage, bool leaves_out,
                                cost<typename L::mesh_type>& c, stage_passes& passes) {
  ledger<typename L::mesh_type> m{t, c};
  m.template stand_at<stage_axis<L>>(stage);
  m.leave_out_idle_blocks(leaves_out);
  f.template operator()<dry<actual<L>>>(m);
  m.unwind_tape(false);
  m.noted();
  passes = m.passes();
  return {m.live_bytes(), m.has_changing_block()};
}

/// price(k, leaves_out, cost, passes) of each stage. Blocks of other stages are left out, unless one changes
/// more than elements on its own stage: then the others must call it too.
template<Layout L, class Price, class Cost>
constexpr void price_each_stage(Price const& price, Cost& all) {
  bool leaves_out = stage_count<L> > 1;
  for (int k = 0; k < stage_count<L>; ++k) {
    priced const p = price(k, leaves_out, all.stage(k), all.passes(k));
    // some value is kept in a place that outlives the program
    if (p.left != 0) values_outlive_the_dry_run();
    if (!leaves_out || !p.has_changing_block) continue;
    leaves_out = false;
    all        = {};
    k          = -1;
  }
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
/// scratch memory for each. Where the price takes long, write the program as a class (below): clang evaluates
/// `constexpr auto cost = dry_run<L>(f);` in a file twice.
template<Layout L, class F>
consteval auto dry_run(F f, threads t = {}) {
  constexpr bool is_template = !detail::FixedProgram<F>;  // not the lambda itself, whose name is a path
  static_assert(is_template, "meshtf: dry_run takes []<meshtf::Layout L>(meshtf::machine<L>& m) { ... }");
  if constexpr (is_staged<L> && is_template) {
    auto const price = [&](int k, bool leaves_out, auto& c, stage_passes& passes) {
      return detail::price_function<L>(f, t, k, leaves_out, c, passes);
    };
    staged_cost<typename L::mesh_type, stage_count<L>> all;
    detail::price_each_stage<L>(price, all);
    return all;
  } else {
    cost<typename L::mesh_type> all;
    ledger<typename L::mesh_type> m{t, all};
    if constexpr (is_template) f.template operator()<dry<actual<L>>>(m);
    m.unwind_tape(false);
    // some value is kept in a place that outlives f
    if (m.live_bytes() != 0) detail::values_outlive_the_dry_run();
    m.noted();
    return all;
  }
}

namespace detail {

/// The variables that get the result are not const, since clang would evaluate the whole step once more to
/// see whether those are constants.
template<template<Layout> class Program, Layout L, class... A>
constexpr priced price_step(threads t, int stage, bool leaves_out, cost<typename L::mesh_type>& c,
                            stage_passes& passes, A... arguments) {
  using layout = dry<actual<L>>;
  ledger<typename L::mesh_type> m{t, c};
  if constexpr (is_staged<L>) {
    m.template stand_at<stage_axis<L>>(stage);
    m.leave_out_idle_blocks(leaves_out);
  }
  {
    Program<layout> program{m, arguments...};
    m.start_over();
    {
      [[maybe_unused]] auto const result = result_of_step(program);
    }
    m.unwind_tape(false);
    m.noted();
    if constexpr (is_staged<L>) passes = m.passes();
  }
  return {m.live_bytes(), m.has_changing_block()};
}

/// The price of a program, and how many bytes are alive after it. Its constructor makes it by `fill(cost)`,
/// which returns those bytes: in constant evaluation, a local variable that a function returns is copied, and
/// a cost has tens of thousands of numbers, that of a pipeline as many for each stage.
template<class Cost>
struct priced_program {
  Cost cost;
  extent left;

  template<class Fill>
  constexpr explicit priced_program(Fill const& fill) : cost{}, left{fill(cost)} {}
};
template<template<Layout> class Program, Layout L, class... A>
constexpr auto price_program(threads t, A... arguments) {
  if constexpr (is_staged<L>) {
    auto const price = [&](int k, bool leaves_out, auto& c, stage_passes& passes) {
      return price_step<Program, L>(t, k, leaves_out, c, passes, arguments...);
    };
    return priced_program<staged_cost<typename L::mesh_type, stage_count<L>>>{[&](auto& all) {
      price_each_stage<L>(price, all);
      return extent{0};
    }};
  } else {
    return priced_program<cost<typename L::mesh_type>>{[&](auto& all) {
      stage_passes none;
      return price_step<Program, L>(t, 0, false, all, none, arguments...).left;
    }};
  }
}

/// clang evaluates a call of a consteval function twice where it initialises a variable that is no template,
/// as `constexpr auto cost = dry_run<training, L>();` in a file. So there the price initialises a template;
/// if it is no constant, that is said of the template alone.
#ifdef __clang__
inline constexpr bool evaluates_twice = true;
#else
inline constexpr bool evaluates_twice = false;
#endif
template<template<Layout> class Program, Layout L>
inline constexpr auto price_of_program = price_program<Program, L>(threads{});

}  // namespace detail

/// The price of the first `step()` of a fresh `Program<L>{machine, arguments...}`; under a layout with
/// stages, a `staged_cost`. What the constructor holds counts in the bytes; the constructor's flops and
/// collectives do not count.
template<template<Layout> class Program, Layout L, class... A>
consteval auto dry_run(A... arguments) {
  if constexpr (detail::evaluates_twice && sizeof...(A) == 0) {
    using price = decltype(detail::price_of_program<Program, L>.cost);  // made before it is looked at
    if constexpr (requires {
                    typename std::integral_constant<extent, detail::price_of_program<Program, L>.left>;
                  })
      return detail::price_of_program<Program, L>.cost;
    else return price{};
  } else {
    auto priced = detail::price_program<Program, L>(threads{}, arguments...);
    if (priced.left != 0) detail::values_outlive_the_dry_run();
    return priced.cost;
  }
}
template<template<Layout> class Program, Layout L, class... A>
consteval auto dry_run(threads t, A... arguments) {
  auto priced = detail::price_program<Program, L>(t, arguments...);
  if (priced.left != 0) detail::values_outlive_the_dry_run();
  return priced.cost;
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
