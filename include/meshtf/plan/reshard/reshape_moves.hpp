// Which moves turn dimensions into others that hold the same elements in the same order, decided before it runs.
#pragma once

#include <array>
#include <span>

#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace meshtf::inline v0 {

/// `whole` seen as the dimensions `parts` (sizes given), outermost first: its axes go to the outermost part while they divide it, the rest to the next once
/// that one is split to single elements. Returns how many of its axes fit so; where they are not all, a split over those alone would.
///
/// Merging is the same seen from the other side: the axes of an inner part stay only where the outer ones are split to single elements.
/// Source: the factor walk of Shardy and GSPMD, for named dimensions; an axis is not cut in two.
constexpr int distribute(placed const& whole, std::span<placed> parts, std::span<extent const> axis_sizes) {
  std::size_t at = 0;
  for (placed& p : parts) p.parts = 1, p.over = {};
  for (int i = 0; i < whole.over.count; ++i) {
    int const axis = whole.over[i];
    extent const n = axis_sizes[static_cast<std::size_t>(axis)];
    while (at < parts.size() && parts[at].parts == parts[at].size) ++at;
    if (at == parts.size()) {  // only axes of size 1 can be left
      if (n != 1) return i;
      continue;
    }
    if (parts[at].size % (parts[at].parts * n) != 0) return i;
    parts[at].parts *= n;
    parts[at].over.push_back(axis);
  }
  return whole.over.count;
}

/// Why there is no way: as for a reshard, or `no_common_factors` of the sizes from dimension `dim` of `from` on, or a split that `runs_across` the factors of a
/// dimension: of `to` if `of_result`, and then no axis but its first `fitting` ones may split it.
struct reshape_fault {
  enum kind { none, no_common_factors, runs_across, too_many_dims, no_reshard } what = none;
  bool of_result                                                                     = false;
  int dim = 0, fitting = 0;
};

struct reshape_way {
  reshape_fault fault{};
  reshard_steps steps{};
};

/// The cheapest moves from the row-major dimensions `from` to `to`, which hold the same elements in the same order: a reshard in terms of the largest factors
/// that both are products of. Dimensions that are merged, split, or both. `owed` and `riding` as in `plan_reshard`.
constexpr reshape_way plan_reshape(std::span<placed const> from, std::span<placed const> to, axis_set owed, std::span<extent const> axes,
                                   axis_set riding = 0) {
  using fault = reshape_fault;
  struct side {
    std::array<int, max_rank + 1> first{};  // factor of each dimension
    std::array<placed, max_rank> factors{};
    std::size_t next = 0;
    extent rest      = 1;  // of the dimension before

    constexpr void go_on(std::span<placed const> dims, int count) {
      while (rest == 1 && next < dims.size()) {
        first[next] = count;
        rest        = dims[next++].size;
      }
    }
  };
  side a, b;
  int count = 0;
  if (from.size() > max_rank || to.size() > max_rank) return {.fault = {.what = fault::too_many_dims}};
  for (;;) {
    a.go_on(from, count);
    b.go_on(to, count);
    if (a.rest == 1 && b.rest == 1) break;
    extent const factor = a.rest < b.rest ? a.rest : b.rest;
    if (factor == 1 || a.rest % factor != 0 || b.rest % factor != 0)
      return {.fault = {fault::no_common_factors, false, static_cast<int>(a.next) - 1}};
    if (count == max_rank) return {.fault = {.what = fault::too_many_dims}};
    a.factors[static_cast<std::size_t>(count)].size = b.factors[static_cast<std::size_t>(count)].size = factor;
    ++count;
    a.rest /= factor;
    b.rest /= factor;
  }
  a.first[from.size()] = b.first[to.size()] = count;

  for (bool const of_result : {false, true}) {
    side& s         = of_result ? b : a;
    auto const dims = of_result ? to : from;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      auto const begin = static_cast<std::size_t>(s.first[d]), end = static_cast<std::size_t>(s.first[d + 1]);
      int const fitting = distribute(dims[d], std::span{s.factors}.subspan(begin, end - begin), axes);
      if (fitting != dims[d].over.count) return {.fault = {fault::runs_across, of_result, static_cast<int>(d), fitting}};
    }
  }
  auto const n = static_cast<std::size_t>(count);
  reshape_way way{.steps = plan_reshard(std::span{a.factors}.first(n), std::span{b.factors}.first(n), owed, axes, riding)};
  if (way.steps.fault.what != reshard_fault::none) way.fault.what = fault::no_reshard;
  return way;
}

}  // namespace meshtf::inline v0
