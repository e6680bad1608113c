// What random values of a tensor, and iota, will take, decided before they run: the value of each element
// follows from its place in the whole tensor.
#pragma once

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/shard_plan.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf {
inline namespace v0 {

/// The steps of iota along `D`.
template<Layout L, Dimension D>
inline constexpr steps_under<L, line_steps, shape<D>> iota_plan =
    plan_steps<L, line_steps, shape<D>, D>(arrays_of<shape<D>>{});

namespace task {

/// Draws random values. Array: z.
template<Element T, class Distribution>
struct draw {
  using steps_type = shard_steps;
  Distribution distribution{};

  static constexpr meshtf::work work(shard_steps const& s) {
    return {.kind = "random", .bytes = s.elements * extent{sizeof(T)}};
  }
  void compute(shard_steps const&, place_in_mesh const&, T* z) const;
};

/// Drops each element with probability `rate`, and scales the others. Arrays: x, z.
template<Element T>
struct drop {
  using steps_type = shard_steps;
  random_key key{};
  double rate = 0;

  static constexpr meshtf::work work(shard_steps const& s) {
    return {.kind = "elementwise", .elementwise = s.elements, .bytes = 2 * s.elements * extent{sizeof(T)}};
  }
  void compute(shard_steps const&, place_in_mesh const&, T const* x, T* z) const;
};

/// The global index of each element. Array: z.
template<Element T>
struct iota {
  using steps_type = line_steps;
  static constexpr meshtf::work work(line_steps const& s) {
    return {.kind = "copy", .bytes = s.along * extent{sizeof(T)}};
  }
  void compute(line_steps const&, place_in_mesh const&, T* z) const;
};

}  // namespace task

}  // namespace v0
}  // namespace meshtf
