// What a gather of rows by index will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The dimensions of the ids stand beside those of the table in the result, so the ids must not have `Dims`, which the table has.
template<class Dims>
struct ids_have_dims_of_table {};

/// The lines of a table, and the number of ids.
struct gather_steps {
  line_steps lines{};
  extent ids = 1;

  /// Arrays: the table and the ids. It asks for the loop that the ids index.
  static constexpr gather_steps plan(task_loops const& l, loop_extents const& e) {
    gather_steps steps{.lines = line_steps::plan(l, e)};
    for (int d : l.operand[1]) steps.ids *= e.held[d];
    return steps;
  }
  constexpr extent elements() const { return ids * lines.rows(); }
};

namespace task {

/// rows = the rows of the table that the ids name, 0 if another process holds them. Arrays: table, ids, rows.
template<Element T>
struct gather_rows {
  using steps_type = gather_steps;
  static constexpr meshtf::work work(gather_steps const& s) {
    return {.kind = "gather", .bytes = 2 * s.elements() * extent{sizeof(T)} + s.ids * extent{sizeof(std::int32_t)}};
  }
};

/// Adds rows to the rows of the table that the ids name. The ids have passed `gather_rows`. Arrays: table, ids, rows.
template<Element T>
struct scatter_rows {
  using steps_type = gather_steps;
  static constexpr meshtf::work work(gather_steps const& s) {
    return {.kind = "gather", .elementwise = s.elements(), .bytes = 3 * s.elements() * extent{sizeof(T)} + s.ids * extent{sizeof(std::int32_t)}};
  }
};

}  // namespace task

/// Rows of a table of shape `Table` along `V`, one for each of the ids of shape `Ids`.
///
/// If `V` is split, each process has some of the rows and zeros for the others, and the result is finished over the axes of `V`. The gradient of the
/// table is whole except over the axes that split the ids.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), section 3.3, but the one-hot matrix is never made; Shoeybi et al., Megatron-LM (2019), section 3.
template<Layout L, class Table, class V, class Ids>
struct gather_plan {
  using result  = united<Ids, without<Table, shape<V>>>;
  using loops   = united<Ids, Table>;
  using shared  = common_dims<Table, Ids>;
  using verdict = first_objection<detail::dims_are_in<Table, V>, std::conditional_t<shared::rank == 0, legal, ids_have_dims_of_table<shared>>,
                                  placement_verdict_of<L, loops>>;

  static constexpr steps_under<L, gather_steps> rows = plan_steps<L, gather_steps, loops, V>(arrays_of<Table, Ids>{});
  static constexpr axis_set finished_over            = split_over<L, loops> & ~split_over<L, result>;
  static constexpr axis_set table_owes               = split_over<L, loops> & ~split_over<L, Table>;
};

/// `legal`, or the objection to `gather<V>` from a table of shape `Table` with ids of shape `Ids`.
template<Layout L, class Table, class V, class Ids>
using gather_verdict = typename gather_plan<L, Table, V, Ids>::verdict;

}  // namespace v0
}  // namespace meshtf
