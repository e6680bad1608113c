// A call of the machine as a record keeps it: without the sizes, which a layout decides.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/search/layout_numbers.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

class split_account;

namespace detail {

constexpr bool same_loops(undecided_loops const& x, undecided_loops const& y) {
  if (x.rank != y.rank || x.operands != y.operands) return false;
  undecided_dim const* const a = x.dim.element;
  undecided_dim const* const b = y.dim.element;
  for (int i = 0; i < x.rank; ++i)
    if (a[i].size != b[i].size || a[i].open != b[i].open) return false;
  for (int k = 0; k < x.operands; ++k) {
    dim_list const& of_a = x.operand.element[k];
    dim_list const& of_b = y.operand.element[k];
    if (of_a.count != of_b.count) return false;
    for (int i = 0; i < of_a.count; ++i)
      if (of_a.number.element[i] != of_b.number.element[i]) return false;
  }
  for (int i = 0; i < max_asked; ++i)
    if (x.along.element[i] != y.along.element[i]) return false;
  return true;
}

}  // namespace detail

/// One call of the machine, and how often it was made. `price` computes the work of a process under a
/// layout. A call without one is a message of `n` elements over the axes of the dimensions `over`, or if it
/// has `in_parts`, all that this asks for where such a dimension is split.
struct recorded_call {
  struct figures {
    work does{};
    extent scratch = 0;  // bytes
  };

  figures (*price)(recorded_call const&, layout_numbers const&)                 = nullptr;
  void (*in_parts)(recorded_call const&, layout_numbers const&, split_account&) = nullptr;
  // that it needs, such as an offset; of a move between pairs of dimensions, sets of these, in the place of
  // their axes
  small_array<extent, 2> numbers{};
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
  call_site first{};            // the first call site that made it
  std::size_t followed_by = 0;  // the number of the call that was noted after it

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

}  // namespace v0
}  // namespace meshtf
