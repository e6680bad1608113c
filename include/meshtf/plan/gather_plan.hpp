// What a gather of rows by index will do, decided before it runs.
#pragma once

#include <meshtf/plan/cross_entropy_plan.hpp>

namespace meshtf::inline v0 {

/// The dimensions of the ids stand in the result beside those of the table, so they are others than `Dims`, which the table has.
template<class Dims>
struct ids_have_dims_of_table {};

/// Rows of a table of shape `Table` along `V`, one for each of the ids of shape `Ids`.
///
/// Where `V` is split, each process has some of the rows and zeros for the others: the result is finished over its axes. The gradient of the table is whole but
/// for the axes that split the ids.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), section 3.3, with the one-hot matrix never made; Shoeybi et al., Megatron-LM (2019), section 3.
template<Layout L, class Table, class V, class Ids>
struct gather_plan {
  using result  = united<Ids, without<Table, shape<V>>>;
  using loops   = united<Ids, Table>;
  using shared  = common_dims<Table, Ids>;
  using verdict = first_objection<detail::dims_are_in<Table, V>, std::conditional_t<shared::rank == 0, legal, ids_have_dims_of_table<shared>>,
                                  placement_verdict_of<L, loops>>;

  static constexpr steps_under<L, line_steps> lines = plan_lines(placed_dims<L, Table>, dims_within<Table, shape<V>>[0]);
  static constexpr auto ids                         = shard_size<L, Ids>;
  static constexpr axis_set finished_over           = split_over<L, loops> & ~split_over<L, result>;
  static constexpr axis_set table_owes              = split_over<L, loops> & ~split_over<L, Table>;
};

/// `legal`, or the objection to `gather<V>` from a table of shape `Table` with ids of shape `Ids`.
template<Layout L, class Table, class V, class Ids>
using gather_verdict = typename gather_plan<L, Table, V, Ids>::verdict;

}  // namespace meshtf::inline v0
