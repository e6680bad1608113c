// A record: what one step asks of its machine, before a layout is chosen.
#pragma once

#include <array>
#include <string_view>

#include <meshtf/core/common_divisor.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/search/layout_numbers.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

class split_account;

namespace detail {

constexpr bool same_loops(undecided_loops const& x, undecided_loops const& y) {
  if (x.rank != y.rank || x.operands != y.operands) return false;
  undecided_dim const* const a = x.dim.data();
  undecided_dim const* const b = y.dim.data();
  for (int i = 0; i < x.rank; ++i)
    if (a[i].size != b[i].size || a[i].open != b[i].open) return false;
  for (int k = 0; k < x.operands; ++k) {
    dim_list const& of_a = x.operand[k];
    dim_list const& of_b = y.operand[k];
    if (of_a.count != of_b.count) return false;
    for (int i = 0; i < of_a.count; ++i)
      if (of_a[i] != of_b[i]) return false;
  }
  return x.along == y.along;
}

}  // namespace detail

/// One call of the machine, and how often it was made. `price` computes what a process does for it under a
/// layout. A call without one is a message of `n` elements over the axes of the dimensions `over`, or if it
/// has `in_parts`, all that this asks for where such a dimension is split.
struct recorded_call {
  struct figures {
    work does{};
    extent scratch = 0;  // bytes
  };

  figures (*price)(recorded_call const&, layout_numbers const&)                 = nullptr;
  void (*in_parts)(recorded_call const&, layout_numbers const&, split_account&) = nullptr;
  small_array<extent, 2>
      // that it needs, such as an offset; of a move between pairs of dimensions, sets of these, in the place
      // of their axes
      numbers{};
  undecided_loops loops{};
  undecided_size n{};
  unsigned wishes = 0;  // of the task
  // its flops and most scratch memory are known without its steps, which are expensive
  bool is_product = false;
  dim_set over    = 0;
  reduction op    = reduction::sum;
  element type    = element::float32;
  collective kind = collective::all_reduce;  // or a broadcast of one number, or a scan
  undecided_condition if_{};
  extent times = 0;
  call_site first{};  // the first call site that made it

  /// Figures of a contraction: two flops for each iteration of its loops; and the most scratch memory, in
  /// bytes, which is a buffer for each operand.
  constexpr extent flops_of_contraction(layout_numbers const& l) const {
    extent iterations = 2;
    for (int i = 0; i < loops.rank; ++i) iterations *= l.local(loops.dim[i]);
    return iterations;
  }
  constexpr extent max_scratch_of_contraction(layout_numbers const& l) const {
    extent all = 0;
    for (int k = 0; k < loops.operands; ++k) {
      extent elements = 1;
      for (int d : loops.operand[k]) elements *= l.local(loops.dim[d]);
      all += elements;
    }
    return all * bytes_of(type);
  }
  [[deprecated("use max_scratch_of_contraction")]] constexpr extent most_scratch_of_contraction(
      layout_numbers const& l) const {
    return max_scratch_of_contraction(l);
  }

  /// The dimensions that its sizes depend on.
  constexpr dim_set dims() const {
    dim_set set = n.dims;
    for (undecided_dim const& d : loops.dims()) set |= d.open;
    return set;
  }

  constexpr bool same_price(recorded_call const& other) const {
    if (price != other.price || in_parts != other.in_parts || numbers != other.numbers || n != other.n ||
        wishes != other.wishes || over != other.over || op != other.op || type != other.type ||
        kind != other.kind || !(if_ == other.if_))
      return false;
    return detail::same_loops(loops, other.loops);
  }
};

/// A kind of live bytes: all are divided along the same dimensions, and live under the same condition. Those
/// of arrays that are in a file have a bound: they live where an array has fewer bytes in one process, so
/// that it stays.
struct recorded_kind {
  dim_set dims = 0;
  undecided_condition if_{};
  extent array = 0;  // bytes of a whole array that is in a file, or 0
  extent bound = 0;

