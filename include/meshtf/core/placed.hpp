// Placed dimensions: what the rules need to know about a dimension, as a value.
#pragma once

#include <array>
#include <bit>
#include <span>

#include <meshtf/core/layout.hpp>
#include <meshtf/core/shape.hpp>
#include <meshtf/core/small_array.hpp>

namespace meshtf {
inline namespace v0 {

/// A set of axes of a mesh: bit i is the i-th axis of the mesh's list.
using axis_set = std::uint32_t;

namespace detail {

constexpr bool among(axis_set set, int axis) { return (set >> axis & 1) != 0; }

}  // namespace detail

/// A short list of small numbers: axes of a mesh, or dimensions of a loop nest, in order. Rules work on
/// numbers, so one compiled rule serves every mesh, layout and search.
template<std::size_t Capacity>
struct number_list {
  small_array<signed char, Capacity> number{};
  int count = 0;

  constexpr void push_back(int n) { number[count++] = static_cast<signed char>(n); }
  constexpr auto begin() const { return number.begin(); }
  constexpr auto end() const { return number.begin() + count; }
  constexpr int operator[](int i) const { return number[i]; }

  constexpr bool has(int n) const {
    for (int m : *this)
      if (m == n) return true;
    return false;
  }
  /// The same without the order: bit n is set if n is in the list.
  constexpr std::uint32_t set() const {
    std::uint32_t bits = 0;
    for (int n : *this) bits |= std::uint32_t{1} << n;
    return bits;
  }

  friend constexpr bool operator==(number_list const& a, number_list const& b) {
    if (a.count != b.count) return false;
    for (int i = 0; i < a.count; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
};

/// Axes of a mesh by number.
using axis_list = number_list<max_axes>;
/// Dimensions of a tensor as numbers in a loop nest, outermost in memory first.
using dim_list = number_list<max_rank>;

/// A dimension under a layout: its size, its number of parts, and the axes that split it.
struct placed {
  extent size  = 1;
  extent parts = 1;
  axis_list over{};
  bool pads = false;  // the layout says that the parts need not divide the size
  // of a dimension whose elements are counted at run time; its `size` is the most that there may be
  dim_identity counted = nullptr;

  /// The allocated extent: equal on all processes.
  constexpr extent allocated_extent() const { return (size + parts - 1) / parts; }
  /// The local extent of part number `part` while the global extent is `count`. The local elements are the
  /// first of its storage.
  constexpr extent local_extent(extent part, extent count) const {
    extent const left = count - part * allocated_extent();
    if (left < 0) return 0;
    return left < allocated_extent() ? left : allocated_extent();
  }
  constexpr extent local_extent(extent part) const { return local_extent(part, size); }
  /// The former names of `allocated_extent` and `local_extent`.
  [[deprecated("use allocated_extent")]] constexpr extent room() const { return allocated_extent(); }
  [[deprecated("use local_extent")]] constexpr extent held(extent part, extent count) const {
    return local_extent(part, count);
  }
  [[deprecated("use local_extent")]] constexpr extent held(extent part) const { return local_extent(part); }
  /// Whether the local extents of parts differ, or may differ at run time.
  constexpr bool uneven() const { return !divides() || counted != nullptr; }
  constexpr bool divides() const { return size % parts == 0; }
  /// Whether both place their elements alike, whatever rule says so.
  friend constexpr bool operator==(placed const& a, placed const& b) {
    return a.size == b.size && a.parts == b.parts && a.over == b.over;
  }
};

namespace detail {

template<class Wanted, class... X>
consteval int position_of() {
  int n = 0;
  (void)((std::is_same_v<X, Wanted> || (++n, false)) || ...);
  return n;
}

template<class Wanted, class... Axis>
consteval int number_of(axes<Axis...>) {
  return position_of<Wanted, Axis...>();
}

template<class All, class... Axis>
consteval axis_list numbers_of(axes<Axis...>) {
  axis_list list;
  (list.push_back(number_of<Axis>(All{})), ...);
  return list;
}

template<class M, class Axes>
struct set_of;

template<class M, class... A>
struct set_of<M, axes<A...>> {
  static constexpr axis_set value =
      ((axis_set{1} << number_of<A>(typename M::all_axes{})) | ... | axis_set{0});
};

template<class L, class D>
inline constexpr placed placing{
    .size    = D::size,
    .parts   = axes_of<L, D>::size,
    .over    = numbers_of<typename L::mesh_type::all_axes>(axes_of<L, D>{}),
    .pads    = base_layout_of<L>::template pads<D>,
    .counted = identity_of<D>,
};

/// The axes of which `L` says what they split: all. A layout stands for itself alone; the one of a search
/// stands for all that it ranks, and is known along none (core/undecided_layout.hpp).
template<class L>
inline constexpr axis_set known_axes = ~axis_set{0};
/// What every layout that `L` stands for says of `D`.
template<class L, class D>
inline constexpr placed always_placing = placing<L, D>;

template<class M>
inline constexpr axis_set joining = []<class... A>(axes<A...>) {
  axis_set set = 0;
  int i        = 0;
  ((set |= (A::size > 1 ? axis_set{1} : axis_set{0}) << i++), ...);
  return set;
}(typename M::all_axes{});

template<class L, class S>
struct placed_shape;

template<class L, class... D>
struct placed_shape<L, shape<D...>> {
  static constexpr std::array<placed, sizeof...(D)> dims{placing<L, D>...};
  static constexpr std::array<extent, sizeof...(D)> extents{placing<L, D>.allocated_extent()...};
  static constexpr extent size = (placing<L, D>.allocated_extent() * ... * extent{1});
  static constexpr axis_set over =
      (placing<L, D>.over.set() | ... | axis_set{0}) & joining<typename L::mesh_type>;
  static constexpr bool uneven = (placing<L, D>.uneven() || ...);
};

template<class Nest, class S>
struct dims_inside;

template<class... N, class... D>
struct dims_inside<shape<N...>, shape<D...>> {
  static constexpr dim_list value = [] {
    dim_list list;
    (list.push_back(position_of<D, N...>()), ...);
    return list;
  }();
};

template<class M>
inline constexpr std::array<extent, max_axes> sizes_of_axes = []<class... A>(axes<A...>) {
  std::array<extent, max_axes> sizes;
  sizes.fill(1);
  std::size_t i = 0;
  ((sizes[i++] = A::size), ...);
  return sizes;
}(typename M::all_axes{});

}  // namespace detail

/// `D` as the rules see it under `L`.
template<Layout L, Dimension D>
inline constexpr placed placed_under = detail::placing<actual<L>, D>;

/// The dimensions of shape `S` as the rules see them.
template<Layout L, class S>
inline constexpr auto placed_dims = detail::placed_shape<actual<L>, S>::dims;

/// The allocated extents of a tensor of shape `S`, equal on all processes.
template<Layout L, class S>
inline constexpr auto allocated_extents = detail::placed_shape<actual<L>, S>::extents;

/// The former name of `allocated_extents`.
template<Layout L, class S>
[[deprecated("use allocated_extents")]] inline constexpr auto stored_extents = allocated_extents<L, S>;

/// The allocated elements of a tensor of shape `S` on one process.
template<Layout L, class S>
inline constexpr auto shard_size = detail::placed_shape<actual<L>, S>::size;

/// Whether processes hold unequally much of a tensor of shape `S`.
template<Layout L, class S>
inline constexpr bool is_uneven = detail::placed_shape<actual<L>, S>::uneven;

/// The axes of `M` that join more than one process. No plan contains an axis of size 1: nothing is sent along
/// it.
template<Mesh M>
inline constexpr axis_set joining_axes = detail::joining<M>;

/// The axes over which a tensor of shape `S` is split.
template<Layout L, class S>
inline constexpr axis_set split_over = detail::placed_shape<actual<L>, S>::over;

namespace detail {

template<class M, class Axis>
inline constexpr axis_set set_of_stages =
    M::all_axes::template has<Axis> ? axis_set{1} << number_of<Axis>(typename M::all_axes{}) : 0;
template<class M>
inline constexpr axis_set set_of_stages<M, void> = 0;

}  // namespace detail

/// The axis along which the stages of `L` lie, as a set; empty without stages.
template<Layout L>
inline constexpr axis_set stage_axes = detail::set_of_stages<typename L::mesh_type, stage_axis<L>>;

/// The axes along which processes hold the same elements of a tensor of shape `S`: its replicas. The
/// processes of other stages have none of it.
template<Layout L, class S>
inline constexpr axis_set replica_axes =
    joining_axes<typename L::mesh_type> & ~split_over<L, S> & ~stage_axes<L>;

/// The axes over which a tensor of shape `S` is split under every layout that `L` stands for. A layout stands
/// for itself, so these are all. What must be whole is refused if it is split over one of these; what may be
/// split in a layout that is not yet known is told to the machine: `placement_needs`.
template<Layout L, class S>
inline constexpr axis_set always_split_over = split_over<L, S> & detail::known_axes<actual<L>>;

/// `D` as the rules see it under every layout that `L` stands for: whole, if some leave it whole.
template<Layout L, Dimension D>
inline constexpr placed always_placed = detail::always_placing<actual<L>, D>;

/// The set of the axes `Axes` in mesh `M`.
template<Mesh M, class Axes>
inline constexpr axis_set axis_set_of = detail::set_of<M, Axes>::value;

/// Those of the axes `Axes` in mesh `M` that join more than one process: no message goes along others.
template<Mesh M, class Axes>
inline constexpr axis_set joining_among = axis_set_of<M, Axes> & joining_axes<M>;

/// The dimensions of shape `S` as numbers in the loop nest `Nest`.
template<class Nest, class S>
inline constexpr dim_list dims_within = detail::dims_inside<Nest, S>::value;

/// The sizes of the axes of `M`, by number; 1 past the last.
template<Mesh M>
inline constexpr std::array<extent, max_axes> axis_sizes = detail::sizes_of_axes<M>;

/// The same for a tensor that moves: 1 for the axis along which the stages of `L` lie, as if it were not
/// there. The processes of other stages have nothing of the tensor and do not take part, so no path leads
/// over them.
template<Layout L>
inline constexpr std::array<extent, max_axes> axis_sizes_in_stage = [] {
  auto sizes = axis_sizes<typename L::mesh_type>;
  for (std::size_t a = 0; a < max_axes; ++a)
    if (detail::among(stage_axes<L>, static_cast<int>(a))) sizes[a] = 1;
  return sizes;
}();

/// The place of a process: its coordinate along each axis of the mesh, by number, and the sizes of the axes.
struct place_in_mesh {
  std::span<extent const> coordinates{};
  std::span<extent const> sizes{};

  /// The number of this process's part of a dimension that is split over these axes, outermost first.
  constexpr extent part_of(axis_list const& over) const {
    extent part = 0;
    for (int a : over)
      part = part * sizes[static_cast<std::size_t>(a)] + coordinates[static_cast<std::size_t>(a)];
    return part;
  }
};

/// The rank of the process that holds part number `part` of a dimension split over `over`, among the
/// processes along these axes. Ranks are row-major in the mesh's order of axes, parts in the order of the
/// list.
constexpr extent rank_of_part(axis_list const& over, extent part, std::span<extent const> sizes) {
  std::array<extent, max_axes> coordinates{};
  for (int i = over.count - 1; i >= 0; --i) {
    auto const a   = static_cast<std::size_t>(over[i]);
    coordinates[a] = part % sizes[a];
    part /= sizes[a];
  }
  axis_set const among = over.set();
  extent rank          = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a)
    if ((among >> a & 1) != 0) rank = rank * sizes[a] + coordinates[a];
  return rank;
}

/// The number of processes along a set of axes.
constexpr extent processes_along(std::span<extent const> sizes, axis_set over) {
  extent n = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (over >> i & 1) n *= sizes[i];
  return n;
}

}  // namespace v0
}  // namespace meshtf
