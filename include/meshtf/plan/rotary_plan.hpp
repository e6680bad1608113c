// What a rotary embedding will do, decided before it runs.
#pragma once

#include <meshtf/plan/array_walk.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The elements along `Dim` are rotated in pairs, and there is an odd number of them.
template<class Dim>
struct rotated_dim_is_odd {};

/// Both elements of a rotated pair must be in one process, and `Dim` is split over `Axes`.
template<class Dim, class Axes>
struct rotated_dim_is_split {};

/// Positions have a dimension that the rotated tensor does not have.
template<class Dim>
struct positions_have_other_dim {};

/// For each position (`places`), and each line at that position (`lines`), `pairs` elements and as many
/// others are rotated.
struct rotary_steps {
  array_walk places{};
  array_walk lines{};
  extent pairs = 0;
  // from one element of a line to the next, in x and in z
  extent from = 0;
  extent to   = 0;

  static constexpr bool needs_whole = true;

  /// Arrays: x, z, positions. It asks for the loop over the rotated dimension.
  static constexpr rotary_steps plan(task_loops const& l, loop_extents const& e) {
    unsigned placed = 0;
    for (int d : l.operand[2]) placed |= 1U << d;
    auto const walk = [&](bool of_positions) {
      return array_walk::plan(
          l, e, [&](int d) { return d != l.along[0] && of_positions == ((placed >> d & 1U) != 0); });
    };
    return {.places = walk(true),
            .lines  = walk(false),
            .pairs  = e.local[l.along[0]] / 2,
            .from   = strides_of(l.operand[0], e.allocated_extents())[l.along[0]],
            .to     = strides_of(l.operand[1], e.allocated_extents())[l.along[0]]};
  }

  constexpr extent iterations() const { return places.iterations * lines.iterations * pairs; }
};

namespace task {

/// Rotates the pairs, or turns them back. Arrays: x, z, positions.
template<Element T>
struct rotate {
  using steps_type                        = rotary_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  extent first                            = 0;  // added to positions
  double base                             = 0;
  bool back                               = false;

  /// A pair takes four products and two sums. Sines and cosines are those of positions, and few.
  static constexpr meshtf::work work(rotary_steps const& s) {
    return {.kind        = "elementwise",
            .elementwise = 6 * s.iterations(),
            .bytes = 4 * s.iterations() * extent{sizeof(T)} + s.places.iterations * extent{sizeof(int)}};
  }
  static constexpr extent scratch(rotary_steps const& s) { return 2 * s.pairs; }
  void compute(rotary_steps const&, place_in_mesh const&, T const* x, T* z, std::int32_t const* positions,
               computed<T>* scratch) const;
};

}  // namespace task

namespace detail {

template<class X, class P>
struct positions_within;
template<class X, class... P>
struct positions_within<X, shape<P...>>
    : std::type_identity<
          first_objection<std::conditional_t<X::template has<P>, legal, positions_have_other_dim<P>>...>> {};

template<class L, class D>
using whole_to_rotate =
    std::conditional_t<always_split_over<L, shape<D>> == 0, legal, rotated_dim_is_split<D, axes_of<L, D>>>;

}  // namespace detail

/// Elements of a tensor of shape `X` are rotated along `Key`, by positions of shape `P`.
template<Layout L, class X, class Key, class P>
struct rotary_plan {
  using verdict =
      first_objection<detail::dims_are_in<X, Key>,
                      std::conditional_t<Key::size % 2 == 0, legal, rotated_dim_is_odd<Key>>,
                      typename detail::positions_within<X, P>::type, detail::dims_are_in<without<X, P>, Key>,
                      detail::whole_to_rotate<L, Key>, placement_verdict_of<L, X>>;

  static constexpr steps_under<L, rotary_steps, X> steps =
      plan_steps<L, rotary_steps, X, Key>(arrays_of<X, X, P>{});
};

/// `legal`, or the objection to `rotary<Key>` of a tensor of shape `X` by positions of shape `P`.
template<Layout L, class X, class Key, class P>
using rotary_verdict = typename rotary_plan<L, X, Key, P>::verdict;

}  // namespace v0
}  // namespace meshtf
