// Loop nests: how a process walks over several arrays at once, decided before it runs.
#pragma once

#include <array>
#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/task.hpp>

namespace meshtf {
inline namespace v0 {

/// A loop nest over `operands` arrays, of which the last is written. Loops that are contiguous in every array
/// are joined, and loops of one iteration are dropped, so that a kernel sees as few and as long loops as
/// possible.
struct nest_steps {
  int rank          = 0;  // loops, outermost first
  int operands      = 0;
  bool reduces      = false;  // the result stands still along some loop: its iterations are joined
  extent iterations = 1;      // of the innermost body
  extent results    = 1;      // elements written
  small_array<extent, max_rank> size{};
  // of an operand along a loop, in elements; 0: it stands still
  small_array<small_array<extent, max_rank>, max_operands> stride{};

  constexpr std::span<extent const> sizes() const { return size.first(rank); }

  static constexpr nest_steps plan(task_loops const& l, loop_extents const& e);
};

/// For each loop of the nest, the elements from one index to the next in a row-major array of dimensions
/// `of`; 0 if the array lacks the dimension.
constexpr small_array<extent, max_rank> strides_of(dim_list const& dims, std::span<extent const> loops) {
  small_array<extent, max_rank> strides{};
  extent run = 1;
  for (int i = dims.count; i-- > 0;) {
    strides[dims[i]] = run;
    run *= loops[static_cast<std::size_t>(dims[i])];
  }
  return strides;
}

/// Joins neighbouring loops if every operand continues where the inner loop ends. Counts iterations and
/// results.
constexpr nest_steps collapsed(nest_steps const& nest) {
  nest_steps out{.operands = nest.operands};
  for (int i = 0; i < nest.rank; ++i) {
    extent const n = nest.size[i];
    out.iterations *= n;
    bool const still = nest.stride[nest.operands - 1][i] == 0;
    if (!still) out.results *= n;
    if (n == 1) continue;
    if (still) out.reduces = true;
    int const last = out.rank - 1;
    bool joins     = last >= 0;
    for (int k = 0; k < nest.operands && joins; ++k) joins = out.stride[k][last] == nest.stride[k][i] * n;
    int const to = joins ? last : out.rank++;
    out.size[to] = joins ? out.size[to] * n : n;
    for (int k = 0; k < nest.operands; ++k) out.stride[k][to] = nest.stride[k][i];
  }
  return out;
}

/// The nest over `loops` (the iterations of each in one process) for arrays whose dimensions are `operands`,
/// the result last. `allocated` are the allocated extents of each array.
///
/// The loops run in the memory order of the largest array, and the loops that it lacks run outermost: its
/// elements are touched one after the other, and a sum over outer dimensions adds whole rows.
constexpr nest_steps plan_nest(std::span<extent const> loops, std::span<dim_list const> operands,
                               std::span<std::span<extent const> const> allocated) {
  std::size_t largest = operands.size() - 1;
  extent max_elements = 0;
  for (std::size_t k = operands.size(); k-- > 0;) {
    extent elements = 1;
    for (int d : operands[k]) elements *= loops[static_cast<std::size_t>(d)];
    if (elements > max_elements) {
      largest      = k;
      max_elements = elements;
    }
  }

  dim_list order;
  for (int d = 0; d < static_cast<int>(loops.size()); ++d)
    if (!operands[largest].has(d)) order.push_back(d);
  for (int d : operands[largest]) order.push_back(d);

  nest_steps nest{.rank = order.count, .operands = static_cast<int>(operands.size())};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto const strides = strides_of(operands[k], allocated[k]);
    for (int i = 0; i < order.count; ++i) {
      nest.stride[k][i] = strides[order[i]];
      nest.size[i]      = loops[static_cast<std::size_t>(order[i])];
    }
  }
  return collapsed(nest);
}
/// The same for arrays whose allocated extents are the local extents.
constexpr nest_steps plan_nest(std::span<extent const> loops, std::span<dim_list const> operands) {
  small_array<std::span<extent const>, max_operands> allocated{};
  for (std::size_t k = 0; k < operands.size(); ++k) allocated[k] = loops;
  return plan_nest(loops, operands, allocated.first(static_cast<int>(operands.size())));
}

constexpr nest_steps nest_steps::plan(task_loops const& l, loop_extents const& e) {
  small_array<std::span<extent const>, max_operands> allocated{};
  for (std::size_t k = 0; k < l.arrays().size(); ++k) allocated[k] = e.allocated_extents();
  return plan_nest(e.local_extents(), l.arrays(), allocated.first(static_cast<int>(l.arrays().size())));
}

/// Joins n numbers into one.
constexpr nest_steps all_into_one(extent n) {
  nest_steps steps{.rank = n > 1 ? 1 : 0, .operands = 2, .reduces = n > 1, .iterations = n};
  if (n > 1) {
    steps.size[0]      = n;
    steps.stride[0][0] = 1;
  }
  return steps;
}
namespace detail {

/// Elements from the first that a nest touches of an operand to the last.
constexpr extent span_of(nest_steps const& nest, std::size_t operand) {
  extent n = 1;
  for (int i = 0; i < nest.rank; ++i) n += (nest.size[i] - 1) * nest.stride[operand][i];
  return n;
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
