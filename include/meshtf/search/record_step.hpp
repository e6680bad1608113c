// The record of a program's step.
#pragma once

#include <cstddef>
#include <type_traits>

#include <meshtf/search/recorder.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The record of a program's step. If `counts_alike`, what one micro-batch notes is counted for others.
template<template<Layout> class Program, Dimension... D, class... A>
constexpr auto record_of(bool counts_alike, A... arguments) {
  using open = dry<undecided_layout<D...>>;
  recorder<D...> m;
  step_record<D...> step;
  if (counts_alike) m.count_alike_batches();
  {
    Program<open> program{m, arguments...};
    m.start_over();
    {
      [[maybe_unused]] auto const result = result_of_step(program);
    }
    m.unwind_tape(false);
    step = m.noted();
  }
  if (!m.nothing_lives()) values_outlive_the_dry_run();
  return step;
}
template<template<Layout> class Program, Dimension... D>
inline constexpr auto record_of_program = record_of<Program, D...>(false);

}  // namespace detail

/// The record of the first `step()` of a fresh `Program` that may split `D...`, at most 8 dimensions. It
/// takes one dry run; no layout is named.
///
///     constexpr auto step = meshtf::record<training, batch, heads, hidden, vocab>();
template<template<Layout> class Program, Dimension... D, class... A>
consteval auto record(A... arguments) {
  if constexpr (detail::evaluates_twice && sizeof...(A) == 0) {  // as dry_run
    using made = std::remove_const_t<decltype(detail::record_of_program<Program, D...>)>;
    if constexpr (requires {
                    typename std::integral_constant<std::size_t,
                                                    detail::record_of_program<Program, D...>.call_count>;
                  })
      return detail::record_of_program<Program, D...>;
    else return made{};
  } else {
    return detail::record_of<Program, D...>(false, arguments...);
  }
}

}  // namespace v0
}  // namespace meshtf
