// What the operations of a step need of a layout, as a record keeps it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/placement_needs.hpp>
#include <meshtf/search/layout_numbers.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

/// What operations need of a layout that may split `Dims` dimensions: the layouts that don't keep it have no
/// price.
template<std::size_t Dims>
struct recorded_needs {
  // dimensions that share a loop nest with it: no axis splits both
  small_array<dim_set, max_axes> apart{};
  // dimensions that are split over the same axes in the same order: other names of the same elements
  small_array<dim_set, max_axes> alike{};
  // dimensions that are split over the same axes into parts of the same size, though their sizes may differ
  small_array<dim_set, max_axes> in_step{};
  dim_set whole    = 0;  // dimensions that an operation needs whole
  dim_set even     = 0;  // dimensions that an operation needs in equal parts
  dim_set moved    = 0;  // dimensions that are renamed, and move unless they are split alike
  dim_set in_order = 0;  // dimensions that move: their axes are priced in the mesh's order only
  dim_set near     = 0;  // dimensions of which each part sees elements of its neighbours
  small_array<extent, max_axes> reach{};     // ... the number of these: no part has fewer elements
  small_array<dim_set, max_axes> in_turn{};  // ... while none of these is split

  static constexpr std::size_t max_exchanged = 2;
  small_array<exchanged_dims, max_exchanged> exchanged{};  // that change places, and what follows from it
  std::size_t exchanged_count = 0;

  constexpr void constrain(unsplit const& n) { whole |= n.over; }
  constexpr void constrain(equal_parts const& n) { even |= n.over; }
  constexpr void constrain(parts_in_order const& n) { in_order |= n.over; }
  constexpr void constrain(parts_in_step const& n) {
    in_step[std::countr_zero(n.first)] |= n.second;
    in_step[std::countr_zero(n.second)] |= n.first;
  }
  constexpr void constrain(one_split const& n) {
    for (dim_set left = n.over; left != 0; left &= left - 1)
      in_turn[std::countr_zero(left)] |= n.over & ~(left & -left);
  }
  constexpr void constrain(halo_within_part const& n) {
    near |= n.over;
    if (n.over == 0) return;
    extent& longest = reach[std::countr_zero(n.over)];
    if (n.elements > longest) longest = n.elements;
  }
  template<std::size_t N>
  constexpr void constrain(elements_stay<N> const& n) {
    std::array<undecided_dim, N> parts;
    for (std::size_t i = 0; i < N; ++i) parts[i] = {n.parts[i].size, n.parts[i].over};
    keep_alike({n.whole.size, n.whole.over}, parts);
  }
  /// Both of each pair are split alike.
  constexpr void constrain(dim_pairs const& pairs) {
    for (int i = 0; i < pairs.count; ++i)  // both have as many elements, and if only one, no matter
      constrain(elements_stay<1>{{2, pairs.first[i]}, {{{2, pairs.second[i]}}}});
  }
  /// The layout of the third follows from those of the others.
  constexpr void constrain(exchanged_dims const& wanted) {
    for (std::size_t i = 0; i < exchanged_count; ++i)
      if (exchanged[i] == wanted) return;
    static_assert(max_exchanged == 2);  // as the message says
    if (exchanged_count == max_exchanged)
      throw "meshtf: this program exchanges more pairs of dimensions than a record holds (2)";
    exchanged[exchanged_count++] = wanted;
  }
  /// The elements of these pairs move unless they are split alike.
  constexpr void move_between(dim_pairs const& pairs) {
    moved |= pairs.dims();
    constrain(parts_in_order{pairs.dims()});
  }
  /// No axis splits one dimension of `a` and one of `b`.
  constexpr void keep_apart(dim_set a, dim_set b) {
    for (dim_set left = a & ~b; left != 0; left &= left - 1) keep_apart_from(std::countr_zero(left), b);
  }

  /// The dimensions whose axes follow from those of others.
  constexpr dim_set followers() const {
    dim_set all = 0;
    for (std::size_t i = 0; i < exchanged_count; ++i) all |= exchanged[i].result;
    return all;
  }
  /// Splits these as follows.
  constexpr void complete(layout_numbers& l) const {
    for (std::size_t i = 0; i < exchanged_count; ++i) {
      axis_set const over = l.over[std::countr_zero(exchanged[i].first)];
      bool const meet     = (over & l.over[std::countr_zero(exchanged[i].second)]) != 0;
      l.put(std::countr_zero(exchanged[i].result), meet ? axis_set{0} : over);
    }
  }

  /// The elements of `seen` become those of `parts`, outermost first, and stay in place. So the first part
  /// that can be split at all is split as `seen` is, and no other part is split. (If that part is split to
  /// single elements, axes of `seen` could go on to the next; this is not priced.)
  constexpr void keep_alike(undecided_dim const& seen, std::span<undecided_dim const> parts) {
    std::size_t outer = 0;
    while (outer + 1 < parts.size() && parts[outer].size == 1) ++outer;
    for (std::size_t i = outer + 1; i < parts.size(); ++i) whole |= parts[i].open;
    dim_set const a = seen.open;
    dim_set const b = parts[outer].open;
    if (outer > 0) even |= a | b;  // unequal parts go to the first part, whatever its size
    if (a == 0 || b == 0) {
      whole |= a | b;
      return;
    }
    if (a == b) return;
    alike[std::countr_zero(a)] |= b;
    alike[std::countr_zero(b)] |= a;
  }

  /// Whether dividing a size along the dimensions `a` or along `b` gives the same, under every layout that
  /// can be priced.
  constexpr bool same_parts(dim_set a, dim_set b) const { return names_of(a) == names_of(b); }

  /// These dimensions share a loop nest.
  constexpr void keep_apart(dim_set set) {
    for (std::size_t i = 0; i < Dims; ++i)
      if (set >> i & 1) apart[i] |= set & ~(dim_set{1} << i);
  }

  /// No axis splits `dim` and one of the others.
  constexpr void keep_apart_from(int dim, dim_set others) {
    apart[dim] |= others;
    for (; others != 0; others &= others - 1) apart[std::countr_zero(others)] |= dim_set{1} << dim;
  }

private:
  /// The dimensions of `set` that may be split, and all that are split as they are.
  constexpr dim_set names_of(dim_set set) const {
    set &= ~whole;
    for (dim_set before = 0; before != set;) {
      before = set;
      for (std::size_t i = 0; i < Dims; ++i)
        if (before >> i & 1) set |= alike[i];
    }
    return set;
  }
};

}  // namespace v0
}  // namespace meshtf
