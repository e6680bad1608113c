// In which order the operands of an einsum are multiplied, decided before it runs.
#pragma once

#include <bit>
#include <cstdint>

#include <meshtf/core/placed.hpp>
#include <meshtf/plan/collective.hpp>

namespace meshtf {
inline namespace v0 {

/// One operand of a product: its dimensions, one bit each. A partial sum has unreduced axes.
struct factor {
  std::uint32_t dims = 0;
  bool open          = false;
  axis_set unreduced = 0;
};

/// A product of several operands, as values: which dimensions they have, how much of each one process holds,
/// and which axes split it.
struct product_of_many {
  static constexpr int max_factors = 16;
  static constexpr int max_dims    = 32;

  small_array<factor, max_factors> factors{};
  int count = 0;
  small_array<extent, max_dims> allocated{};
  small_array<axis_set, max_dims> over{};
  int rank          = 0;
  std::uint32_t out = 0;  // the dimensions that stay
  small_array<extent, max_axes> axis_sizes{};
  extent element_bytes = 0;  // of what travels

  constexpr void add_dim(extent elements, axis_set axes) {
    allocated[rank] = elements;
    over[rank++]    = axes;
  }
  constexpr void add(factor const& f) { factors[count++] = f; }

  /// Elements that one process holds of a tensor with these dimensions; 2^56 of more, so that the flops of an
  /// order that no machine can compute are still a number.
  constexpr extent elements(std::uint32_t dims) const {
    constexpr extent limit = extent{1} << 56;
    extent n               = 1;
    for (int d = 0; d < rank; ++d)
      if ((dims >> d & 1U) != 0) n = allocated[d] > limit / n ? limit : n * allocated[d];
    return n;
  }
  /// The bytes of these elements, if they travel.
  constexpr extent bytes(std::uint32_t dims) const {
    constexpr extent limit = extent{1} << 40;
    extent const n         = elements(dims);
    return (n < limit ? n : limit) * element_bytes;
  }
  constexpr axis_set split_over(std::uint32_t dims) const {
    axis_set set = 0;
    for (int d = 0; d < rank; ++d)
      if ((dims >> d & 1U) != 0) set |= over[d];
    return set;
  }
  /// The axes that join more than one process: along others nothing is left to reduce.
  constexpr axis_set joining() const {
    axis_set set = 0;
    for (int a = 0; a < max_axes; ++a)
      if (axis_sizes[a] > 1) set |= axis_set{1} << a;
    return set;
  }
  /// (No span: g++ 12 with sanitizers does not compare the address of a value without a name in constant
  /// evaluation.)
  constexpr extent processes_along(axis_set axes) const {
    extent n = 1;
    for (int a = 0; a < max_axes; ++a)
      if ((axes >> a & 1U) != 0) n *= axis_sizes[a];
    return n;
  }
  /// Whether no axis splits two of these dimensions, not even an axis of size 1, and a tensor may have so
  /// many.
  constexpr bool fits(std::uint32_t dims) const {
    axis_set set = 0;
    for (int d = 0; d < rank; ++d) {
      if ((dims >> d & 1U) == 0) continue;
      if ((set & over[d]) != 0) return false;
      set |= over[d];
    }
    return std::popcount(dims) <= max_rank;
  }
  /// The dimensions that the result or an operand other than these two has.
  constexpr std::uint32_t needed_beside(int one, int other) const {
    std::uint32_t dims = out;
    for (int i = 0; i < count; ++i)
      if (i != one && i != other) dims |= factors[i].dims;
    return dims;
  }
};

/// Two operands that are multiplied first, by number, and what the whole order costs one process.
struct einsum_order {
  int one      = 0;
  int other    = 1;
  bool legal   = true;
  extent flops = 0;
  extent sent  = 0;

  constexpr bool better_than(einsum_order const& o) const {
    if (legal != o.legal) return legal;
    if (flops != o.flops) return flops < o.flops;
    return sent < o.sent;
  }
};

namespace detail {

/// With more operands than this, each next pair is the one that is cheapest by itself: five have 180 orders,
/// eight have half a million.
inline constexpr int max_ordered = 5;

/// `p` after its operands `one` and `other` have become their product, which stands where `one` stood; their
/// price is added to `order`.
constexpr product_of_many multiplied(product_of_many const& p, int one, int other, einsum_order& order) {
  std::uint32_t const needed = p.needed_beside(one, other);
  factor a                   = p.factors[one];
  factor b                   = p.factors[other];
  // what only one of the two has, and nobody needs, is summed in it before they meet
  std::uint32_t const alone_in_a = a.dims & ~b.dims & ~needed;
  std::uint32_t const alone_in_b = b.dims & ~a.dims & ~needed;
  a.dims &= ~alone_in_a;
  b.dims &= ~alone_in_b;
  if (a.open) a.unreduced |= p.split_over(alone_in_a);
  if (b.open) b.unreduced |= p.split_over(alone_in_b);

  std::uint32_t const met  = a.dims | b.dims;
  axis_set const unreduced = a.unreduced | b.unreduced;
  axis_set const summed    = p.split_over(met & ~needed);
  order.legal = order.legal && !(a.open && b.open) && p.fits(p.factors[one].dims | p.factors[other].dims) &&
                (unreduced & p.split_over(met) & p.joining()) == 0;
  order.flops += 2 * p.elements(met);
  factor z{met & needed, a.open || b.open};
  if (z.open) z.unreduced = unreduced | summed;
  else order.sent += sent_by_one(collective::all_reduce, p.bytes(z.dims), p.processes_along(summed));

  product_of_many rest = p;
  rest.count           = 0;
  for (int i = 0; i < p.count; ++i)
    if (i != other) rest.add(i == one ? z : p.factors[i]);
  return rest;
}

}  // namespace detail

/// The order in which to multiply: of the legal ones the one of the fewest flops of a process, and of these
/// the one that sends the fewest bytes; of equals the first, from the left. All orders of up to five operands
/// are compared. Of more, each next pair is the cheapest by itself.
///
/// Source: Pfeifer, Haegeman, Verstraete, Faster identification of optimal contraction sequences for tensor
/// networks (2014).
constexpr einsum_order order_of(product_of_many const& p) {
  einsum_order best{.legal = false, .flops = -1};
  if (p.count < 2) return {};
  for (int one = 0; one < p.count; ++one)
    for (int other = one + 1; other < p.count; ++other) {
      einsum_order here{.one = one, .other = other};
      product_of_many const rest = detail::multiplied(p, one, other, here);
      if (p.count > 2 && p.count <= detail::max_ordered) {
        einsum_order const later = order_of(rest);
        here.legal               = here.legal && later.legal;
        here.flops += later.flops;
        here.sent += later.sent;
      }
      if (best.flops < 0 || here.better_than(best)) best = here;
    }
  if (p.count > detail::max_ordered) {  // what the pairs after this one cost
    einsum_order here{.one = best.one, .other = best.other};
    einsum_order const later = order_of(detail::multiplied(p, best.one, best.other, here));
    best.legal               = best.legal && later.legal;
    best.flops += later.flops;
    best.sent += later.sent;
  }
  return best;
}

/// An operand of shape `S`; with `Unreduced`, a partial sum over these axes.
template<class S, bool Open = false, class Unreduced = axes<>>
struct factor_of {};

namespace detail {

/// Before a layout is chosen nothing is split: the order is that of the fewest flops in all.
template<class L, class... D>
constexpr void add_dims(product_of_many& p, shape<D...>) {
  (p.add_dim(always_placed<L, D>.allocated_extent(), always_placed<L, D>.over.set()), ...);
}

template<class All, class S>
constexpr std::uint32_t bits_within() {
  std::uint32_t bits = 0;
  for (int d : dims_within<All, S>) bits |= std::uint32_t{1} << d;
  return bits;
}

template<class L, class T, class Out, class... Factors>
struct product_under;

template<class L, class T, class Out, class... S, bool... Open, class... Unreduced>
struct product_under<L, T, Out, factor_of<S, Open, Unreduced>...> {
  using all = typename all_dims<S...>::type;
  static_assert(all::rank <= product_of_many::max_dims, "meshtf: an einsum has at most 32 dimensions");
  static_assert(sizeof...(S) <= product_of_many::max_factors, "meshtf: an einsum has at most 16 operands");

  static constexpr product_of_many value() {
    product_of_many p;
    add_dims<L>(p, all{});
    p.out           = bits_within<all, common_dims<all, Out>>();
    p.element_bytes = bytes_of(added_as(element_of<T>));
    for (int a = 0; a < max_axes; ++a)
      p.axis_sizes[a] = meshtf::axis_sizes<typename L::mesh_type>[static_cast<std::size_t>(a)];
    (p.add({bits_within<all, S>(), Open,
            axis_set_of<typename L::mesh_type, Unreduced> & detail::known_axes<L>}),
     ...);
    return p;
  }
};

}  // namespace detail

/// The order of `einsum<Out...>` of elements `T` under `L`. `Factors...` are `factor_of`.
template<Layout L, Element T, class Out, class... Factors>
inline constexpr einsum_order einsum_order_under =
    order_of(detail::product_under<L, T, Out, Factors...>::value());

}  // namespace v0
}  // namespace meshtf
