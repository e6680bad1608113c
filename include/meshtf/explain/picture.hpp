// Pictures: who holds what, as a grid of processes in the terminal.
#pragma once

#include <meshtf/explain/words.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Coordinates of a process, by the number of the axis.
using coordinates = std::array<extent, max_axes>;

/// The number of the part of `d` that the process at `at` holds, from 0.
constexpr extent part_at(placed const& d, named_mesh const& m, coordinates const& place) {
  extent part = 0;
  for (int axis : d.over) part = part * m.size(axis) + place[static_cast<std::size_t>(axis)];
  return part;
}

/// "batch 0-255": the elements of dimension `d` that the process at `at` holds, or "nothing of batch".
constexpr short_text range_at(named_dims const& dims, int d, named_mesh const& m, coordinates const& place) {
  extent const part  = part_at(dims[d], m, place);
  extent const first = part * dims[d].allocated_extent();
  extent const last  = first + dims[d].local_extent(part) - 1;
  short_text text;
  if (last < first) text += "nothing of ";
  text += dims.name(d).substr(0, 24);
  if (last < first) return text;
  text += ' ';
  text += number_text(first);
  if (last != first) {
    text += '-';
    text += number_text(last);
  }
  return text;
}

/// The axes `over` of a mesh as rows and columns: the last axis across, all others down.
struct drawing {
  named_mesh const& mesh;
  named_dims const& dims;  // each split dimension is a line of a cell
  axis_set over;
  bool ranks;  // the first line of a cell is the rank

  /// At most this many rows or columns are drawn: the first ones, and the last.
  static constexpr extent max_rows    = 8;
  static constexpr extent max_columns = 6;
  static constexpr std::size_t widest = 110;

  constexpr int across() const {
    return std::popcount(over) < 2 ? -1 : static_cast<int>(std::bit_width(over)) - 1;
  }
  constexpr axis_set down() const { return across() < 0 ? over : over & ~(axis_set{1} << across()); }
  constexpr extent columns() const { return across() < 0 ? 1 : mesh.size(across()); }
  constexpr extent rows() const { return mesh.processes(down()); }

  constexpr coordinates at(extent row, extent column) const {
    coordinates c{};
    for (int a = mesh.count(); a-- > 0;)
      if (among(down(), a)) {
        c[static_cast<std::size_t>(a)] = row % mesh.size(a);
        row /= mesh.size(a);
      }
    if (across() >= 0) c[static_cast<std::size_t>(across())] = column;
    return c;
  }

  constexpr bool is_line(int d) const { return (dims[d].over.set() & over) != 0; }

  constexpr int lines() const {
    int n = ranks ? 1 : 0;
    for (int d = 0; d < dims.count; ++d) n += is_line(d) ? 1 : 0;
    return n;
  }

  /// One line of the cell of a process.
  constexpr short_text line(int n, coordinates const& c) const {
    if (ranks && n-- == 0) {
      extent rank = 0;
      for (int a = 0; a < mesh.count(); ++a) rank = rank * mesh.size(a) + c[static_cast<std::size_t>(a)];
      short_text text{"rank "};
      return text += number_text(rank);
    }
    for (int d = 0; d < dims.count; ++d)
      if (is_line(d) && n-- == 0) return range_at(dims, d, mesh, c);
    return {};
  }

  /// "pods 0, rows 1": the coordinates along `some` axes.
  constexpr short_text place(axis_set some, coordinates const& c) const {
    short_text text;
    for (int a = 0; a < mesh.count(); ++a)
      if (among(some, a)) {
        if (!text.empty()) text += ", ";
        text += mesh.axis(a).substr(0, 12);
        text += ' ';
        text += number_text(c[static_cast<std::size_t>(a)]);
      }
    return text;
  }

  /// Which rows or columns are drawn: all, or the first ones, a gap (-1), and the last.
  struct selection {
    std::array<extent, 16> index{};
    std::size_t count = 0;
  };
  static constexpr selection select(extent all, extent limit) {
    selection s;
    for (extent i = 0; i < all; ++i) {
      if (all > limit && i == limit - 2) {
        s.index[s.count++] = -1;
        i                  = all - 1;
      }
      s.index[s.count++] = i;
    }
    return s;
  }

  template<class Text>
  constexpr void append(Text& out) const {
    selection const down_to = select(rows(), max_rows);
    std::size_t margin      = 0;
    std::size_t width       = 0;
    auto const widen        = [](std::size_t& w, std::size_t to) { w = w < to ? to : w; };
    selection columns_drawn = select(columns(), max_columns);
    for (std::size_t i = 0; i < down_to.count; ++i) {
      if (down_to.index[i] < 0) continue;
      widen(margin, place(down(), at(down_to.index[i], 0)).size());
      for (std::size_t k = 0; k < columns_drawn.count; ++k) {
        if (columns_drawn.index[k] < 0) continue;
        coordinates const c = at(down_to.index[i], columns_drawn.index[k]);
        if (across() >= 0) widen(width, place(axis_set{1} << across(), c).size());
        for (int n = 0; n < lines(); ++n) widen(width, line(n, c).size());
      }
    }
    extent fit = static_cast<extent>((widest - margin) / (width + 3));
    if (fit < 3) fit = 3;
    if (columns() > fit) columns_drawn = select(columns(), fit < max_columns ? fit : max_columns);

    auto const rule = [&] {
      out.fill(margin + 3, ' ');
      for (std::size_t k = 0; k < columns_drawn.count; ++k) {
        out += '+';
        out.fill(columns_drawn.index[k] < 0 ? 5 : width + 2, '-');
      }
      out += "+\n";
    };
    if (across() >= 0) {
      out.fill(margin + 3, ' ');
      for (std::size_t k = 0; k < columns_drawn.count; ++k) {
        bool const gap = columns_drawn.index[k] < 0;
        bool const end = k + 1 == columns_drawn.count;
        short_text const head =
            gap ? short_text{"..."} : place(axis_set{1} << across(), at(0, columns_drawn.index[k]));
        out += "  ";
        out += head;
        if (!end) out.fill((gap ? 4 : width + 1) - head.size(), ' ');
      }
      out += '\n';
    }
    rule();
    for (std::size_t i = 0; i < down_to.count; ++i) {
      if (down_to.index[i] < 0) {
        out += "  ...\n";
        if (lines() > 1) rule();
        continue;
      }
      for (int n = 0; n < lines(); ++n) {
        out += "  ";
        append_padded(out, n == 0 ? place(down(), at(down_to.index[i], 0)).view() : std::string_view{},
                      margin);
        out += ' ';
        for (std::size_t k = 0; k < columns_drawn.count; ++k) {
          bool const gap = columns_drawn.index[k] < 0;
          out += "| ";
          append_padded(
              out,
              gap ? std::string_view{"..."} : line(n, at(down_to.index[i], columns_drawn.index[k])).view(),
              gap ? 3 : width);
          out += ' ';
        }
        out += "|\n";
      }
      if (lines() > 1) rule();
    }
    if (lines() < 2) rule();
  }
};

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