  constexpr bool is_in_file(layout_numbers const& l) const {
    return array != 0 && if_.holds(l) && l.local(undecided_size{array, dims}) >= bound;
  }
  constexpr bool lives(layout_numbers const& l) const { return if_.holds(l) && !is_in_file(l); }
  friend constexpr bool operator==(recorded_kind const&, recorded_kind const&) = default;
};

/// A gradient that an optimizer finishes.
struct recorded_send {
  extent n = 0;  // elements of the whole tensor
  element type{};
  int kind    = 0;  // what its sizes are divided by, and what it is finished over
  extent made = 0;  // bytes of the whole tensor that are taken just before it is sent, as for means
  extent gone = 0;  // bytes of the whole tensor that are given back once it is used
};

/// Gradients that are sent alike: over which dimensions they are split, and over which they are summed.
struct recorded_send_kind {
  dim_set dims = 0;
  dim_set over = 0;
};

/// What a step costs under every layout that splits only dimensions of `D...`: its calls without their sizes,
/// and what lives when memory is at a local maximum. It is a literal value: `record` makes it; `price`,
/// `rank_layouts` and `best_layout` read it.
template<Dimension... D>
struct step_record {
  static constexpr std::size_t max_calls   = 320;
  static constexpr std::size_t max_kinds   = 64;
  static constexpr std::size_t max_moments = 160;
  static constexpr std::size_t max_sends   = 512;
  static constexpr std::size_t max_rounds  = 4;
  // the former names
  [[deprecated("use max_calls")]] static constexpr std::size_t most_calls     = max_calls;
  [[deprecated("use max_kinds")]] static constexpr std::size_t most_kinds     = max_kinds;
  [[deprecated("use max_moments")]] static constexpr std::size_t most_moments = max_moments;
  [[deprecated("use max_sends")]] static constexpr std::size_t most_sends     = max_sends;
  [[deprecated("use max_rounds")]] static constexpr std::size_t most_rounds   = max_rounds;
  using undecided_dims                                                        = shape<D...>;

  /// A local maximum of live memory: the bytes of each kind, and the call that takes scratch memory in
  /// addition to them, if one does.
  struct moment {
    std::array<extent, max_kinds> bytes{};
    int call = -1;
  };

  small_array<recorded_call, max_calls> calls{};
  std::size_t call_count  = 0;
  std::size_t latest_call = 0;
  std::array<recorded_kind, max_kinds> kinds{};
  std::size_t kind_count = 0;
  std::array<moment, max_moments> moments{};
  std::size_t moment_count = 0;
  std::array<recorded_send, max_sends> sends{};
  std::size_t send_count = 0;
  small_array<recorded_send_kind, max_kinds> send_kinds{};
  std::size_t send_kind_count = 0;
  /// Gradients that are sent together, up to the first of the next round, and what lives before.
  struct round {
    std::size_t first = 0;
    std::array<extent, max_kinds> bytes{};
  };
  std::array<round, max_rounds> rounds{};
  std::size_t round_count = 0;
  std::array<extent, max_kinds> optimizer{};   // bytes of each kind: what optimizers remember
  std::array<extent, max_kinds> parameters{};  // bytes of each kind: parameters
  std::array<extent, max_kinds> spilled{};     // bytes of each kind that leave for a file or come back
  small_array<dim_set, max_axes> apart{};  // dimensions that share a loop nest with it: no axis splits both
  // dimensions that are split over the same axes in the same order: other names of the same elements
  small_array<dim_set, max_axes> alike{};
  small_array<dim_set, max_axes>
      // dimensions that are split over the same axes into parts of the same size, though their sizes may
      // differ
      in_step{};
  dim_set whole    = 0;  // dimensions that an operation needs whole
  dim_set even     = 0;  // dimensions that an operation needs in equal parts
  dim_set moved    = 0;  // dimensions that are renamed, and move unless they are split alike
  dim_set in_order = 0;  // dimensions that move: their axes are priced in the mesh's order only
  dim_set near     = 0;  // dimensions of which each part sees elements of its neighbours
  small_array<extent, max_axes> reach{};     // ... so many at most: a part has no fewer
  small_array<dim_set, max_axes> in_turn{};  // ... while none of these is split

