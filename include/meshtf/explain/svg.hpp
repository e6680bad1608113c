// A picture in SVG that grows downwards: text, bars and legends, readable on light and on dark.
#pragma once

#include <array>
#include <string_view>

#include <meshtf/explain/words.hpp>

namespace meshtf {
inline namespace v0 {

/// A picture as text: a whole SVG document, in which nothing comes from outside.
using svg_text = fixed_text<65535>;

namespace detail {

/// A sheet is as wide as what is drawn on it, and as high. Lengths are pixels where it is shown at its own
/// size.
///
/// Colours are those of Okabe and Ito, which people tell apart who don't see red and green. There are six,
/// and what is drawn is also named. Letters have equal widths, since nobody knows here how wide a word of
/// another font is.
///
/// A template, so that programs that draw nothing pay nothing for it but reading it.
template<class Text>
struct svg_sheet {
  /// A little more than the widest of the usual fonts with letters of equal widths takes at 13 pixels.
  static constexpr extent letter  = 8;
  static constexpr extent line    = 20;
  static constexpr extent edge    = 16;
  static constexpr extent colours = 6;

  using line_text = fixed_text<511>;

  Text out{};
  extent width         = 480;
  extent y             = edge;  // down to here the sheet is full
  std::size_t size_at_ = 0;     // where the document says its size

  constexpr explicit svg_sheet(std::string_view title, std::string_view attributes = {}) {
    out +=
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"monospace\" font-size=\"13\"";
    out += attributes;
    out += " viewBox=\"0 0 ";
    size_at_ = out.size();
    out += "                \">\n<title>";
    escape(title);
    out +=
        "</title>\n<style>\n"
        "svg{background:#fff}text{fill:#1b1d21}.h{font-weight:bold}"
        ".e{text-anchor:end}.m{text-anchor:middle}\n"
        "path{fill:none;stroke:#5f6670}.t{stroke:#dde1e6}.t,.b{stroke-width:8}"
        ".a{fill:#56b4e9;fill-opacity:.4;stroke:#0072b2}\n"
        ".c0{stroke:#0072b2}.c1{stroke:#e69f00}.c2{stroke:#009e73}.c3{stroke:#d55e00}"
        ".c4{stroke:#cc79a7}.c5{stroke:#56b4e9}\n"
        "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e8eb}"
        "path{stroke:#9aa1ab}.t{stroke:#3a3f47}\n"
        ".a{stroke:#56b4e9}.c0{stroke:#3d9bdc}.c1{stroke:#e69f00}.c2{stroke:#00b886}"
        ".c3{stroke:#ee7733}.c4{stroke:#cc79a7}.c5{stroke:#9ad3f5}}\n"
        "</style>\n";
  }

  /// The document.
  constexpr Text finished() {
    fill_in(size_at_, number_text(width));
    fill_in(size_at_ + number_text(width).size() + 1, number_text(y + edge));
    out += "</svg>\n";
    return out;
  }

  /// A word that is known late, in the place of blanks.
  constexpr void fill_in(std::size_t position, std::string_view word) {
    std::copy(word.begin(), word.end(), out.characters + position);
  }

  constexpr void widen(extent to) { width = std::max(width, to + edge); }

  /// What has a meaning of its own in SVG is written in another way.
  constexpr void escape(std::string_view words) {
    for (char c : words) switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        default: out += c;
      }
  }
  constexpr void number(std::string_view before, extent n) {
    out += before;
    out += number_text(n);
  }

  /// Words with their lower left corner there; class `e` ends there instead, and `m` has its middle there.
  constexpr void text(extent x, extent baseline, std::string_view words, std::string_view kind = {}) {
    number("<text x=\"", x);
    number("\" y=\"", baseline);
    if (!kind.empty()) (out += "\" class=\"") += kind;
    out += "\">";
    escape(words);
    out += "</text>\n";
    widen(x + (kind == "e" ? 0 : static_cast<extent>(words.size()) * letter));
  }
  /// A line of text below everything else, after a mark in a colour if `colour` is one.
  constexpr void line_of_text(std::string_view words, extent colour = -1, std::string_view kind = {}) {
    y += line;
    if (colour >= 0) bar(edge, y - 4, 12, colour);
    text(colour >= 0 ? edge + 20 : edge, y, words, kind);
  }
  constexpr void heading(std::string_view words) {
    if (y > edge) y += line;
    line_of_text(words, -1, "h");
    y += 4;
  }

  /// A bar of 8 pixels' height to the right of `x`, around the height `at`.
  constexpr void bar(extent x, extent left_edge, extent length, extent colour) {
    number("<path class=\"b c", colour % colours);
    moved_to(x, left_edge);
    number("h", length);
    out += "\"/>\n";
    widen(x + length);
  }
  /// The whole of which a bar shows a part.
  constexpr void track(extent x, extent left_edge, extent length) {
    out += "<path class=\"t";
    moved_to(x, left_edge);
    number("h", length);
    out += "\"/>\n";
    widen(x + length);
  }
  constexpr void box(extent x, extent top, extent wide, extent high) {
    out += "<path class=\"";
    moved_to(x, top);
    number("h", wide);
    number("v", high);
    number("h", -wide);
    out += "z\"/>\n";
    widen(x + wide);
  }
  constexpr void moved_to(extent x, extent left_edge) {
    number("\" d=\"M", x);
    number(" ", left_edge);
  }

  /// An axis to the right below everything else, from 0 to `largest`: a line, marks at its ends and its
  /// middle with their values, and what they count.
  template<class Words>
  constexpr void axis(extent x, extent length, extent largest, Words const& words, std::string_view label) {
    y += 12;
    out += "<path class=\"";
    moved_to(x, y + 4);
    number("v-4h", length);
    number("v4m", -length / 2);
    out += " 0v-4\"/>\n";
    y += line;
    text(x, y, words(extent{0}));
    text(x + length / 2, y, words(largest / 2), "m");
    text(x + length, y, words(largest), "e");
    line_of_text(label);
  }
};

/// A sheet of two columns. In a page that is narrow and has room below, as on a telephone, the parts are
/// drawn twice as large, one below the other. In a picture of fixed height they stay side by side: there is
/// no room below, which is what the aspect ratio is asked for. The sheet needs the class `columns`, and to be
/// drawn at the upper left.
template<class Sheet>
struct svg_columns {
  struct part {
    extent column         = 0;
    extent top            = 0;
    extent bottom         = 0;
    std::size_t offset_at = 0;  // where the document says how far to the right it is
  };

  Sheet& sheet;
  std::array<part, 8> parts{};
  std::size_t count = 0;

  /// What `picture` draws below everything else, or, in column 1, next to the part before it.
  template<class Picture>
  constexpr void draw(extent column, Picture const& picture) {
    part& p            = parts[count];
    extent const full  = sheet.y;
    extent const above = column == 0 ? full : parts[count - 1].top;
    sheet.number("<g class=\"part", extent(count++));
    sheet.out += "\" transform=\"translate(";
    p.offset_at = sheet.out.size();
    sheet.out += "        )\">\n";
    p.column = column;
    p.top = sheet.y = above;
    picture();
    sheet.out += "</g>\n";
    p.bottom = sheet.y;
    sheet.y  = std::max(sheet.y, full);
  }

  constexpr void finish() {
    extent const wide = sheet.width;
    extent const high = sheet.y + Sheet::edge;
    auto const height = [](part const& p) { return p.bottom - p.top + Sheet::line; };
    extent below      = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sheet.fill_in(parts[i].offset_at, number_text(parts[i].column * wide));
      below += height(parts[i]);
    }
    sheet.width = 2 * wide;
    sheet.number("<style>@media(max-width:800px) and (max-aspect-ratio:", 4 * sheet.width);
    sheet.number("/", 5 * high);
    sheet.number("){svg.columns{width:100%;height:auto;aspect-ratio:", wide);
    sheet.number("/", below + 2 * Sheet::edge);
    sheet.out += "}";
    extent y = Sheet::edge;
    for (std::size_t i = 0; i < count; ++i) {
      sheet.number(".part", extent(i));
      sheet.number("{transform:translate(0,", 2 * (y - parts[i].top));
      sheet.out += "px) scale(2)}";
      y += height(parts[i]);
    }
    sheet.out += "}</style>\n";
  }
};

/// `length` pixels stand for `largest`: those that stand for n, at least one if there is any.
constexpr extent pixels_of(extent n, extent largest, extent length) {
  if (n <= 0 || largest <= 0) return 0;
  return std::max<extent>(1, static_cast<extent>(static_cast<double>(n) / static_cast<double>(largest) *
                                                 static_cast<double>(length)));
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
