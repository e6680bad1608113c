// What an operation that moves elements along a dimension will do, decided before it runs: flip, roll, shift
// and pad.
#pragma once

#include <meshtf/plan/reshard/moves.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The elements move along `Dim`, which is split over `Axes` so that they would go to many processes: it is
/// padded, or it is flipped and its parts are not equal. First reshard to a layout in which it is whole.
template<class Dim, class Axes>
struct displaced_dim_is_split {};

/// `Dim` is padded, or made by padding, and has as many elements as are counted at run time, so where the
/// padding begins is not known.
template<class Dim>
struct padded_dim_is_counted {};

/// `Padded` has fewer elements than `Dim`, which is to be padded.
template<class Padded, class Dim>
struct padded_dim_is_smaller {};

/// Where elements come from along a dimension: z[i] = x[i + offset], or x[offset - i] if the order is
/// `reversed`. An index outside of x `wraps` around, or there is nothing.
struct displacement {
  extent offset = 0;
  bool reversed = false;
  bool wraps    = false;

  /// The backward pass, from z to x.
  constexpr displacement back() const { return {reversed ? offset : -offset, reversed, wraps}; }

  /// The number of elements from z[i] on that are contiguous in x too (backwards if `reversed`) and begin at
  /// x[first], or x has none of them. x has `from` elements, z has `to`.
  struct run {
    extent first = 0;
    extent count = 0;
    bool there   = false;
  };
  constexpr run run_at(extent i, extent from, extent to) const {
    extent const rest = to - i;
    if (from == 0) return {0, rest, false};
    extent position = reversed ? offset - i : offset + i;
    if (wraps && (position < 0 || position >= from)) {
      position += position < 0 ? from : -from;
      if (position < 0 || position >= from)
        position = (position % from + from) % from;  // a division takes longer than a short run
    }
    extent const before =
        reversed ? position - from + 1 : -position;  // steps until x begins, and until it ends
    extent const left = reversed ? position + 1 : from - position;
    if (before > 0) return {0, before < rest ? before : rest, false};
    if (left <= 0) return {0, rest, false};
    return {position, left < rest ? left : rest, true};
  }
};

/// Lines of two arrays along a dimension of each, of which they may have unequally many elements; all other
/// dimensions are the same.
struct displace_steps {
  // lines before the dimension, and elements after it that move together
  extent outer          = 1;
  extent inner          = 1;
  extent from           = 0;
  extent from_allocated = 0;
  extent to             = 0;
  extent to_allocated   = 0;

  static constexpr bool needs_whole = true;

  /// Arrays: x and z. It asks for the loops over the dimension of x and over that of z, which may be the
  /// same. What lies past the local elements of other dimensions moves too.
  static constexpr displace_steps plan(task_loops const& l, loop_extents const& e) {
    int const in  = l.along[0];
    int const out = l.along[1];
    displace_steps s{.from           = e.local[in],
                     .from_allocated = e.allocated[in],
                     .to             = e.local[out],
                     .to_allocated   = e.allocated[out]};
    bool is_inner = false;
    for (int d : l.operand[0])
      if (d == in) is_inner = true;
      else (is_inner ? s.inner : s.outer) *= e.allocated[d];
    return s;
  }

  /// Elements that are read, if every element of the shorter line is, and that are written.
  constexpr extent touched() const { return outer * inner * ((from < to ? from : to) + to); }
};

namespace task {

/// Moves the elements of each line; `beyond` is put where x has none. Arrays: x, z.
template<Element T>
struct displace {
  using steps_type = displace_steps;
  displacement way{};
  T beyond{};

  static constexpr meshtf::work work(displace_steps const& s) {
    return {.kind = "copy", .bytes = s.touched() * extent{sizeof(T)}};
  }
  void compute(displace_steps const&, place_in_mesh const&, T const* x, T* z) const;
};

}  // namespace task

namespace detail {

template<class L, class D>
using whole_to_displace =
    std::conditional_t<may_be_whole<L, D>, legal, displaced_dim_is_split<D, axes_of<L, D>>>;

}  // namespace detail

/// Elements of a tensor of shape `X` move along `From`, which becomes `To`.
template<Layout L, class X, class From, class To = From>
struct displace_plan {
  using result  = replaced<X, From, shape<To>>;
  using verdict = first_objection<detail::dims_are_in<X, From>, placement_verdict_of<L, X>,
                                  detail::whole_to_displace<L, From>>;

  static constexpr steps_under<L, displace_steps, united<X, shape<To>>> lines =
      plan_steps<L, displace_steps, united<X, shape<To>>, From, To>(arrays_of<X, result>{});
};

/// A tensor of shape `X` is flipped along `Along`. Where that is split into equal parts, each process flips
/// its own, and the first part goes to the last process, and so on.
template<Layout L, class X, class Along>
struct flip_plan : displace_plan<L, X, Along> {
  static constexpr bool exchanges = !detail::may_be_whole<L, Along> && !is_uneven<L, shape<Along>>;
  using in_place                  = std::conditional_t<exchanges, legal, detail::whole_to_displace<L, Along>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>, in_place>;

  /// The communication schedule of a shard. Parts are numbered as the processes hold them, and each wants the
  /// one with the opposite number.
  static constexpr reshard_move exchange = [] {
    constexpr extent shard = shard_size<L, X>;
    reshard_move m{.kind = transfer_kind::permute, .send = shard, .result = shard, .block = shard};
    if constexpr (exchanges) {
      constexpr placed along = placed_under<L, Along>;
      for (int i = along.over.count; i-- > 0;) {
        int const axis = along.over[i];
        extent const n = axis_sizes<typename L::mesh_type>[static_cast<std::size_t>(axis)];
        m.holds[axis]  = m.processes;
        m.wants[axis]  = -m.processes;
        m.processes *= n;
        if (n > 1) m.over |= axis_set{1} << axis;
      }
      m.wants_first = along.parts - 1;
    }
    return m;
  }();
};

/// `legal`, or the objection to `flip<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using flip_verdict = typename flip_plan<L, X, Along>::verdict;

namespace detail {

template<class From, class To>
struct padding_sizes {
  template<class D>
  using sized = std::conditional_t<CountedDimension<D>, padded_dim_is_counted<D>, legal>;
  using verdict =
      first_objection<sized<From>, sized<To>,
                      std::conditional_t<From::size <= To::size, legal, padded_dim_is_smaller<To, From>>>;
};

}  // namespace detail

/// `legal`, or the objection to `pad<From, To>` of a tensor of shape `X`.
template<Layout L, class X, class From, class To>
using pad_verdict = first_objection<
    detail::dims_are_in<X, From>, placement_verdict_of<L, X>,
    std::conditional_t<detail::parts_correspond<L, From, To>, legal, detail::whole_to_displace<L, From>>,
    typename detail::padding_sizes<From, To>::verdict, placement_verdict_of<L, replaced<X, From, shape<To>>>>;

}  // namespace v0
}  // namespace meshtf