  static constexpr std::size_t max_exchanged = 2;
  small_array<exchanged_dims, max_exchanged> exchanged{};  // that change places, and what follows from it
  std::size_t exchanged_count = 0;

  static constexpr int dims = int{sizeof...(D)};
  static constexpr std::array<extent, sizeof...(D)> sizes{D::size...};
  static constexpr extent size_of(int dim) { return sizes[static_cast<std::size_t>(dim)]; }

  /// The number of the call of this price, which is added if there is none.
  constexpr int note(recorded_call const& call) {
    for (std::size_t i = 0; i < call_count; ++i)
      if (calls[i].same_price(call)) return note_again(i);
    static_assert(max_calls == 320);  // as the message says
    if (call_count == max_calls)
      throw "meshtf: this program makes more different calls than a record holds (320)";
    calls[call_count]       = call;
    calls[call_count].times = 1;
    return static_cast<int>(call_count++);
  }
  /// The number of the call of a task, or of a pass over `n` elements, with this price, if it has been noted:
  /// then it has been once more. -1 if it has not. Blocks are alike, so the search begins after the call that
  /// was noted last.
  template<class Price>
  constexpr int noted_again(Price price, undecided_loops const* loops, undecided_size const& n,
                            unsigned wishes, undecided_condition const& if_) {
    recorded_call const* const all = calls.data();
    std::size_t i                  = latest_call;
    for (std::size_t left = call_count; left > 0; --left) {
      if (++i >= call_count) i = 0;
      recorded_call const& c = all[i];
      if (c.price == price && c.n.whole == n.whole && c.n.dims == n.dims && c.wishes == wishes &&
          (loops == nullptr || detail::same_loops(c.loops, *loops)) && c.if_ == if_)
        return note_again(i);
    }
    return -1;
  }

  constexpr std::size_t kind(recorded_kind const& wanted) {
    for (std::size_t i = 0; i < kind_count; ++i)
      if (kinds[i] == wanted) return i;
    static_assert(max_kinds == 64);  // as the message says
    if (kind_count == max_kinds)
      throw "meshtf: the tensors of this program have more different shapes than a record holds (64)";
    kinds[kind_count] = wanted;
    return kind_count++;
  }

  constexpr int send_kind(dim_set sent_dims, dim_set over) {
    for (std::size_t i = 0; i < send_kind_count; ++i)
      if (send_kinds[i].dims == sent_dims && send_kinds[i].over == over) return static_cast<int>(i);
    static_assert(max_kinds == 64);  // as the message says
    if (send_kind_count == max_kinds)
      throw "meshtf: the parameters of this program have more different shapes than a record holds (64)";
    send_kinds[send_kind_count] = {sent_dims, over};
    return static_cast<int>(send_kind_count++);
  }

  /// Keeps a moment unless another one is no lighter under any layout.
  constexpr void note(moment const& m) { note_moment(m.bytes.data(), m.call); }
  /// The same, of the bytes of each kind. Dry runs ask for this thousands of times, so the loops index plain
  /// arrays, which the compilers evaluate fastest.
  constexpr void note_moment(extent const* bytes, int call) {
    moment* const all   = moments.data();
    std::size_t const n = kind_count;
    for (std::size_t i = moment_count; i-- > 0;) {  // the latest are the likeliest to be alike
      if (call >= 0 && all[i].call != call) continue;
      extent const* const other = all[i].bytes.data();
      std::size_t k             = 0;
      while (k < n && other[k] >= bytes[k]) ++k;
      if (k == n) return;
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < moment_count; ++i) {
      if (all[i].call < 0 || all[i].call == call) {
        extent const* const other = all[i].bytes.data();
        std::size_t k             = 0;
        while (k < n && other[k] <= bytes[k]) ++k;
        if (k == n) continue;
      }
      if (left != i) put_moment(all[left], all[i].bytes.data(), all[i].call);
      ++left;
    }
    static_assert(max_moments == 160);  // as the message says
    if (left == max_moments) left = keep_hull(left);
    if (left == max_moments)
      throw "meshtf: the memory of this program has more peaks than a record holds (160)";
    put_moment(all[left++], bytes, call);
    moment_count = left;
  }

