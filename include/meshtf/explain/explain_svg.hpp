// explain_svg: who holds what, the communication and the memory of a step, and two layouts side by side, as
// pictures in SVG.
#pragma once

#include <meshtf/explain/explain_cost.hpp>
#include <meshtf/explain/svg.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

// ---- a layout on its mesh

/// The cell of a process: its rank, and of each split dimension the elements that it holds, in words and as
/// the part of a bar.
template<class Sheet>
constexpr void draw_process(Sheet& s, drawing const& d, coordinates const& coordinates_of_process, extent x,
                            extent top, extent wide, int max_lines) {
  s.text(x + 8, top + 18, d.line(0, coordinates_of_process));
  int drawn = 0;
  for (int k = 0; k < d.dims.count; ++k) {
    if (!d.is_line(k)) continue;
    if (drawn == max_lines) return s.text(x + 8, top + 18 + 28 * drawn + Sheet::line, "and more");
    extent const down  = top + 18 + 28 * drawn++;
    placed const& dim  = d.dims[k];
    extent const part  = part_at(dim, d.mesh, coordinates_of_process);
    extent const whole = wide - 16;
    s.text(x + 8, down + Sheet::line, range_at(d.dims, k, d.mesh, coordinates_of_process));
    s.track(x + 8, down + 29, whole);
    if (dim.local_extent(part) > 0)
      s.bar(x + 8 + pixels_of(part * dim.allocated_extent(), dim.size, whole), down + 29,
            pixels_of(dim.local_extent(part), dim.size, whole), k);
  }
}

/// As the picture in the terminal: the last axis to the right, all others down, and of a large mesh the first
/// rows and columns and the last.
template<class Sheet>
constexpr void draw_mesh(Sheet& s, named_mesh const& m, named_dims const& ruled, int max_lines) {
  constexpr extent max_rows    = 5;
  constexpr extent max_columns = 5;
  constexpr extent gap         = 8;
  drawing const d{m, ruled, m.joining(m.all()), true};
  auto const down = drawing::select(d.rows(), max_rows);
  auto across     = drawing::select(d.columns(), max_columns);

  std::size_t margin  = 0;
  std::size_t letters = 8;
  for (std::size_t i = 0; i < down.count; ++i) {
    if (down.index[i] < 0) continue;
    margin = std::max(margin, d.place(d.down(), d.at(down.index[i], 0)).size());
    for (std::size_t k = 0; k < across.count; ++k)
      for (int n = 0; across.index[k] >= 0 && n < d.lines(); ++n)
        letters = std::max(letters, d.line(n, d.at(down.index[i], across.index[k])).size());
  }
  extent const wide = static_cast<extent>(letters) * Sheet::letter + 16;
  extent const left = Sheet::edge + static_cast<extent>(margin) * Sheet::letter;
  extent const fit  = std::max<extent>(3, (760 - left) / (wide + gap));
  if (d.columns() > fit) across = drawing::select(d.columns(), std::min(fit, max_columns));
  extent const lines = std::min(d.lines(), max_lines + 2);
  extent const high  = 18 + 10 + 28 * (lines - 1);

  s.y += 8;
  if (d.across() >= 0) {
    s.y += Sheet::line;
    extent x = left + gap;
    for (std::size_t k = 0; k < across.count; ++k) {
      bool const is_gap = across.index[k] < 0;
      s.text(x + 8, s.y,
             is_gap ? short_text{"..."} : d.place(axis_set{1} << d.across(), d.at(0, across.index[k])));
      x += (is_gap ? 48 : wide) + gap;
    }
    s.y += 6;
  }
  for (std::size_t i = 0; i < down.count; ++i) {
    if (down.index[i] < 0) {
      s.line_of_text("...");
      s.y += 10;
      continue;
    }
    s.text(Sheet::edge, s.y + 18, d.place(d.down(), d.at(down.index[i], 0)));
    extent x = left + gap;
    for (std::size_t k = 0; k < across.count; ++k) {
      if (across.index[k] < 0) {
        s.text(x + 8, s.y + 18, "...");
        x += 48 + gap;
        continue;
      }
      s.box(x, s.y, wide, high);
      draw_process(s, d, d.at(down.index[i], across.index[k]), x, s.y, wide, max_lines);
      x += wide + gap;
    }
    s.y += high + gap;
  }
  s.y -= gap;
}

template<class Sheet>
constexpr void draw_layout(Sheet& s, std::string_view name, named_mesh const& m, named_dims const& ruled,
                           int max_lines) {
  typename Sheet::line_text head;
  append(head, name, " on ");
  append_mesh(head, m);
  s.heading(head.view().substr(0, head.size() - 1));
  for (int d = 0; d < ruled.count; ++d) {
    typename Sheet::line_text words;
    append_split(words, m, ruled, d, longest_name(ruled));
    s.line_of_text(words.view().substr(2, words.size() - 3), d);
  }
  s.line_of_text(ruled.count == 0 ? "every dimension is whole on every process"
                                  : "every other dimension is whole on every process");
  draw_mesh(s, m, ruled, max_lines);
}

