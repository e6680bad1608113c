// The cost of a step, drawn on a sheet of SVG: its communication, its memory, and two costs side by side.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <meshtf/explain/explain_cost.hpp>
#include <meshtf/explain/svg.hpp>
#include <meshtf/explain/words.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

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

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
