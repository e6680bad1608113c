// fits_with: how many blocks of a model are to be computed again, so that a step fits into memory.
#pragma once

#include <cstddef>
#include <utility>

#include <meshtf/price/budget.hpp>
#include <meshtf/price/dry_run.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The type of a budget's bytes where the compilers show the nearest plan: `Recomputed` is its number of
/// blocks. g++ prints the type of an array, clang the call.
template<int Recomputed>
struct nearest_plan_recomputes {
  enum blocks : char {};
};
template<class Blocks, extent Budget>
constexpr bool a_process_fits(extent peak) {
  if (peak <= Budget) return true;
  Blocks const bytes_of_memory[static_cast<std::size_t>(Budget)]{};  // as in budget.hpp
  return bytes_of_memory[peak] == Blocks{};
}

inline constexpr int max_recomputed = 128;

/// That for each number of blocks.
template<extent Budget, class = std::make_integer_sequence<int, max_recomputed + 1>>
struct nearest_plans;
template<extent Budget, int... Recomputed>
struct nearest_plans<Budget, std::integer_sequence<int, Recomputed...>> {
  static constexpr bool (*fit[sizeof...(Recomputed)])(extent peak){
      &a_process_fits<typename nearest_plan_recomputes<Recomputed>::blocks, Budget>...};
};

/// The least number of blocks, 0 to `blocks`, with which a step needs at most `budget` bytes; one more than
/// `blocks` if there is none.
template<template<Layout> class Program, Layout L, class... A>
consteval int min_recomputed(int blocks, extent budget, A... others) {
  int low  = 0;
  int high = blocks + 1;
  while (low < high) {
    int const middle = low + (high - low) / 2;
    if (dry_run<Program, L>(middle, others...).peak_bytes() <= budget) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace detail

/// The least number k of blocks, 0 to `blocks`, that are computed again in the backward pass so that a
/// process never holds more than `Budget` bytes in a step of `Program<L>{machine, k, others...}`.
///
///     constexpr int k = meshtf::fits_with<training, mixed, 300 * meshtf::MiB>(layers);
///     static_assert(meshtf::fits<300 * meshtf::MiB>(meshtf::dry_run<training, mixed>(k)));
///
/// The program hands k on, as to `nn::transformer::recomputed`. A block that is computed again costs time, so
/// the least number is the fastest. It is found by halving, in dry runs, whose peaks are exact: 3 for 6
/// blocks. The peak must not rise with k, as it does not where the first k blocks are computed again.
///
/// If none fits, the compiler names `nearest_plan_recomputes<K>`: K is the number of blocks with the least
/// peak, and the message has this peak and the budget.
/// Source: Chen et al., Training Deep Nets with Sublinear Memory Cost (2016).
template<template<Layout> class Program, Layout L, extent Budget, class... A>
consteval int fits_with(int blocks, A... others) {
  static_assert(Budget > 0,
                "meshtf: fits_with takes a number of bytes, as in fits_with<training, mixed, 1 * GiB>");
  static_assert(detail::max_recomputed == 128);  // as the message says
  if (blocks < 0 || blocks > detail::max_recomputed) throw "meshtf: fits_with looks at 0 to 128 blocks";
  int const k = detail::min_recomputed<Program, L>(blocks, Budget, others...);
  if (k <= blocks) return k;
  extent const least = dry_run<Program, L>(blocks, others...).peak_bytes();
  int const nearest  = detail::min_recomputed<Program, L>(blocks, least, others...);
  if (!detail::nearest_plans<Budget>::fit[nearest](least))
    throw "meshtf: no number of recomputed blocks meets this budget";
  return nearest;
}

}  // namespace v0
}  // namespace meshtf
