// What splitting a dimension into several, or merging several into one, will do, decided before it runs.
#pragma once

#include <meshtf/core/placement.hpp>
#include <meshtf/plan/reshard/reshape_moves.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The product of the sizes of `Parts` is not the size of `Whole`.
template<class Whole, class Parts>
struct parts_do_not_multiply_to_dim {};

/// The split of `Whole` cuts through its `Parts`. `Remedy` says what to reshard it to first.
template<class Whole, class Parts, class Remedy>
struct split_runs_across_parts {};

/// A layout that splits `Dim` over these axes only.
template<class Dim, class Axes>
struct split_only {};

namespace detail {

template<class Axes, int N, class Kept = axes<>>
struct first_axes : std::type_identity<Kept> {};
template<class A, class... Rest, int N, class... Kept>
  requires(N > 0)
struct first_axes<axes<A, Rest...>, N, axes<Kept...>> : first_axes<axes<Rest...>, N - 1, axes<Kept..., A>> {};

/// The position of `Whole` in a shape that has its parts instead, and the parts placed as `Whole` is.
template<class L, class S, class Whole, class Parts>
struct dims_by_parts;

template<class L, class... D, class Whole, class... P>
struct dims_by_parts<L, shape<D...>, Whole, shape<P...>> {
  static constexpr int rank = int{sizeof...(D)};

  struct outcome {
    std::array<placed, sizeof...(D)> dims{};
    int fitting = 0;  // number of axes of the whole that fit
  };

  // shape<D...> already names the parts; dimensions that are no parts are placed as L says
  static constexpr outcome value = [] {
    outcome out{.dims = {placing<L, D>...}};
    std::array<placed, sizeof...(P)> parts{placed{.size = P::size}...};
    out.fitting = distribute(placing<L, Whole>, parts, axis_sizes<typename L::mesh_type>);
    constexpr std::array<bool, sizeof...(D)> is_part{shape<P...>::template has<D>...};
    std::size_t next = 0;
    for (std::size_t i = 0; i < out.dims.size(); ++i)
      // a shape that names a part twice has a verdict of its own
      if (is_part[i] && next < parts.size()) out.dims[i] = parts[next++];
    return out;
  }();
};

}  // namespace detail

/// Both directions between a tensor that has `Whole` and one of shape `S` that has `Parts` instead. The
/// elements stay in place in memory. If the layout places the parts differently from the whole, they move as
/// by `reshard`, in terms of the parts.
template<Layout L, class S, class Whole, class Parts>
struct reshape_plan {
  using view    = detail::dims_by_parts<actual<L>, S, Whole, Parts>;
  using over    = axes_of<actual<L>, Whole>;
  using fitting = typename detail::first_axes<over, view::value.fitting>::type;

  using verdict = first_objection<
      std::conditional_t<Parts::size == Whole::size, legal, parts_do_not_multiply_to_dim<Whole, Parts>>,
      placement_verdict_of<L, S>,
      std::conditional_t<std::is_same_v<fitting, over>, legal,
                         split_runs_across_parts<Whole, Parts, split_only<Whole, fitting>>>>;

  /// The parts placed as `Whole` is, and as `L` places them.
  static constexpr auto as_whole = view::value.dims;
  static constexpr auto as_parts = placed_dims<L, S>;
};

}  // namespace v0
}  // namespace meshtf
