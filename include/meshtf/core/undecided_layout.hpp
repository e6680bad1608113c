// A layout that is not decided yet: the dimensions it may split, and sizes that depend on it.
#pragma once

#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// Stands for the axes that will split `D`.
template<Dimension D>
struct undecided_axis : axis<D::size> {};

/// A set of dimensions that a layout may split: bit i is the i-th of the `undecided_layout`. It also stands
/// for the axes that will split them.
using dim_set = axis_set;

/// A layout that may split `D...` over axes that are not named yet. Each dimension has an axis of its own, so
/// an `axis_set` under this layout is a `dim_set`: what an operation finishes over says which dimensions'
/// axes it will finish over. Rules and operations work under it as under any other layout, but sizes are not
/// numbers: they are `undecided_size`s.
template<Dimension... D>
struct undecided_layout : layout<mesh<undecided_axis<D>...>, split<D, undecided_axis<D>>...> {
  static_assert(sizeof...(D) <= max_axes, "meshtf: a record leaves at most 8 dimensions open");
};

/// Whether `L` is an undecided layout, dry or not.
template<class L>
inline constexpr bool is_undecided = false;
template<class... D>
inline constexpr bool is_undecided<undecided_layout<D...>> = true;
template<class... D>
inline constexpr bool is_undecided<dry<undecided_layout<D...>>> = true;

/// A dimension under an undecided layout.
struct undecided_dim {
  extent size  = 1;
  dim_set open = 0;  // its bit, if the layout may split it

  friend constexpr bool operator==(undecided_dim const&, undecided_dim const&) = default;
};

/// The elements, or bytes, of `whole` that one process has: `whole` divided by the parts of each dimension in
/// `dims`.
struct undecided_size {
  extent whole = 0;
  dim_set dims = 0;

  constexpr undecided_size() = default;
  constexpr undecided_size(extent n, dim_set d = 0) : whole(n), dims(n == 0 ? 0 : d) {}

  friend constexpr bool operator==(undecided_size const&, undecided_size const&) = default;
  friend constexpr undecided_size operator-(undecided_size const& a) { return {-a.whole, a.dims}; }
  friend constexpr undecided_size operator*(undecided_size const& a, undecided_size const& b) {
    if ((a.dims & b.dims) != 0) throw "meshtf: a dimension counts twice in a size";
    return {a.whole * b.whole, a.dims | b.dims};
  }
  friend constexpr undecided_size operator/(undecided_size const& a, undecided_size const& b) {
    if ((b.dims & ~a.dims) != 0) throw "meshtf: a size is divided by one of other dimensions";
    return {a.whole / b.whole, a.dims & ~b.dims};
  }
};

/// In a `dim_set` that stands for axes: all axes of the mesh, including those that split nothing.
inline constexpr dim_set every_axis = dim_set{1} << 31;

/// Pairs of dimensions, the first of each in a value and the second in what it is renamed to. A set is empty
/// if no layout may split that dimension.
struct dim_pairs {
  static constexpr int max_count                            = 4;
  [[deprecated("use max_count")]] static constexpr int most = max_count;
  small_array<dim_set, max_count> first{};
  small_array<dim_set, max_count> second{};
  int count = 0;

  constexpr void add(undecided_dim const& a, undecided_dim const& b) {
    if ((a.open | b.open) == 0) return;
    if (count == max_count)
      throw "meshtf: a rename of more than 4 pairs of dimensions can't be recorded without a layout yet";
    first[count]    = a.open;
    second[count++] = b.open;
  }
  constexpr dim_set dims() const {
    dim_set all = 0;
    for (int i = 0; i < count; ++i) all |= first[i] | second[i];
    return all;
  }
  friend constexpr bool operator==(dim_pairs const&, dim_pairs const&) = default;
};

/// Two dimensions that change places: `result` stands for `first` in a value that has `second` too. It is
/// whole where an axis splits both, and elsewhere split as `first`. Each is one bit.
struct exchanged_dims {
  dim_set first  = 0;
  dim_set second = 0;
  dim_set result = 0;

  friend constexpr bool operator==(exchanged_dims const&, exchanged_dims const&) = default;
};

/// Something is done only if axes of `dims` join processes, or only if none do; always if `dims` is empty. If
/// there are `pairs`, whose dimensions these are: only if the two of some pair are split over different axes,
/// or only if those of all are split alike.
struct undecided_condition {
  dim_set dims = 0;
  bool joined  = true;
  dim_pairs pairs{};

  template<class Layout>
  constexpr bool holds(Layout const& l) const {
    if (dims == 0) return true;
    if (pairs.count == 0) return (l.split(dims) != 0) == joined;
    for (int i = 0; i < pairs.count; ++i)
      if (l.split(pairs.first[i]) != l.split(pairs.second[i])) return joined;
    return !joined;
  }
  constexpr undecided_condition opposite() const { return {dims, !joined, pairs}; }
  /// Pairs are compared only where there are some: a record compares thousands of conditions without any.
  friend constexpr bool operator==(undecided_condition const& a, undecided_condition const& b) {
    return a.dims == b.dims && a.joined == b.joined && a.pairs.count == b.pairs.count &&
           (a.pairs.count == 0 || a.pairs == b.pairs);
  }
};

namespace detail {

// at least one: a mesh without axes is one process, which nothing joins
template<class First, class... D>
inline constexpr axis_set joining<mesh<undecided_axis<First>, undecided_axis<D>...>> =
    every_axis | ((axis_set{2} << sizeof...(D)) - 1);

template<class D, class... Open>
inline constexpr undecided_dim opened{D::size, position_of<D, Open...>() < int{sizeof...(Open)}
                                                   ? dim_set{1} << position_of<D, Open...>()
                                                   : dim_set{0}};

template<class... Open>
inline constexpr axis_set known_axes<undecided_layout<Open...>> = 0;
template<class... Open, class D>
inline constexpr placed always_placing<undecided_layout<Open...>, D>{.size = D::size};

template<class... Open, class... D>
struct placed_shape<undecided_layout<Open...>, shape<D...>> {
  static constexpr std::array<undecided_dim, sizeof...(D)> dims{opened<D, Open...>...};
  static constexpr std::array<undecided_dim, sizeof...(D)> extents = dims;
  static constexpr axis_set over = (opened<D, Open...>.open | ... | axis_set{0});
  static constexpr undecided_size size{(D::size * ... * extent{1}), over};
  static constexpr bool uneven = false;
};

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
