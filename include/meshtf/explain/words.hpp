// Words: how explanations name meshes, axes, dimensions and verdicts.
#pragma once

#include <meshtf/core/named_mesh.hpp>
#include <meshtf/core/placement.hpp>
#include <meshtf/core/text.hpp>
#include <meshtf/plan/reason.hpp>

namespace meshtf {
inline namespace v0 {

/// The text of an explanation while it grows. The text that users get is cut to its length.
using page = fixed_text<16383>;

namespace detail {

/// "a", "a and b", "a, b and c": before the i-th of n.
constexpr std::string_view between(int i, int n) {
  if (i == 0) return "";
  return i + 1 == n ? " and " : ", ";
}

template<class Text>
constexpr void append_axes(Text& out, named_mesh const& m, axis_set over) {
  int const n = std::popcount(over);
  for (int a = 0, i = 0; a < m.count(); ++a)
    if (among(over, a)) {
      out += between(i++, n);
      out += m.axis(a);
    }
}

/// "x[batch, hidden]".
template<class Text>
constexpr void append_tensor(Text& out, std::string_view name, named_dims const& dims) {
  out += name;
  if (dims.count == 0) return;
  out += '[';
  for (int d = 0; d < dims.count; ++d) {
    if (d > 0) out += ", ";
    out += dims.name(d);
  }
  out += ']';
}

/// "256 x 1024": the part of one process.
template<class Text>
constexpr void append_extents(Text& out, named_dims const& dims) {
  if (dims.count == 0) out += "1";
  for (int d = 0; d < dims.count; ++d) {
    if (d > 0) out += " x ";
    out += number_text(dims[d].allocated_extent());
  }
}

/// `text` in a column of `width` characters.
template<class Text>
constexpr void append_padded(Text& out, std::string_view text, std::size_t width) {
  out += text;
  if (text.size() < width) out.fill(width - text.size(), ' ');
}
template<class Text>
constexpr void append_aligned_right(Text& out, std::string_view text, std::size_t width) {
  if (text.size() < width) out.fill(width - text.size(), ' ');
  out += text;
}

/// "1 process", "4 processes".
template<class Text>
constexpr void append_count(Text& out, extent n, std::string_view one, std::string_view more) {
  out += thousands_text(n);
  out += ' ';
  out += n == 1 ? one : more;
}

// ---- verdicts. A verdict without words of its own is shown by its name, which is a statement.

template<class X>
struct spelling {
  template<class Text>
  static constexpr void append(Text& out) {
    out += name<X>;
  }
};

template<class Text, class... X>
constexpr void append_list(Text& out) {
  int i = 0;
  ((out += i++ == 0 ? "" : ", ", spelling<X>::append(out)), ...);
}

template<class... D>
struct spelling<shape<D...>> {
  template<class Text>
  static constexpr void append(Text& out) {
    out += '[';
    append_list<Text, D...>(out);
    out += ']';
  }
};

template<class... A>
struct spelling<axes<A...>> {
  template<class Text>
  static constexpr void append(Text& out) {
    append_list<Text, A...>(out);
  }
};

template<class Verdict>
struct verdict_words : spelling<Verdict> {};

template<template<class...> class Verdict, class... X>
struct verdict_words<Verdict<X...>> {
  template<class Text>
  static constexpr void append(Text& out) {
    std::string_view const whole = name<Verdict<X...>>;
    for (char c : whole.substr(0, whole.find('<'))) out += c == '_' ? ' ' : c;
    out += ": ";
    append_list<Text, X...>(out);
  }
};

template<>
struct verdict_words<legal> {
  template<class Text>
  static constexpr void append(Text& out) {
    out += "legal";
  }
};

/// A sentence of pieces.
template<class Text, class... Piece>
constexpr void append(Text& out, Piece const&... piece) {
  ((out += piece), ...);
}

template<class Axis, class First, class Second>
struct verdict_words<one_axis_splits_two_dims<Axis, First, Second>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, name<Axis>, " splits both ", name<First>, " and ", name<Second>,
                   ", so no process would hold a rectangular part");
  }
};

template<class D>
struct verdict_words<dim_appears_twice<D>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, name<D>, " is named twice; where a matrix has it on both sides, rename one");
  }
};

template<class D>
struct verdict_words<aliases_are_one_dim<D>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, name<D>, " is named twice, by aliases; each dimension is a struct of its own");
  }
};

template<class D, extent Size, extent Parts>
struct verdict_words<parts_do_not_divide_dim<D, Size, Parts>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, number_text(Size), " elements of ", name<D>, " can't be cut into ",
                   number_text(Parts), " equal parts; padded cuts them into unequal ones");
  }
};

template<int Dims, int Max>
struct verdict_words<too_many_dims<Dims, Max>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "there are ", number_text(Dims), " dimensions, of which there may be ",
                   number_text(Max));
  }
};

template<class D>
struct verdict_words<two_rules_for_dim<D>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "the layout has two rules for ", name<D>);
  }
};

template<class Axis, class D, class M>
struct verdict_words<axis_is_not_in_mesh<Axis, D, M>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "the layout splits ", name<D>, " over ", name<Axis>, ", but ", name<M>,
                   " has no such axis");
  }
};

template<class Axis, class D>
struct verdict_words<axis_splits_dim_twice<Axis, D>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "the layout's rule for ", name<D>, " names ", name<Axis>, " twice");
  }
};

template<class Axis, class D>
struct verdict_words<axis_of_stages_splits_dim<Axis, D>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "the layout has its stages along ", name<Axis>, ", and splits ", name<D>,
                   " over it: stages share no tensor, so the axis splits no dimension");
  }
};

template<class First, class Second>
struct verdict_words<two_axes_of_stages<First, Second>> {
  template<class Text>
  static constexpr void append(Text& out) {
    detail::append(out, "the layout has stages along ", name<First>, " and along ", name<Second>,
                   ": they lie along one axis");
  }
};

/// A text at exactly its length: what a constant keeps of a page. `Page` has a static function
/// `write(page&)`.
template<class Page>
inline constexpr page written = [] {
  page out;
  Page::write(out);
  return out;
}();

template<class Page>
inline constexpr fixed_text<written<Page>.count> kept_text{written<Page>.view()};

template<class Verdict>
struct page_of_verdict {
  static constexpr void write(page& out) { verdict_words<Verdict>::append(out); }
};

}  // namespace detail

/// A verdict in words: "rows splits both batch and hidden, so no process would hold a rectangular part".
template<class Verdict>
constexpr auto const& in_words() {
  return detail::kept_text<detail::page_of_verdict<Verdict>>;
}

}  // namespace v0
}  // namespace meshtf
