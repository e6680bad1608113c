// A layout on its mesh, drawn on a sheet of SVG: who holds what.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <meshtf/explain/explain_layout.hpp>
#include <meshtf/explain/picture.hpp>
#include <meshtf/explain/svg.hpp>
#include <meshtf/explain/words.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

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

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
