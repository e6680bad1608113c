// What a scatter, which writes rows to where ids say, will do, decided before it runs.
#pragma once

#include <meshtf/plan/gather_plan.hpp>
#include <meshtf/plan/placement_needs.hpp>

namespace meshtf {
inline namespace v0 {

/// The updates of a scatter have the dimensions of the rows that a gather with the same ids would give,
/// `Expected`: those of the ids, then those of the tensor without the one that the ids index. These have
/// `Given`. `transpose` brings them into that order.
template<class Expected, class Given>
struct updates_have_other_dims {};

/// Several updates may name one row, and the last one counts, but `Dim` is split over `Axes`, so no process
/// knows which is the last. First reshard the ids and the updates to a layout in which it is whole, or use
/// `scatter_add`, which adds all of them.
template<class Dim, class Axes>
struct scattered_updates_are_split {};

namespace task {

/// Writes rows to the rows of the table that the ids name, one after the other, so the last one counts.
/// Arrays: table, ids, rows.
template<Element T>
struct set_rows {
  using steps_type = gather_steps;
  static constexpr meshtf::work work(gather_steps const& s) { return gather_rows<T>::work(s); }
  void compute(gather_steps const&, place_in_mesh const&, T* table, std::int32_t const* index,
               T const* rows) const;
};

/// Moves the rows that the ids name out of the table, the last id first, and leaves zeros: an id that comes
/// again, or that another process has the row of, gets zeros. This is the gradient of `set_rows`. Arrays:
/// table, ids, rows.
template<Element T>
struct take_rows {
  using steps_type = gather_steps;
  static constexpr meshtf::work work(gather_steps const& s) {
    return {.kind  = "gather",
            .bytes = 3 * s.elements() * extent{sizeof(T)} + s.ids * extent{sizeof(std::int32_t)}};
  }
  void compute(gather_steps const&, place_in_mesh const&, T* table, std::int32_t const* index, T* rows) const;
};

}  // namespace task

namespace detail {

template<class L, class S>
struct split_updates;
template<class L, class... D>
struct split_updates<L, shape<D...>>
    : std::type_identity<first_objection<std::conditional_t<
          always_split_over<L, shape<D>> == 0, legal, scattered_updates_are_split<D, axes_of<L, D>>>...>> {};

}  // namespace detail

/// Rows of shape `Updates` added to those of a tensor of shape `Base` along `V` that ids of shape `Ids` name.
/// The loops are those of the gather that would read them. Each process adds the updates that it has, to the
/// rows that it has; the axes that split updates are unreduced (`table_unreduced`).
template<Layout L, class Base, class V, class Ids, class Updates>
struct scatter_add_plan : gather_plan<L, Base, V, Ids> {
  using rows_of = gather_plan<L, Base, V, Ids>;
  using fits    = std::conditional_t<std::is_same_v<Updates, typename rows_of::result>, legal,
                                     updates_have_other_dims<typename rows_of::result, Updates>>;
  using verdict = first_objection<typename rows_of::verdict, fits>;
};

/// The same, but the rows are replaced. All updates of a row must be on the process that has it.
template<Layout L, class Base, class V, class Ids, class Updates>
struct scatter_plan : scatter_add_plan<L, Base, V, Ids, Updates> {
  using verdict = first_objection<typename scatter_add_plan<L, Base, V, Ids, Updates>::verdict,
                                  typename detail::split_updates<L, without<Ids, Base>>::type>;
  static constexpr unsplit needs{split_over<L, without<Ids, Base>>};  // dimensions that only the ids have
};

/// `legal`, or the objection to `scatter<V>` of updates to a tensor of shape `Base`.
template<Layout L, class Base, class V, class Ids, class Updates>
using scatter_verdict = typename scatter_plan<L, Base, V, Ids, Updates>::verdict;

/// `legal`, or the objection to `scatter_add<V>`.
template<Layout L, class Base, class V, class Ids, class Updates>
using scatter_add_verdict = typename scatter_add_plan<L, Base, V, Ids, Updates>::verdict;

}  // namespace v0
}  // namespace meshtf