  /// Drops moments that lie between two others, and returns how many of these `count` are left.
  ///
  /// In equal blocks the bytes of a moment grow along a line: the first and the last block are never lighter
  /// than those between, whatever the layout, since each kind of bytes is multiplied by a number.
  constexpr std::size_t keep_hull(std::size_t count) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_between(i, left, count)) continue;
      if (left != i) put_moment(moments.data()[left], moments.data()[i].bytes.data(), moments.data()[i].call);
      ++left;
    }
    return left;
  }

  constexpr void note(exchanged_dims const& wanted) {
    for (std::size_t i = 0; i < exchanged_count; ++i)
      if (exchanged[i] == wanted) return;
    static_assert(max_exchanged == 2);  // as the message says
    if (exchanged_count == max_exchanged)
      throw "meshtf: this program exchanges more pairs of dimensions than a record holds (2)";
    exchanged[exchanged_count++] = wanted;
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
    for (std::size_t i = 0; i < sizeof...(D); ++i)
      if (set >> i & 1) apart[i] |= set & ~(dim_set{1} << i);
  }

  /// No axis splits `dim` and one of the others.
  constexpr void keep_apart_from(int dim, dim_set others) {
    apart[dim] |= others;
    for (; others != 0; others &= others - 1) apart[std::countr_zero(others)] |= dim_set{1} << dim;
  }

private:
  constexpr int note_again(std::size_t number) {
    ++calls[number].times;
    latest_call = number;
    return static_cast<int>(number);
  }
  /// Kinds that are noted later have no bytes here: what is copied is what there is.
  constexpr void put_moment(moment& to, extent const* bytes, int call) const {
    extent* const mine = to.bytes.data();
    for (std::size_t k = 0; k < kind_count; ++k) mine[k] = bytes[k];
    to.call = call;
  }
  /// Whether moment i lies between one of the first `kept` moments and one after it, of the same call.
  constexpr bool is_between(std::size_t i, std::size_t kept, std::size_t count) const {
    moment const* const all = moments.data();
    moment const& m         = all[i];
    for (std::size_t a = 0; a < kept; ++a) {
      if (all[a].call != m.call) continue;
      for (std::size_t b = i + 1; b < count; ++b)
        if (all[b].call == m.call && lies_below(m.bytes.data(), all[a].bytes.data(), all[b].bytes.data()))
          return true;
    }
    return false;
  }
  /// Whether m <= (p a + (q - p) b) / q in each kind, for some 0 <= p <= q.
  constexpr bool lies_below(extent const* m, extent const* a, extent const* b) const {
    constexpr extent max_q = 4096;  // bytes * q fit into an extent
    for (std::size_t k = 0; k < kind_count; ++k)
      if (m[k] > a[k] && m[k] > b[k]) return false;
    extent p = 0;
    extent q = 1;
    for (std::size_t k = 0; k < kind_count; ++k) {
      if (m[k] <= b[k]) continue;
      extent const common = detail::common_divisor(a[k] - b[k], m[k] - b[k]);
      extent const of     = (a[k] - b[k]) / common;
      if (of > max_q) return false;
      if ((m[k] - b[k]) / common * q > p * of) p = (m[k] - b[k]) / common, q = of;
    }
    for (std::size_t k = 0; k < kind_count; ++k)
      if (q * m[k] > p * a[k] + (q - p) * b[k]) return false;
    return true;
  }
  /// The dimensions of `set` that may be split, and all that are split as they are.
  constexpr dim_set names_of(dim_set set) const {
    set &= ~whole;
    for (dim_set before = 0; before != set;) {
      before = set;
      for (std::size_t i = 0; i < sizeof...(D); ++i)
        if (before >> i & 1) set |= alike[i];
    }
    return set;
  }
};

}  // namespace v0
}  // namespace meshtf
