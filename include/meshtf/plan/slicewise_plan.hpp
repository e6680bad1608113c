// What a function of the user's on whole shards will do, decided before it runs.
#pragma once

#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The dimensions that a layout may split without the function's noticing: it gives each part of its result
/// from the same parts of its operands.
template<Dimension... D>
struct splittable {
  template<class X>
  static constexpr bool has = (std::same_as<X, D> || ...);
};

/// A function sees one part of `Dim`, which is split over `Axes`, but it was not said that `Dim` may be
/// split: `splittable<...>` says so. Otherwise first reshard to a layout in which it is whole.
template<class Dim, class Axes>
struct function_needs_whole_dim {};

/// A function sees one part of `Dim`, which is split over `Axes`, and its result lacks `Dim`: processes would
/// hold different values of one tensor. Keep `Dim` in the result, and sum over it afterwards.
template<class Dim, class Axes>
struct result_lacks_split_dim {};

/// How much of each array a process holds, that of the result first.
struct slices_steps {
  small_array<extent, max_operands> elements{};

  static constexpr bool needs_whole = true;

  static constexpr slices_steps plan(task_loops const& l, loop_extents const& e) {
    slices_steps s;
    for (int a = 0; a < l.operands; ++a) {
      s.elements[a] = 1;
      for (int d : l.operand[a]) s.elements[a] *= e.local[d];
    }
    return s;
  }
};

namespace task {

/// Calls `call()`, which calls F on the shards, where a process holds anything of the result. `F::flops`, or
/// one, is counted for each element of it.
template<class Call, class F, Element R, Element... T>
struct on_slices {
  using steps_type = slices_steps;
  Call call;

  static constexpr meshtf::work work(slices_steps const& s) {
    extent bytes = s.elements[0] * extent{sizeof(R)};
    int operand  = 0;
    ((bytes += s.elements[++operand] * extent{sizeof(T)}), ...);
    return {.kind = "slicewise", .elementwise = s.elements[0] * detail::flops_of<F>, .bytes = bytes};
  }
  void compute(slices_steps const& s, place_in_mesh const&) const {
    if (s.elements[0] != 0) call();
  }
};

}  // namespace task

namespace detail {

template<class L, class Out, class Split, class D>
using slice_objection = std::conditional_t<
    always_placed<L, D>.parts == 1, legal,
    std::conditional_t<
        !Split::template has<D>, function_needs_whole_dim<D, axes_of<L, D>>,
        std::conditional_t<!Out::template has<D>, result_lacks_split_dim<D, axes_of<L, D>>, legal>>>;

template<class L, class Out, class Split, class Loops>
struct slices_under;
template<class L, class Out, class Split, class... D>
struct slices_under<L, Out, Split, shape<D...>> {
  using verdict = first_objection<legal, slice_objection<L, Out, Split, D>...>;
  /// What layouts that have yet to be chosen must leave whole.
  using whole =
      decltype((shape<>{} + ... + kept_if < always_placed<L, D>.parts == 1 && split_over<L, shape<D>> != 0 &&
                    !(Split::template has<D> && Out::template has<D>),
                D > {}));
};

template<class L, class Loops, class... Along, class... S>
constexpr auto plan_slices(shape<Along...>, meshtf::arrays_of<S...> arrays) {
  static_assert(sizeof...(Along) <= 3,
                "meshtf: a record keeps at most three dimensions of one slicewise whole");
  return plan_steps<L, slices_steps, Loops, Along...>(arrays);
}

}  // namespace detail

/// `slicewise<Out, Split>(f, x...)` of operands of the shapes `X...`.
template<Layout L, class Out, class Split, class... X>
struct slicewise_plan {
  using loops = typename detail::all_dims<Out, X...>::type;
  using under = detail::slices_under<L, Out, Split, loops>;
  using verdict =
      first_objection<placement_verdict_of<L, Out>, placement_verdict_of<L, loops>, typename under::verdict>;

  static constexpr steps_under<L, slices_steps, loops> local =
      detail::plan_slices<L, loops>(typename under::whole{}, meshtf::arrays_of<Out, X...>{});
};

/// `legal`, or the objection to `slicewise<Out, Split>` of operands of the shapes `X...` under `L`.
template<Layout L, class Out, class Split, class... X>
using slicewise_verdict = typename slicewise_plan<L, Out, Split, X...>::verdict;

}  // namespace v0
}  // namespace meshtf
