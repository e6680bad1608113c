// What a gather of rows by index will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The ids name rows along `Dim`, so they can't have it themselves. Other dimensions of the table they may
/// have: each element of these has rows and ids of its own.
template<class Dim>
struct ids_have_dim_that_they_index {};

/// The lines of a table, and the ids, which are contiguous in a block. `lines.line_stride` and the third
/// array of the blocks are those of the result. A loop over a dimension that the ids share with the table
/// walks through all three.
struct gather_steps {
  line_steps lines{};    // without blocks, and without the shared dimensions
  extent ids       = 1;  // of the process
  extent block_ids = 1;  // of a block
  extent id_stride = 1;  // elements of the result from one id to the next
  // elements of the table from one id to the next: 0 unless each id has rows of its own
  extent table_stride = 0;
  extent rows         = 1;  // elements of the result for each id
  block_loops blocks{};     // over the ids, the table and the result

  /// Arrays: the table, the ids and the result. It asks for the loop that the ids index.
  static constexpr gather_steps plan(task_loops const& l, loop_extents const& e) {
    dim_list const& table = l.operand[0];
    dim_list const& ids   = l.operand[1];
    auto const in_table   = strides_of(table, e.allocated_extents());
    auto const in_ids     = strides_of(ids, e.allocated_extents());
    auto const in_result  = strides_of(l.operand[2], e.allocated_extents());
    gather_steps s{.lines = line_steps::plan(l, e, table, l.operand[2], l.along[0], ids)};
    s.rows = s.lines.rows();
    dim_list outside;  // loops over ids that no block takes in, innermost first
    bool some = false;
    for (int i = ids.count; i-- > 0;) {
      int const d    = ids[i];
      extent const n = e.local[d];
      s.ids *= n;
      if (e.makes_one_iteration(d)) continue;
      if (!some && in_ids[d] == 1) {
        some           = true;
        s.block_ids    = n;
        s.id_stride    = in_result[d];
        s.table_stride = in_table[d];
      } else if (some && in_ids[d] == s.block_ids && in_result[d] == s.id_stride * s.block_ids &&
                 in_table[d] == s.table_stride * s.block_ids)
        s.block_ids *= n;
      else outside.push_back(d);
    }
    // the loops over ids are outside those over the table, and in order, so that sums of rows are added in
    // the order of the ids
    for (int i = outside.count; i-- > 0;)
      s.blocks.add(e.local[outside[i]], in_ids[outside[i]], in_table[outside[i]], in_result[outside[i]]);
    for (int i = 0; i < s.lines.blocks.rank; ++i)
      s.blocks.add(s.lines.blocks.size[i], 0, s.lines.blocks.stride[0][i], s.lines.blocks.stride[1][i]);
    s.lines.blocks = {};
    return s;
  }
  constexpr extent elements() const { return ids * rows; }
};

/// `ids` rows of a contiguous table of [outer][along][inner] elements that is whole in the process.
constexpr gather_steps contiguous_gather(extent ids, extent outer, extent along, extent inner) {
  return {.lines     = contiguous_lines(outer, along, inner),
          .ids       = ids,
          .block_ids = ids,
          .id_stride = outer * inner,
          .rows      = outer * inner};
}

namespace task {

/// rows = the rows of the table that the ids name, 0 if another process holds them. Arrays: table, ids, rows.
template<Element T>
struct gather_rows {
  using steps_type = gather_steps;
  static constexpr meshtf::work work(gather_steps const& s) {
    return {.kind  = "gather",
            .bytes = 2 * s.elements() * extent{sizeof(T)} + s.ids * extent{sizeof(std::int32_t)}};
  }
  void compute(gather_steps const&, place_in_mesh const&, T const* table, std::int32_t const* index,
               T* rows) const;
};

/// Adds rows to the rows of the table that the ids name. Arrays: table, ids, rows.
template<Element T>
struct scatter_rows {
  using steps_type = gather_steps;
  bool checks      = false;  // whether the ids are rows: as a gather's gradient it knows

  static constexpr meshtf::work work(gather_steps const& s) {
    return {.kind        = "gather",
            .elementwise = s.elements(),
            .bytes       = 3 * s.elements() * extent{sizeof(T)} + s.ids * extent{sizeof(std::int32_t)}};
  }
  void compute(gather_steps const&, place_in_mesh const&, T* table, std::int32_t const* index,
               T const* rows) const;
};

}  // namespace task

/// Rows of a table of shape `Table` along `V`, one for each of the ids of shape `Ids`. A dimension that both
/// have is walked through in step: a process has the rows of its own ids, however the layout splits it.
///
/// If `V` is split, each process has some of the rows and zeros for the others, and the result is finished
/// over the axes of `V`. The gradient of the table is whole except over the axes that split dimensions which
/// only the ids have.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), section 3.3, but the one-hot matrix is never made; Shoeybi
/// et al., Megatron-LM (2019), section 3.
template<Layout L, class Table, class V, class Ids>
struct gather_plan {
  using result = united<Ids, without<Table, shape<V>>>;
  using loops  = united<Ids, Table>;
  using verdict =
      first_objection<detail::dims_are_in<Table, V>,
                      std::conditional_t<Ids::template has<V>, ids_have_dim_that_they_index<V>, legal>,
                      placement_verdict_of<L, loops>>;

  static constexpr steps_under<L, gather_steps, loops> rows =
      plan_steps<L, gather_steps, loops, V>(arrays_of<Table, Ids, result>{});
  static constexpr axis_set finished_over   = split_over<L, loops> & ~split_over<L, result>;
  static constexpr axis_set table_unreduced = split_over<L, loops> & ~split_over<L, Table>;
};

/// `legal`, or the objection to `gather<V>` from a table of shape `Table` with ids of shape `Ids`.
template<Layout L, class Table, class V, class Ids>
using gather_verdict = typename gather_plan<L, Table, V, Ids>::verdict;

}  // namespace v0
}  // namespace meshtf
