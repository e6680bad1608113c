// Resharding: the moves between two layouts, and why there may be none.
#pragma once

#include <meshtf/core/placement.hpp>
#include <meshtf/plan/pending.hpp>
#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace meshtf {
inline namespace v0 {

/// A reshard can't move a value to another mesh.
template<class M1, class M2>
struct layouts_are_of_different_meshes {};

/// A dimension can replace another only if both have the same size.
template<class D1, class D2>
struct dims_differ_in_size {};

/// Each dimension replaces exactly one other, so both shapes have the same rank.
template<class S1, class S2>
struct shapes_differ_in_rank {};

/// The copies of some move need more loops than a nest has. Reshard through an intermediate layout.
template<class S>
struct reshard_needs_too_many_loops {};

namespace detail {

// If there is an objection to a layout or a placement, nothing is planned.
template<class From, class S1, class To, class S2, axis_set Unreduced, axis_set Riding, class Asked>
struct resharding_if {
  static constexpr reshard_steps steps{};
  static constexpr Asked verdict() { return {}; }
};

template<class From, class... D1, class To, class... D2, axis_set Unreduced, axis_set Riding>
struct resharding_if<From, shape<D1...>, To, shape<D2...>, Unreduced, Riding, legal> {
  static constexpr reshard_steps steps =
      plan_reshard(placed_shape<From, shape<D1...>>::dims, placed_shape<To, shape<D2...>>::dims, Unreduced,
                   axis_sizes_in_stage<From>, Riding);
  static constexpr reshard_fault fault = steps.fault;

  template<class... Axis>
  static auto axis(axes<Axis...>) -> pick<fault.axis, Axis...>;

  static constexpr auto verdict() {
    if constexpr (fault.reason == reshard_fault::sizes_differ)
      return dims_differ_in_size<pick<fault.dim, D1...>, pick<fault.dim, D2...>>{};
    else if constexpr (fault.reason == reshard_fault::unreduced_axis_splits)
      return unreduced_axis_splits_dim<decltype(axis(typename From::mesh_type::all_axes{})),
                                       pick<fault.dim, D1...>>{};
    else if constexpr (fault.reason == reshard_fault::too_many_loops)
      return reshard_needs_too_many_loops<shape<D1...>>{};
    else return legal{};
  }
};

template<class M1, class M2>
using one_mesh = std::conditional_t<std::is_same_v<M1, M2>, legal, layouts_are_of_different_meshes<M1, M2>>;

template<class S1, class S2>
using one_rank = std::conditional_t<S1::rank == S2::rank, legal, shapes_differ_in_rank<S1, S2>>;

template<class From, class S1, class To, class S2, axis_set Unreduced, axis_set Riding>
struct resharding_between
    : resharding_if<
          From, S1, To, S2, Unreduced, Riding,
          first_objection<one_mesh<typename From::mesh_type, typename To::mesh_type>, one_rank<S1, S2>,
                          placement_verdict_of<From, S1>, placement_verdict_of<To, S2>>> {};

}  // namespace detail

/// How a value of shape `S1` under `From`, still a sum over the axes `Unreduced`, becomes one of shape `S2`
/// under `To`. It remains a sum over `Riding`. The dimensions of `S2` replace those of `S1` in the same order
/// in memory. Without a legal verdict there are no steps.
template<Layout From, class S1, Layout To, class S2, axis_set Unreduced = 0, axis_set Riding = 0>
struct renaming_reshard_plan {
  using verdict =
      decltype(detail::resharding_between<actual<From>, S1, actual<To>, S2, Unreduced, Riding>::verdict());
  static constexpr reshard_steps const& steps =
      detail::resharding_between<actual<From>, S1, actual<To>, S2, Unreduced, Riding>::steps;
};

/// How a value of shape `S`, still a sum over the axes `Unreduced`, gets from layout `From` to layout `To`.
template<Layout From, Layout To, class S, axis_set Unreduced = 0>
using reshard_plan = renaming_reshard_plan<From, S, To, S, Unreduced>;

}  // namespace v0
}  // namespace meshtf
