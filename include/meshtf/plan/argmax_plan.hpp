// What argmax will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/shard_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace task {

/// The largest element of each line, and its index in the whole. Arrays: x, the largest, their indices.
template<Element T>
struct argmax {
  using steps_type = line_steps;
  static constexpr meshtf::work work(line_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = s.rows() * s.along,
            .bytes       = s.rows() * ((s.along + 1) * extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  void compute(line_steps const&, place_in_mesh const&, T const* x, T* best, std::int32_t* where) const;
};

/// Invalidates the index wherever a process's largest element is smaller than the peak of all processes.
/// Arrays: the largest, the peak, the indices.
template<Element T>
struct forget_smaller {
  using steps_type = shard_steps;
  static constexpr meshtf::work work(shard_steps const& s) {
    return {.kind  = "elementwise",
            .bytes = s.elements * (2 * extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  void compute(shard_steps const&, place_in_mesh const&, T const* best, T const* peak,
               std::int32_t* where) const;
};

}  // namespace task

/// The largest element of a tensor of shape `X` along `Along`.
///
/// If `Along` is split, each process knows the largest element of its part, and these are joined over
/// `finished_over`.
template<Layout L, class X, class Along>
struct argmax_plan {
  using result  = without<X, shape<Along>>;
  using verdict = first_objection<reduce_verdict<L, X, Along>, detail::index_verdict<Along>>;

  static constexpr steps_under<L, line_steps, X> lines = plan_steps<L, line_steps, X, Along>(arrays_of<X>{});
  static constexpr axis_set finished_over              = split_over<L, X> & ~split_over<L, result>;
};

}  // namespace v0
}  // namespace meshtf
