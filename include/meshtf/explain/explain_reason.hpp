// A reason in words: "hidden is summed and split over cols".
#pragma once

#include <meshtf/explain/words.hpp>
#include <meshtf/plan/reshard/moves.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class S>
struct spelled_dims;

template<class... D>
struct spelled_dims<shape<D...>> {
  static constexpr std::array<std::string_view, sizeof...(D)> names{name<D>...};
  static constexpr named_dims value{.names = names.data(), .count = int{sizeof...(D)}};
};

/// The dimensions of `S` by name alone, also if no layout can place them.
template<class S>
inline constexpr named_dims const& dims_as_written = spelled_dims<S>::value;

/// The dimension that an axis splits; -1 if it splits none.
constexpr int split_by(named_dims const& dims, int axis) {
  for (int d = 0; d < dims.count; ++d)
    if (among(dims[d].over.set(), axis)) return d;
  return -1;
}

/// For a value that moves from `why.loops` to `why.to`: what a move over these axes does to each. On a long
/// way, an axis may split a dimension that it splits at neither end.
template<class Text>
constexpr void append_reason_to_move(Text& out, collective_reason const& why, named_mesh const& m,
                                     axis_set over, transfer_kind kind) {
  bool first = true;
  for (int a = 0; a < m.count(); ++a) {
    if (!among(over, a)) continue;
    out += first ? "" : ", ";
    first                        = false;
    int const from               = split_by(why.loops, a);
    int const to                 = split_by(why.to, a);
    std::string_view const axis  = m.axis(a);
    std::string_view const here  = from < 0 ? "" : why.loops.name(from);
    std::string_view const there = to < 0 ? "" : why.to.name(to);
    switch (kind) {
      case transfer_kind::slice:
        append(out, to < 0 ? "the value" : there, " is split over ", axis, " from now on");
        break;
      case transfer_kind::all_gather:
        append(out, from < 0 ? "the value" : here, " is no longer split over ", axis);
        break;
      case transfer_kind::all_reduce: append(out, "the sum over ", axis, " is due"); break;
      case transfer_kind::reduce_scatter:
        append(out, "the sum over ", axis, " is due");
        if (to >= 0) append(out, ", and ", there, " is split over it from now on");
        break;
      default:  // all-to-all and permute
        if (from >= 0 && to >= 0 && here != there) append(out, axis, " goes from ", here, " to ", there);
        else if (from >= 0 && to >= 0) append(out, axis, " changes its place among the axes of ", there);
        else if (from >= 0) append(out, axis, " leaves ", here);
        else if (to >= 0) append(out, axis, " comes to ", there);
        else append(out, "parts change places along ", axis);
    }
  }
}

/// Why a collective over the axes `over` is called, and `what` it does if it moves a value.
template<class Text>
constexpr void append_reason(Text& out, collective_reason const& why, named_mesh const& m, axis_set over,
                             reduction op, transfer_kind kind = transfer_kind::all_reduce) {
  if (why.words != nullptr) {
    out += why.words;
  } else if (why.to.names != nullptr) {
    append_reason_to_move(out, why, m, over, kind);
  } else {
    int said = 0;
    for (int d = 0; d < why.loops.count; ++d) {
      axis_set const along = m.joining(why.loops[d].over.set() & over);
      if (along == 0) continue;
      if (said++ == 0) {
        append(out, why.loops.name(d), " is ");
        if (op == reduction::sum) out += why.done;
        else if (op == reduction::product) out += "multiplied";
        else append(out, "searched for its ", op == reduction::max ? "maximum" : "minimum");
        out += " and split over ";
      } else {
        append(out, ", and ", why.loops.name(d), " over ");
      }
      append_axes(out, m, along);
    }
    if (said == 0) {
      out += "what processes hold along ";
      append_axes(out, m, over);
      out += " is joined";
    }
  }
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
