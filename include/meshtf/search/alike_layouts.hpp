// The layouts that a search looks at. Of layouts that differ only in the names of alike axes, one stands for
// all.
#pragma once

#include <cstdint>
#include <utility>

#include <meshtf/search/record_price.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The axes that split each dimension that a record leaves open, in one number: eight bits a dimension, the
/// first dimension in the highest bits, so that numbers compare as the lists of sets do.
using packed_layout = std::uint64_t;

constexpr int shift_of_dim(int dim) { return 8 * (static_cast<int>(max_axes) - 1 - dim); }

template<class Numbers>
constexpr packed_layout packed(Numbers const& over) {
  packed_layout p = 0;
  for (int d = 0; d < static_cast<int>(max_axes); ++d)
    p |= packed_layout{over[static_cast<std::size_t>(d)]} << shift_of_dim(d);
  return p;
}
constexpr axis_set over_in(packed_layout p, int dim) {
  return static_cast<axis_set>(p >> shift_of_dim(dim) & 255);
}

/// The layout `p` of dimensions of these sizes, as numbers. Dimensions that its parts do not divide are
/// padded.
template<Mesh M>
constexpr layout_numbers numbers_from(packed_layout p, std::span<extent const> sizes) {
  layout_numbers n = numbers_of_mesh<M>();
  n.know(sizes);
  for (int d = 0; d < static_cast<int>(max_axes); ++d)
    if (axis_set const over = over_in(p, d); over != 0) {
      n.put(d, over);
      n.pads |= dim_set{n.is_uneven(d)} << d;
    }
  return n;
}

/// All layouts that split `searched` over axes of `M` and under which every operation of the record can be
/// placed. Parts need not divide the dimensions in `pads`.
///
/// The state of an axis is the set of dimensions it splits: none, or some that share no loop nest. Axes are
/// alike if they have the same size and the same kind of link. Exchanging the states of alike axes changes no
/// price, so one layout stands for all that follow from it in this way: for four axes of size 2 with eight
/// states each, 330 stand for 4096.
template<Mesh M, class Record>
class alike_layouts {
public:
  constexpr alike_layouts(Record const& record, dim_set searched, dim_set pads)
      : record_(record), l_(numbers_of_mesh<M>()), states_(new state[std::size_t{1} << Record::dims]) {
    l_.know(Record::sizes);
    l_.pads = pads;
    searched &= ~record.followers();
    for (dim_set dims = 0;; dims = (dims - searched) & searched) {  // all subsets
      state s;
      bool can_be = true;
      for (int d = 0; d < Record::dims; ++d) {
        if ((dims >> d & 1) == 0) continue;
        can_be = can_be && (record.apart[d] & dims) == 0 && (record.whole >> d & 1) == 0 &&
                 ((record.alike[d] | record.in_step[d]) & ~dims) == 0;
        s.dim[s.count++] = d;
        s.packed |= packed_layout{1} << shift_of_dim(d);
      }
      if (can_be) states_[state_count_++] = s;
      if (dims == searched) break;
    }
    constexpr int axes = M::all_axes::count;
    // a move from one dimension to another depends on the order of the axes of both, so no axis is like
    // another one
    bool const moves = std::popcount(record.moved & searched) > 1;
    axis_set left    = l_.joining;
    for (int a = 0; a < axes; ++a) {
      if ((left >> a & 1) == 0) continue;
      for (int b = a, of_kind = 0; b < axes; ++b)
        if ((left >> b & 1) != 0 && (b == a || !moves) && size_of(b) == size_of(a) &&
            is_slow(b) == is_slow(a)) {
          axis_[axis_count_]    = b;
          place_[axis_count_++] = ++of_kind;
          left &= ~(axis_set{1} << b);
        }
    }
  }
  alike_layouts(alike_layouts const&)  = delete;
  void operator=(alike_layouts const&) = delete;
  constexpr ~alike_layouts() { delete[] states_; }

  /// f(layout, the same packed, how many layouts it stands for) for each layout that stands for others.
  template<class F>
  constexpr void for_each(F const& f) {
    choose(0, 0, 0, 1, 0, f);
  }

  /// f(packed layout) for all layouts that `p` stands for.
  template<class F>
  constexpr void for_each_like(packed_layout p, F const& f) const {
    packed_layout states[max_axes]{};
    constexpr packed_layout first_bits = 0x0101'0101'0101'0101;
    for (int i = 0; i < axis_count_; ++i) states[i] = p >> axis_[i] & first_bits;
    exchange(0, states, 0, 0, f);
  }

private:
  struct state {
    int count = 0;
    int dim[max_axes]{};
    packed_layout packed = 0;  // for the first axis
  };

  constexpr extent size_of(int axis) const { return l_.sizes[axis]; }
  static constexpr bool is_slow(int axis) { return (axes_between_nodes<M> >> axis & 1) != 0; }

  /// Gives a state to axis number `at` and to those after it. Alike axes get their states in rising order:
  /// the axis before this one has state number `before`, as do the last `same` axes of its kind.
  template<class F>
  constexpr void choose(int position, int before, int same, extent members, packed_layout so_far,
                        F const& f) {
    if (position == axis_count_) {
      if (record_.exchanged_count != 0) {
        record_.complete(l_);
        if (!can_be_placed(record_, l_)) return;
      }
      if (parts_reach(record_, l_) == obstacle::none &&
          (l_.pads == 0 || cuts_fit(record_, l_) == obstacle::none))
        f(l_, so_far, members);
      return;
    }
    int const axis       = axis_[position];
    int const place      = place_[position];
    axis_set const bit   = axis_set{1} << axis;
    extent const size    = size_of(axis);
    extent* const parts  = l_.parts.data();
    axis_set* const over = l_.over.data();
    for (int i = place > 1 ? before : 0; i < state_count_; ++i) {
      state const& s = states_[i];
      int k          = 0;
      while (k < s.count &&
             (Record::size_of(s.dim[k]) % (parts[s.dim[k]] * size) == 0 || (l_.pads >> s.dim[k] & 1) != 0))
        ++k;
      if (k < s.count) continue;
      for (k = 0; k < s.count; ++k) {
        over[s.dim[k]] |= bit;
        l_.cut(s.dim[k], parts[s.dim[k]] * size);
      }
      int const current = place > 1 && i == before ? same + 1 : 1;
      choose(position + 1, i, current, members * place / current, so_far | s.packed << axis, f);
      for (k = 0; k < s.count; ++k) {
        over[s.dim[k]] &= ~bit;
        l_.cut(s.dim[k], parts[s.dim[k]] / size);
      }
    }
  }

  /// Gives the states of alike axes to them in every order, each order once: of equal states, the first that
  /// is left is taken first.
  template<class F>
  constexpr void exchange(int position, packed_layout const* states, unsigned taken, packed_layout so_far,
                          F const& f) const {
    if (position == axis_count_) return f(so_far);
    int const first = position - place_[position] + 1;
    for (int i = first, of_kind = 1; i < axis_count_ && place_[i] == of_kind; ++i, ++of_kind) {
      bool const is_left = (taken >> i & 1) == 0;
      if (is_left && (i == first || states[i] != states[i - 1] || (taken >> (i - 1) & 1) != 0))
        exchange(position + 1, states, taken | 1U << i, so_far | states[i] << axis_[position], f);
    }
  }

  Record const& record_;
  layout_numbers l_;
  state* states_;
  int state_count_ = 0;
  int axis_[max_axes]{};   // axes that join processes, alike ones next to each other
  int place_[max_axes]{};  // position among the axes of its kind, from 1 on
  int axis_count_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
