// explain_svg: who holds what, the communication and the memory of a step, and two layouts side by side, as
// pictures in SVG.
#pragma once

#include <concepts>
#include <string_view>

#include <meshtf/explain/draw_cost.hpp>
#include <meshtf/explain/draw_layout.hpp>
#include <meshtf/explain/svg.hpp>
#include <meshtf/price/dry_run.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class L, class Sheet>
constexpr void draw_layout_of(Sheet& s, int max_lines = 8) {
  if constexpr (accepted<typename L::rules_verdict>) {
    using ruled = typename ruled_dims<rule_list<L>>::type;
    draw_layout(s, name<L>, named_mesh_of<typename L::mesh_type>, named_dims_of<L, ruled>, max_lines);
  } else {
    fixed_text<1023> words;
    append(words, name<L>, " is refused: ");
    verdict_words<typename L::rules_verdict>::append(words);
    s.heading(words);
  }
}

/// Everything of two layouts, in two columns.
template<class L, class Other, class Sheet, class Cost>
constexpr void draw_beside(Sheet& s, Cost const& a, Cost const& b) {
  constexpr int max_lines           = 5;  // of a process, so that two large meshes fit into a text
  constexpr named_mesh const& m     = named_mesh_of<typename L::mesh_type>;
  constexpr std::string_view first  = name<L>;
  constexpr std::string_view second = name<Other>;
  svg_columns<Sheet> columns{s};
  columns.draw(0, [&] { draw_layout_of<L>(s, max_lines); });
  columns.draw(1, [&] { draw_layout_of<Other>(s, max_lines); });
  extent const sent = std::max(sorted_groups(a).group[0].sent, sorted_groups(b).group[0].sent);
  columns.draw(0, [&] { draw_messages(s, a, m, sent, first); });
  columns.draw(1, [&] { draw_messages(s, b, m, sent, second); });
  extent const held = std::max(a.peak_bytes(), b.peak_bytes());
  columns.draw(0, [&] { draw_memory(s, a, held, first); });
  columns.draw(1, [&] { draw_memory(s, b, held, second); });
  columns.draw(0, [&] { draw_two(s, first, a, second, b, m); });
  columns.finish();
}

/// What `draw` draws on a sheet. Nothing of it is compiled before it is called.
template<class Draw, class Text = svg_text>
constexpr Text drawn(std::string_view title, Draw const& draw, std::string_view attributes = {}) {
  svg_sheet<Text> s{title, attributes};
  draw(s);
  return s.finished();
}

}  // namespace detail

/// `L` on its mesh as an SVG picture: the rank of each process, and the part of each split dimension that it
/// holds. A large mesh is drawn shortened. The same text as a constant or at run time:
///
///     constexpr auto picture = meshtf::explain_svg<mixed>();
template<Layout L>
constexpr svg_text explain_svg() {
  return detail::drawn(detail::name<actual<L>>, [](auto& s) { detail::draw_layout_of<actual<L>>(s); });
}

/// A cost as an SVG picture: the messages of one process by axis and call site, its memory over the step, and
/// what lives at the peak.
template<Mesh M, std::size_t Capacity>
constexpr svg_text explain_svg(cost<M, Capacity> const& c) {
  return detail::drawn("the cost of a step", [&](auto& s) {
    detail::draw_messages(s, c, named_mesh_of<M>);
    detail::draw_memory(s, c);
  });
}

/// `L` on its mesh, and below it the cost of a step, as one SVG picture.
template<Layout L, std::size_t Capacity>
constexpr svg_text explain_svg(cost<typename L::mesh_type, Capacity> const& c) {
  return detail::drawn(detail::name<actual<L>>, [&](auto& s) {
    detail::draw_layout_of<actual<L>>(s);
    detail::draw_messages(s, c, named_mesh_of<typename L::mesh_type>);
    detail::draw_memory(s, c);
  });
}

/// The same of the first step of `Program<L>`.
template<template<Layout> class Program, Layout L>
constexpr svg_text explain_svg() {
  constexpr auto c = dry_run<Program, L>();
  return explain_svg<L>(c);
}

/// Two costs, of layouts of these names, side by side as an SVG picture, figure by figure.
template<Mesh M, std::size_t Capacity>
constexpr svg_text explain_svg(std::string_view first, cost<M, Capacity> const& a, std::string_view second,
                               cost<M, Capacity> const& b) {
  return detail::drawn("two layouts",
                       [&](auto& s) { detail::draw_two(s, first, a, second, b, named_mesh_of<M>); });
}

/// Two layouts on their mesh in two columns, and below each the cost of a step: its messages and its memory,
/// drawn to the same scale. Below both are the figures, pair by pair.
template<Layout L, Layout Other, std::size_t Capacity>
  requires std::same_as<typename L::mesh_type, typename Other::mesh_type>
constexpr svg_text explain_svg(cost<typename L::mesh_type, Capacity> const& a,
                               cost<typename L::mesh_type, Capacity> const& b) {
  constexpr std::string_view first  = detail::name<actual<L>>;
  constexpr std::string_view second = detail::name<actual<Other>>;
  fixed_text<511> title;
  detail::append(title, first, " beside ", second);
  return detail::drawn(
      title, [&](auto& s) { detail::draw_beside<actual<L>, actual<Other>>(s, a, b); },
      " class=\"columns\" preserveAspectRatio=\"xMinYMin\"");
}

/// The same of the first steps of `Program<L>` and `Program<Other>`.
template<template<Layout> class Program, Layout L, Layout Other>
  requires std::same_as<typename L::mesh_type, typename Other::mesh_type>
constexpr svg_text explain_svg() {
  constexpr auto a = dry_run<Program, L>();
  constexpr auto b = dry_run<Program, Other>();
  return explain_svg<L, Other>(a, b);
}

}  // namespace v0
}  // namespace meshtf
