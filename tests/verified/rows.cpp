// Rows by index under every placement: gather, scatter and scatter_add, against their definition in integers.
#include "processes.hpp"

#include <cstdlib>
#include <type_traits>

#include <meshtf/plan/scatter_plan.hpp>
#include <meshtf/plan/searchsorted_plan.hpp>

namespace {

using namespace verified;
using meshtf::gather_steps;
using meshtf::shape;
namespace task = meshtf::task;

/// Numbers of rows along `v`, some of them several times.
whole row_numbers(setting const& s, dim_list const& dims, int v) {
  whole ids = integers(s, dims, 4);
  for (double& e : ids.element) e = static_cast<double>((static_cast<extent>(e) + 5) * 7 % s.size(v));
  return ids;
}

/// The steps of a gather, and the axes over which the rows, or the gradient of the table, are joined.
struct row_rule {
  rule steps;
  axis_set table_unreduced = 0;
  int v                    = 0;

  dim_list const& table() const { return steps.array[0]; }
  dim_list const& ids() const { return steps.array[1]; }
  dim_list const& result() const { return steps.array[2]; }

  /// f(row of the table, element of the result) for each of the result's, in the order of the ids.
  template<class F>
  void for_each_row(setting const& s, whole const& ids, F const& f) const {
    for_each_index(s, united(ids.letters, result()), [&](position const& result_at) {
      position table_at                     = result_at;
      table_at[static_cast<std::size_t>(v)] = static_cast<extent>(ids(s, result_at));
      f(table_at, result_at);
    });
  }
};

template<class L, class Table, class V, class Ids>
row_rule rows() {
  using plan = meshtf::gather_plan<L, Table, V, Ids>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return {rule_of<L, gather_steps, typename plan::loops, V>(
              meshtf::arrays_of<Table, Ids, typename plan::result>{}, plan::finished_over),
          plan::table_unreduced, letters_of<shape<V>>[0]};
}

/// Runs a task on the arrays of each process, in place.
template<class Task, class Table, class Rows>
void run(Task const& task, setting const& s, row_rule const& r, Table& table, std::vector<indices> const& ids,
         Rows& rows) {
  for_each_plan<gather_steps>(
      s, r.steps, [&](std::size_t p, place_in_mesh const& here, gather_steps const& own) {
        if constexpr (std::is_same_v<Task, task::gather_rows<double>>)
          task.compute(own, here, std::as_const(table[p]).data(), ids[p].data(), rows[p].data());
        else if constexpr (std::is_same_v<Task, task::take_rows<double>>)
          task.compute(own, here, table[p].data(), ids[p].data(), rows[p].data());
        else task.compute(own, here, table[p].data(), ids[p].data(), std::as_const(rows[p]).data());
      });
}

void check_gather(counter& count, setting const& s, row_rule const& r) {
  whole const table = integers(s, r.table(), 1);
  whole const ids   = row_numbers(s, r.ids(), r.v);
  whole const dz    = integers(s, r.result(), 2);
  whole z           = zeros(s, r.result());
  whole dtable      = zeros(s, r.table());
  r.for_each_row(s, ids, [&](position const& from, position const& to) {
    z(s, to) = table(s, from);
    dtable(s, from) += dz(s, to);
  });
  auto const own_ids = as_indices(shards_of(s, ids));
  for_each_pending(s, [&](axis_set pending) {
    auto terms = terms_of(s, table, pending);
    auto found = unwritten_shards(s, r.result());
    run(task::gather_rows<double>{}, s, r, terms, own_ids, found);
    count.expect(equal(s, joined(s, found, r.steps.finished_over | pending), z), "value", s);
  });
  auto sums = filled(s, r.table(), 0);
  auto dzs  = shards_of(s, dz);
  run(task::scatter_rows<double>{}, s, r, sums, own_ids, dzs);
  count.expect(equal(s, joined(s, sums, r.table_unreduced), dtable), "gradient of the table", s);
}

/// The base counts on one process of those that add rows to the same elements.
void check_scatter_add(counter& count, setting const& s, row_rule const& r) {
  whole const base    = integers(s, r.table(), 1);
  whole const ids     = row_numbers(s, r.ids(), r.v);
  whole const updates = integers(s, r.result(), 2);
  whole z             = base;
  r.for_each_row(s, ids, [&](position const& to, position const& from) { z(s, to) += updates(s, from); });
  auto sums = shards_of(s, base);
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    for (std::size_t axis = 0; axis < s.axes.size(); ++axis)
      if ((r.table_unreduced >> axis & 1U) != 0 && here.coordinates[axis] != 0)
        std::fill(sums[p].begin(), sums[p].end(), 0);
  });
  auto rows = shards_of(s, updates);
  run(task::scatter_rows<double>{.checks = true}, s, r, sums, as_indices(shards_of(s, ids)), rows);
  count.expect(equal(s, joined(s, sums, r.table_unreduced), z), "sum", s);
}

