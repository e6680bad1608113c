// What an operation will do under a layout that is not decided yet: its loops by dimension, from which the real plan is made for each layout.
#pragma once

#include <array>
#include <span>

#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf::inline v0 {

/// The loops of an operation and its arrays, each a list of dimensions by their number in `loop`.
struct undecided_loops {
  std::array<undecided_dim, max_rank> loop{};
  int rank = 0;
  std::array<dim_list, max_operands> operand{};
  int operands = 0;

  constexpr undecided_loops() = default;
  constexpr undecided_loops(std::span<undecided_dim const> loops, std::span<dim_list const> arrays = {})
      : rank(static_cast<int>(loops.size())), operands(static_cast<int>(arrays.size())) {
    for (std::size_t i = 0; i < loops.size(); ++i) loop[i] = loops[i];
    for (std::size_t i = 0; i < arrays.size(); ++i) operand[i] = arrays[i];
  }

  constexpr axis_set dims() const {
    axis_set set = 0;
    for (int i = 0; i < rank; ++i) set |= loop[static_cast<std::size_t>(i)].open;
    return set;
  }
};

struct undecided_nest {
  undecided_loops loops{};
  axis_set whole = 0;  // dimensions that it needs whole
};

struct undecided_contraction {
  undecided_loops loops{};
};

/// Lines along a dimension. Plans that need their numbers can't be made before there is a layout.
struct undecided_lines {
  undecided_loops loops{};
  int along = 0;

  static constexpr extent inner = 0;  // where no array is, an offset into it is none

  template<class Steps>
  constexpr operator Steps() const {
    static_assert(sizeof(Steps) == 0, "meshtf: this operation can't be recorded without a layout yet");
    return {};
  }

  /// How many lines there are.
  constexpr undecided_size rows() const {
    undecided_size n{1};
    for (int i = 0; i < loops.rank; ++i)
      if (i != along) n = n * undecided_size{loops.loop[static_cast<std::size_t>(i)].size, loops.loop[static_cast<std::size_t>(i)].open};
    return n;
  }
};

/// A normalisation along a dimension; the members of `norm_steps` that operations use.
struct undecided_norm {
  undecided_lines lines{};
  axis_set finished_over = 0;
  bool centred           = true;

  constexpr undecided_size numbers() const { return undecided_size{centred ? 2 : 1} * lines.rows(); }
};

struct undecided_attention {
  undecided_loops loops{};
  int query = 0, memory = 0, key = 0;
  bool causal = false;
};

struct contraction_steps;
struct line_steps;
struct norm_steps;

namespace detail {

template<class... D>
struct steps_for<undecided_layout<D...>, nest_steps> : std::type_identity<undecided_nest> {};
template<class... D>
struct steps_for<undecided_layout<D...>, contraction_steps> : std::type_identity<undecided_contraction> {};
template<class... D>
struct steps_for<undecided_layout<D...>, line_steps> : std::type_identity<undecided_lines> {};
template<class... D>
struct steps_for<undecided_layout<D...>, norm_steps> : std::type_identity<undecided_norm> {};

}  // namespace detail

constexpr undecided_nest plan_nest(std::span<undecided_dim const> loops, std::span<dim_list const> operands) { return {{loops, operands}}; }

/// n numbers that become one.
constexpr undecided_nest all_into_one(undecided_size const& n) {
  dim_list one;
  one.push_back(0);
  std::array const loop{undecided_dim{n.whole, n.dims}};
  std::array const arrays{one, dim_list{}};
  return {{loop, arrays}};
}

constexpr undecided_contraction plan_contraction(std::span<undecided_dim const> loops, dim_list const& x, dim_list const& y, dim_list const& z) {
  return {{loops, std::array{x, y, z}}};
}

constexpr undecided_lines plan_lines(std::span<undecided_dim const> dims, int along) { return {{dims}, along}; }

/// A copy between `count` neighbours along the lines, which are whole, and an array that has no others.
constexpr undecided_nest plan_slice(undecided_lines const& from, extent count) {
  undecided_nest nest{.loops = from.loops, .whole = from.loops.loop[static_cast<std::size_t>(from.along)].open};
  nest.loops.loop[static_cast<std::size_t>(from.along)] = {count, 0};
  dim_list all;
  for (int i = 0; i < from.loops.rank; ++i) all.push_back(i);
  nest.loops.operand[0] = nest.loops.operand[1] = all;
  nest.loops.operands                           = 2;
  return nest;
}
constexpr undecided_nest plan_unslice(undecided_lines const& from, extent count) { return plan_slice(from, count); }
/// The same where `dims` are whole too.
constexpr undecided_nest where_whole(undecided_nest nest, axis_set dims) {
  nest.whole |= dims;
  return nest;
}

constexpr undecided_norm plan_norm(undecided_lines const& lines, axis_set finished_over, bool centred) { return {lines, finished_over, centred}; }

constexpr undecided_attention plan_attention(std::span<undecided_dim const> loops, std::array<dim_list, 5> const& operands, int query, int memory,
                                             int key, bool causal) {
  return {{loops, operands}, query, memory, key, causal};
}

}  // namespace meshtf::inline v0
