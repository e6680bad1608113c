// What a halo exchange will do, decided before it runs: each part of a split dimension with elements of the
// parts next to it.
#pragma once

#include <meshtf/plan/shift_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The `Parts` parts of `D` one after the other, each with `Before` elements of the part before it and
/// `After` of the part after it. It is split as `D` is.
template<Dimension D, extent Before, extent After, extent Parts>
struct haloed : dim<Parts*((D::size + Parts - 1) / Parts + Before + After)> {};

/// A halo of `Halo` elements was asked for at the edge of parts of `Dim` that have `Part` elements, so it
/// reaches beyond the part next to each. Split `Dim` into fewer parts, or reshard to a layout in which it is
/// whole.
template<class Dim, extent Halo, extent Part>
struct halo_is_wider_than_part {};

/// `Dim` has as many elements as are counted at run time, so where its halo begins is not known: declare it
/// with a fixed size.
template<class Dim>
struct haloed_dim_is_counted {};

namespace detail {

template<class L, class D, extent Before, extent After, extent Parts>
struct axes_lookup<L, haloed<D, Before, After, Parts>> : axes_lookup<L, D> {};

/// The parts of `D`; one, if it may be whole.
template<class L, class D>
consteval extent parts_with_halo() {
  if constexpr (may_be_whole<L, D>) return 1;
  else return placed_under<L, D>.parts;
}

template<class L, class D, extent Halo>
consteval auto halo_objection() {
  if constexpr (CountedDimension<D>) return haloed_dim_is_counted<D>{};
  else if constexpr (may_be_whole<L, D>) return legal{};
  else if constexpr (Halo <= placed_under<L, D>.allocated_extent()) return legal{};
  else return halo_is_wider_than_part<D, Halo, placed_under<L, D>.allocated_extent()>{};
}

}  // namespace detail

namespace task {

/// Adds `count` rows, which lie together, to those of each line of z from row `to` on. Arrays: the rows, z.
template<Element T>
struct add_rows {
  using steps_type = displace_steps;
  extent count     = 0;
  extent to        = 0;

  constexpr meshtf::work work(displace_steps const& s) const {
    extent const n = count * s.outer * s.inner;
    return {.kind = "elementwise", .elementwise = n, .bytes = 3 * n * extent{sizeof(T)}};
  }
  void compute(displace_steps const&, place_in_mesh const&, T const* rows, T* z) const;
};

}  // namespace task

/// `halo<D, Before, After>` of a tensor of shape `X`.
template<Layout L, class X, class D, extent Before, extent After>
struct halo_plan : shift_plan<L, X, D> {
  using wide   = haloed<D, Before, After, detail::parts_with_halo<L, D>()>;
  using result = replaced<X, D, shape<wide>>;
  using verdict =
      first_objection<typename shift_plan<L, X, D>::verdict,
                      decltype(detail::halo_objection<L, D, (Before > After ? Before : After)>())>;

  /// Lines along `D`, and along `D` with its halo; and the backward pass.
  static constexpr steps_under<L, displace_steps, united<X, shape<wide>>> out =
      plan_steps<L, displace_steps, united<X, shape<wide>>, D, wide>(arrays_of<X, result>{});
  static constexpr steps_under<L, displace_steps, united<result, shape<D>>> back =
      plan_steps<L, displace_steps, united<result, shape<D>>, wide, D>(arrays_of<result, X>{});
};

/// `legal`, or the objection to `halo<D, Before, After>` of a tensor of shape `X`.
template<Layout L, class X, class D, extent Before, extent After>
using halo_verdict = typename halo_plan<L, X, D, Before, After>::verdict;

}  // namespace v0
}  // namespace meshtf