// ---- the communication of a step

/// "all_reduce over cols: einsum, meshtf_plan.cpp:66, 2 calls".
template<class Words>
constexpr Words words_of(call_group const& g, named_mesh const& m) {
  Words words;
  append(words, to_string(g.first.kind), " over ");
  append_axes(words, m, g.first.over);
  words += ": ";
  if (g.first.site.operation[0] == '\0') words += "outside of operations";
  else words += site_text(g.first.site);
  words += ", ";
  append_count(words, g.calls, "call", "calls");
  return words;
}

/// The calls of a step, those that send most first.
template<class Cost, class Groups = call_groups>
constexpr Groups sorted_groups(Cost const& c) {
  Groups groups;
  c.for_each_collective([&](collective_call const& call, extent times) { groups.add(call, times); });
  for (std::size_t k = 0; k < groups.count; ++k) {
    std::size_t largest = k;
    for (std::size_t i = k + 1; i < groups.count; ++i)
      if (groups.group[i].sent > groups.group[largest].sent) largest = i;
    std::swap(groups.group[k], groups.group[largest]);
  }
  return groups;
}

/// The longest bar stands for `scale` bytes at least. `under` is said in the heading: the name of a layout.
template<class Sheet, class Cost>
constexpr void draw_messages(Sheet& s, Cost const& c, named_mesh const& m, extent scale = 0,
                             std::string_view under = {}) {
  constexpr std::size_t max_shown = 10;
  constexpr extent longest        = 560;
  typename Sheet::line_text head;
  append(head, "What one process sends", under.empty() ? "" : " under ", under, ": ",
         bytes_text(c.bytes_sent()), " in ");
  append_count(head, c.calls(), "call", "calls");
  s.heading(head);
  for (int a = 0; a < m.count(); ++a) {
    if (m.size(a) < 2) continue;
    typename Sheet::line_text words;
    append(words, "along ", m.axis(a), ": ", bytes_text(sent_along(c, a)));
    s.line_of_text(words, a);
  }
  call_groups const groups = sorted_groups(c);
  if (groups.count == 0) return;
  extent left_out       = 0;
  extent calls_left_out = groups.left_out;
  for (std::size_t k = max_shown; k < groups.count; ++k) {
    left_out += groups.group[k].sent;
    calls_left_out += groups.group[k].calls;
  }
  extent const largest = std::max(scale, groups.group[0].sent);
  s.y += 4;
  for (std::size_t k = 0; k < groups.count && k < max_shown; ++k) {
    call_group const& g = groups.group[k];
    s.line_of_text(words_of<typename Sheet::line_text>(g, m));
    extent const length = pixels_of(g.sent, largest, longest);
    s.y += 16;
    if (length > 0)
      s.bar(Sheet::edge, s.y - 4, length, std::countr_zero(static_cast<std::uint64_t>(g.first.over)));
    s.text(Sheet::edge + length + 6, s.y, bytes_text(g.sent));
    s.y += 4;
  }
  if (calls_left_out > 0) {
    typename Sheet::line_text rest{"and "};
    append_count(rest, calls_left_out, "more call", "more calls");
    append(rest, ", ", bytes_text(left_out));
    s.line_of_text(rest);
  }
  s.axis(Sheet::edge, longest, largest, bytes_text,
         "bytes sent by one process; the colour is that of the call's first axis");
}

// ---- the memory of a step

