// A training as one page in HTML, which needs nothing from outside: the losses, the layouts side by side,
// where the time went, and a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// What there is to show. One process collects it and writes it.
struct report {
  struct point {
    long step;
    double bits;  // per character
  };
  struct bar {
    std::string name;
    double length;      // in the unit of its chart
    std::string words;  // the same, with its unit
  };
  struct chart {
    std::string title;
    std::vector<bar> bars;
  };

  std::string title;
  std::vector<point> training;
  std::vector<point> held_out;
  std::string note;  // below the curves
  std::vector<chart> layouts;
  chart time;
  std::string sample;

  /// False if the file could not be written, all of it.
  bool write(std::string const& file) const {
    std::ofstream out{file, std::ios::binary};
    out << page() << std::flush;
    return static_cast<bool>(out);
  }

  std::string page() const {
    std::string text =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width\">\n<title>" +
        escaped(title) + "</title>\n" + style + "<h1>" + escaped(title) + "</h1>\n";
    text += "<h2>Bits per character</h2>\n" + curves();
    if (!note.empty()) text += "<p>" + escaped(note) + "</p>\n";
    if (!layouts.empty())
      text +=
          "<h2>The layouts, side by side</h2>\n<p>The first steps of the same training under each of them, "
          "of one process.</p>\n";
    for (chart const& c : layouts) text += drawn(c);
    if (!time.bars.empty()) text += "<h2>Where the time went</h2>\n" + drawn(time);
    if (!sample.empty()) text += "<h2>What the model writes</h2>\n<pre>" + escaped(sample) + "</pre>\n";
    return text + "</html>\n";
  }

private:
  // Colours that are told apart without red and green: Okabe and Ito's.
  static constexpr char const* style = R"(<style>
:root{color-scheme:light dark;--ink:#1b1d21;--paper:#fff;--line:#5f6670;--track:#e4e7eb;--one:#0072b2;--two:#d55e00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#16181c;--line:#9aa1ab;--track:#3a3f47;--one:#56b4e9;--two:#ee7733}}
body{font:15px/1.4 sans-serif;color:var(--ink);background:var(--paper);max-width:52em;margin:0 auto;padding:1em;overflow-wrap:anywhere}
h1{font-size:1.4em}h2{font-size:1.15em;margin-top:2em}h3{font-size:1em;margin-bottom:.3em}
pre{white-space:pre-wrap;font-size:14px}svg{display:block;width:100%;max-width:640px;font-size:13px}
text{fill:var(--ink)}.e{text-anchor:end}.m{text-anchor:middle}path{fill:none;stroke:var(--line)}
.one{stroke:var(--one);stroke-width:2}.two{stroke:var(--two);stroke-width:2}
.bars{display:grid;grid-template-columns:max-content minmax(3em,1fr) max-content;gap:.2em .8em;align-items:center}
.bars i{height:.8em;background:var(--track)}.bars b{display:block;height:100%;background:var(--one)}.bars>:nth-child(3n){text-align:right}
.wide{grid-template-columns:minmax(3em,1fr) max-content}.wide>:nth-child(3n+1){grid-column:1/3;margin-top:.4em}
</style>
)";

  static std::string escaped(std::string_view words) {
    std::string text;
    for (char c : words) switch (c) {
        case '&': text += "&amp;"; break;
        case '<': text += "&lt;"; break;
        case '>': text += "&gt;"; break;
        default: text += c;
      }
    return text;
  }
  static std::string number(double x, int decimals) {
    // printf would write the comma of some locales, which CSS and SVG don't know
    return std::string{meshtf::decimal_text(x, decimals).view()};
  }

  static std::string drawn(chart const& c) {
    double longest     = 0;
    std::size_t widest = 0;
    for (bar const& b : c.bars) {
      longest = std::max(longest, b.length);
      widest  = std::max(widest, b.name.size());
    }
    std::string text =
        "<h3>" + escaped(c.title) + "</h3>\n<div class=\"bars" + (widest > 14 ? " wide" : "") + "\">\n";
    for (bar const& b : c.bars)
      text += "<span>" + escaped(b.name) +
              "</span><i><b style=\"width:" + number(longest > 0 ? 100 * b.length / longest : 0, 1) +
              "%\"></b></i><span>" + escaped(b.words) + "</span>\n";
    return text + "</div>\n";
  }

  /// Both losses over the steps.
  std::string curves() const {
    constexpr double left   = 44;
    constexpr double right  = 470;
    constexpr double top    = 34;
    constexpr double bottom = 220;
    double most             = 0;
    double least            = 1e9;
    long steps              = 1;
    for (auto const* curve : {&training, &held_out})
      for (point const& p : *curve) {
        if (!std::isfinite(p.bits)) continue;
        most  = std::max(most, p.bits);
        least = std::min(least, p.bits);
        steps = std::max(steps, p.step);
      }
    if (most < least) return "<p>No step has a finite loss.</p>\n";
    double grid = 0.1;
    if (most - least > 4) grid = 1;
    else if (most - least > 1) grid = 0.5;
    double const low  = std::floor(least / grid) * grid;
    double const high = std::max(low + grid, std::ceil(most / grid) * grid);
    auto const x      = [&](long step) {
      return left + (right - left) * static_cast<double>(step) / static_cast<double>(steps);
    };
    auto const y     = [&](double bits) { return bottom - (bottom - top) * (bits - low) / (high - low); };
    auto const words = [](double at_x, double at_y, std::string const& what, char const* kind) {
      return "<text class=\"" + std::string{kind} + "\" x=\"" + number(at_x, 0) + "\" y=\"" +
             number(at_y, 0) + "\">" + what + "</text>\n";
    };
    auto const path = [&](std::vector<point> const& curve, char const* kind) {
      std::string text = "<path class=\"" + std::string{kind} + "\" d=\"";
      char next        = 'M';
      for (point const& p : curve) {
        if (!std::isfinite(p.bits)) continue;
        text += next + number(x(p.step), 1) + " " + number(y(p.bits), 1);
        next = 'L';
      }
      return text + "\"/>\n";
    };

    std::string text =
        "<svg viewBox=\"0 0 480 264\" role=\"img\">\n<title>Bits per character over the steps</title>\n";
    text += "<path class=\"one\" d=\"M44 12h20\"/>\n" + words(70, 16, "training", "");
    if (!held_out.empty())
      text += "<path class=\"two\" d=\"M160 12h20\"/>\n" + words(186, 16, "held out", "");
    text += "<path d=\"M" + number(left, 0) + " " + number(top, 0) + "V" + number(bottom, 0) + "H" +
            number(right, 0) + "\"/>\n";
    int const lines = static_cast<int>(std::lround((high - low) / grid));
    int const every = (lines + 5) / 6;
    for (int i = 0; i <= lines; i += every) {
      double const bits = low + i * grid;
      text += "<path d=\"M" + number(left - 4, 0) + " " + number(y(bits), 1) + "h4\"/>\n" +
              words(left - 8, y(bits) + 4, number(bits, 1), "e");
    }
    text += words(left, bottom + 18, "0", "m") +
            words((left + right) / 2, bottom + 18,
                  number(static_cast<double>(steps) / 2, steps % 2 == 0 ? 0 : 1), "m") +
            words(right, bottom + 18, std::to_string(steps), "e") +
            words((left + right) / 2, bottom + 38, "steps", "m");
    return text + path(training, "one") + path(held_out, "two") + "</svg>\n";
  }
};