/// Of several updates of one row the last counts, and the others get no gradient.
void check_scatter(counter& count, setting const& s, row_rule const& r) {
  whole const base    = integers(s, r.table(), 1);
  whole const ids     = row_numbers(s, r.ids(), r.v);
  whole const updates = integers(s, r.result(), 2);
  whole const dz      = integers(s, r.table(), 3);
  whole z             = base;
  whole last          = zeros(s, r.table());
  whole dbase         = dz;
  whole dupdates      = zeros(s, r.result());
  double number       = 0;
  r.for_each_row(s, ids, [&](position const& to, position const& from) {
    z(s, to)     = updates(s, from);
    dbase(s, to) = 0;
    last(s, to)  = ++number;
  });
  number = 0;
  r.for_each_row(s, ids, [&](position const& to, position const& from) {
    dupdates(s, from) = last(s, to) == ++number ? dz(s, to) : 0;
  });
  auto const own_ids = as_indices(shards_of(s, ids));
  auto found         = shards_of(s, base);
  auto rows          = shards_of(s, updates);
  run(task::set_rows<double>{}, s, r, found, own_ids, rows);
  count.expect(equal(s, found, z), "value", s);
  auto rest  = shards_of(s, dz);
  auto taken = unwritten_shards(s, r.result());
  run(task::take_rows<double>{}, s, r, rest, own_ids, taken);
  count.expect(equal(s, rest, dbase), "gradient of the base", s);
  count.expect(equal(s, joined(s, taken, r.steps.finished_over), dupdates), "gradient of the updates", s);
}

template<class Table, class V, class Ids>
void check_everywhere(counter& count) {
  using dims = meshtf::united<Ids, Table>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    row_rule const r = rows<L, Table, V, Ids>();
    using scatter =
        meshtf::scatter_plan<L, Table, V, Ids, typename meshtf::gather_plan<L, Table, V, Ids>::result>;
    ++count.placements;
    for_each_size(placed, letters_of<dims>, [&](setting const& s) {
      check_gather(count, s, r);
      check_scatter_add(count, s, r);
      if constexpr (meshtf::accepted<typename scatter::verdict>) check_scatter(count, s, r);
    });
  });
}

// rule rows: gather_plan.hpp scatter_plan.hpp
// checks: gathered rows and the gradient of the table, also of a table that is a pending sum over each set of
// free axes; sums of added rows; replaced rows where the plan allows it, with both gradients sizes: 1 to 5
// operations: index/gather.hpp index/scatter.hpp index/scatter_add.hpp
TEST_CASE("rows by index are their definition under every placement", "[verified]") {
  counter count{"rows"};
  check_everywhere<shape<b>, b, shape<a>>(count);
  check_everywhere<shape<b, c>, b, shape<a>>(count);
  check_everywhere<shape<c, b>, b, shape<a>>(count);
  check_everywhere<shape<a, b>, b, shape<a, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- values in sorted sequences

/// For each value how many elements of its sequence along `b` are less, or, from the right, not larger.
void check_search(counter& count, setting const& s, rule const& r) {
  whole sequence     = integers(s, r.array[0], 1);
  whole const values = integers(s, r.array[1], 2);
  for_each_index(s, r.array[0], [&](position const& at) {  // each line rises, by 0, 1 or 2
    position before = at;
    if (before[1]-- > 0)
      sequence(s, at) = sequence(s, before) + std::abs(static_cast<int>(sequence(s, at)) % 3);
  });
  auto const sequences = shards_of(s, sequence);
  auto const wanted    = shards_of(s, values);
  for (bool right : {false, true}) {
    whole z = zeros(s, r.array[2]);
    for_each_index(s, united(r.array[2], r.array[0]), [&](position const& at) {
      double const element = sequence(s, at);
      double const value   = values(s, at);
      if (element < value || (right && element == value)) ++z(s, at);
    });
    std::vector<shard> found;
    for_each_plan<meshtf::search_steps>(
        s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
          indices counts(allocated(s, r.array[2]), no_index);
          task::search<double>{right}.compute(steps, here, sequences[p].data(), wanted[p].data(),
                                              counts.data());
          found.emplace_back(counts.begin(), counts.end());
        });
    count.expect(equal(s, found, z), "count", s);
  }
}

template<class Sequence, class Values>
void check_searches(counter& count) {
  using dims = meshtf::united<Values, Sequence>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    using plan = meshtf::searchsorted_plan<L, Sequence, b, Values>;
    if constexpr (meshtf::accepted<typename plan::verdict>) {
      rule const r = rule_of<L, meshtf::search_steps, typename plan::loops, b>(
          meshtf::arrays_of<Sequence, Values, typename plan::result>{}, 0);
      ++count.placements;
      for_each_size(placed, letters_of<dims>, [&](setting const& s) { check_search(count, s, r); });
    }
  });
}

// rule searches: searchsorted_plan.hpp
// checks: counts from both sides, of values that share dimensions with the sequences or not
// sizes: 1 to 5
// operations: index/searchsorted.hpp
TEST_CASE("values in sorted sequences are their definition under every placement", "[verified]") {
  counter count{"searches"};
  check_searches<shape<b>, shape<a>>(count);
  check_searches<shape<a, b>, shape<a, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