/// The highest point stands for `scale` bytes at least, and so does the longest bar.
template<class Sheet, class Cost>
constexpr void draw_memory(Sheet& s, Cost const& c, extent scale = 0, std::string_view under = {}) {
  constexpr extent left            = 104;
  constexpr extent wide            = 560;
  constexpr extent high            = 150;
  constexpr std::size_t max_points = 200;
  typename Sheet::line_text head;
  append(head, "What one process holds", under.empty() ? "" : " under ", under, ": ",
         bytes_text(c.peak_bytes()), " at the peak");
  s.heading(head);

  auto const peaks = c.local_peaks();
  if (std::size_t const n = peaks.size(); n > 1 && c.peak_bytes() > 0) {
    std::size_t const points = std::min(n, max_points);
    std::size_t highest      = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (peaks[i].live > peaks[highest].live) highest = i;
    typename Sheet::line_text words{"highest at number "};
    append(words, thousands_text(static_cast<extent>(highest) + 1), ": ",
           highest == 0 ? fixed_text<255>{"the start"} : site_text(peaks[highest].site));
    s.line_of_text(words);
    s.line_of_text("in the backward pass", 3);
    s.y += 16;

    extent const top     = s.y;
    extent const bottom  = top + high;
    extent const largest = std::max(scale, peaks[highest].live);
    s.text(left - 8, top + 9, bytes_text(largest), "e");
    s.text(left - 8, top + high / 2 + 4, bytes_text(largest / 2), "e");
    s.text(left - 8, bottom, "0 B", "e");
    s.out += "<path class=\"a";
    s.moved_to(left, bottom);
    for (std::size_t p = 0; p < points; ++p) {  // of the moments that share a point, the highest
      extent live = 0;
      for (std::size_t i = p * n / points; i < (p + 1) * n / points; ++i)
        live = std::max(live, peaks[i].live);
      s.number("V", bottom - pixels_of(live, largest, high));
      s.number("H", left + static_cast<extent>(p + 1) * wide / static_cast<extent>(points));
    }
    s.number("V", bottom);
    s.out += "z\"/>\n";
    s.y = bottom + 6;
    for (std::size_t i = 0; i < n;) {
      std::size_t end = i;
      while (end < n && peaks[end].site.backward == peaks[i].site.backward) ++end;
      auto const peak = [&](std::size_t k) {
        return left + static_cast<extent>(k) * wide / static_cast<extent>(n);
      };
      if (peaks[i].site.backward) s.bar(peak(i), s.y, std::max<extent>(1, peak(end) - peak(i)), 3);
      i = end;
    }
    s.widen(left + wide);
    s.axis(left, wide, static_cast<extent>(n), number_text,
           "moments at which memory is highest, in the order of the step");
  }

  if (c.at_peak().bytes() == 0) return;
  s.y += 8;
  s.line_of_text("What lives at the peak:");
  extent x = Sheet::edge;
  s.y += 16;
  for (std::size_t h = 0; h < kinds_of_holding; ++h)
    if (extent const bytes = c.at_peak().by_kind[h]; bytes > 0) {
      extent const length = pixels_of(bytes, std::max(scale, c.at_peak().bytes()), 560);
      s.bar(x, s.y - 4, length, static_cast<extent>(h));
      x += length;
    }
  for (std::size_t h = 0; h < kinds_of_holding; ++h)
    if (extent const bytes = c.at_peak().by_kind[h]; bytes > 0) {
      typename Sheet::line_text words;
      append(words, to_string(held_for{static_cast<std::uint8_t>(h)}), ": ", bytes_text(bytes), ", ",
             decimal_text(100 * static_cast<double>(bytes) / static_cast<double>(c.at_peak().bytes()), 0),
             " %");
      s.line_of_text(words, static_cast<extent>(h));
    }
  for (std::size_t k = 0; k < c.at_peak().sites && k < 6; ++k) {
    held_arrays const& held = c.at_peak().largest[k];
    typename Sheet::line_text words;
    append(words, bytes_text(held.bytes), " of ", to_string(held.what));
    if (held.site.operation[0] != '\0') append(words, ": ", site_text(held.site));
    s.line_of_text(words, static_cast<extent>(held.what));
  }
}

// ---- two layouts

/// Two costs, figure by figure. Each pair of bars has a scale of its own, since its figures have units of
/// their own.
template<class Sheet, class Cost>
constexpr void draw_two(Sheet& s, std::string_view first, Cost const& a, std::string_view second,
                        Cost const& b, named_mesh const& m) {
  constexpr extent longest = 480;
  typename Sheet::line_text head;
  append(head, "A step under ", first, " and under ", second, ", one process");
  s.heading(head);
  s.line_of_text(first, 0);
  s.line_of_text(second, 1);
  auto const pair = [&](std::string_view title, std::string_view name, extent x, extent y,
                        auto const& words) {
    if (x == 0 && y == 0) return;
    typename Sheet::line_text label;
    append(label, title, name);
    s.y += 4;
    s.line_of_text(label);
    for (int k = 0; k < 2; ++k) {
      extent const n      = k == 0 ? x : y;
      extent const length = pixels_of(n, std::max(x, y), longest);
      s.y += 16;
      if (length > 0) s.bar(Sheet::edge, s.y - 4, length, k);
      s.text(Sheet::edge + length + 6, s.y, words(n));
    }
  };
  auto const seconds = [](extent picoseconds) {
    return seconds_text(static_cast<double>(picoseconds) * 1e-12);
  };
  auto const time = [](Cost const& c) { return static_cast<extent>(c.time().total() * 1e12); };
  pair("modelled time", "", time(a), time(b), seconds);
  pair("flops of products", "", a.flops(), b.flops(), count_text);
  pair("memory at the peak", "", a.peak_bytes(), b.peak_bytes(), bytes_text);
  pair("parameters", "", a.parameter_bytes(), b.parameter_bytes(), bytes_text);
  pair("optimizer state", "", a.optimizer_bytes(), b.optimizer_bytes(), bytes_text);
  pair("sent", "", a.bytes_sent(), b.bytes_sent(), bytes_text);
  for (int k = 0; k < m.count(); ++k)
    pair("sent along ", m.axis(k), sent_along(a, k), sent_along(b, k), bytes_text);
  s.y += 4;
  s.line_of_text("each pair of bars has its own scale, from 0");
}

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
