// A cost in words: its figures, its most expensive collectives, and what lives at its peak.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <meshtf/core/name.hpp>
#include <meshtf/core/text.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// "rows cols", as the communicator is named.
template<class... A>
constexpr fixed_text<255> axes_text(axes<A...>, axis_set over) {
  fixed_text<255> out;
  int number                      = 0;
  [[maybe_unused]] auto const put = [&](std::string_view name) {  // a mesh may have no axes
    if ((over >> number++ & 1) == 0) return;
    if (!out.empty()) out += ' ';
    out += name;
  };
  (put(name_of<A>()), ...);
  return out;
}

}  // namespace detail

/// Calls of one kind over the same axes from one call site.
struct collective_sum {
  call_site site{};
  collective kind{};
  axis_set over = 0;
  extent calls  = 0;
  extent sent   = 0;
};

/// The collectives of a cost by call site, at most `Max` of them, those that send most first.
template<std::size_t Max, Mesh M, std::size_t Capacity>
constexpr auto most_expensive(cost<M, Capacity> const& c) {
  struct {
    std::array<collective_sum, Max> sums{};
    std::size_t count = 0;
    constexpr auto begin() const { return sums.begin(); }
    constexpr auto end() const { return sums.begin() + static_cast<std::ptrdiff_t>(count); }
  } found;
  std::array<collective_sum, 256> all{};
  std::size_t count = 0;
  c.for_each_collective([&](collective_call const& call, extent times) {
    std::size_t i = 0;
    while (i < count && !(all[i].kind == call.kind && all[i].over == call.over && all[i].site == call.site))
      ++i;
    if (i == all.size()) --i;  // if a program has too many call sites, the last ones are added up
    if (i == count) all[count++] = {call.site, call.kind, call.over, 0, 0};
    all[i].calls += times;
    all[i].sent += times * call.sent;
  });
  for (; found.count < Max && found.count < count; ++found.count) {
    std::size_t largest = found.count;
    for (std::size_t i = largest + 1; i < count; ++i)
      if (all[i].sent > all[largest].sent) largest = i;
    std::swap(all[found.count], all[largest]);
    found.sums[found.count] = all[found.count];
  }
  return found;
}

/// The figures of one process as a table in plain text.
template<Mesh M, std::size_t Capacity>
constexpr auto cost_text(cost<M, Capacity> const& c) {
  fixed_text<8191> out;
  auto const figure = [&out](std::string_view name, std::string_view value) {
    out += left_column(name, 22);
    out += right_column(value, 12);
    out += '\n';
  };
  figure("calls", thousands_text(c.calls()));
  figure("bytes sent", bytes_text(c.bytes_sent()));
  [&]<class... A>(axes<A...>) {
    auto const axis = [&](std::string_view name, extent bytes) {
      fixed_text<127> label{"  along "};
      label += name;
      figure(label, bytes_text(bytes));
    };
    (axis(name_of<A>(), c.template bytes_sent<A>()), ...);
  }(typename M::all_axes{});
  figure("flops", count_text(c.flops()));
  figure("elementwise flops", count_text(c.elementwise_flops()));
  figure("bytes touched", bytes_text(c.bytes_touched()));
  figure("parameters", bytes_text(c.parameter_bytes()));
  figure("optimizer state", bytes_text(c.optimizer_bytes()));
  figure("peak", bytes_text(c.peak_bytes()));
  if (c.bytes_spilled() > 0) figure("bytes spilled", bytes_text(c.bytes_spilled()));

  if (c.calls() > 0) {
    out += "\nwhat sends most            over             calls        bytes\n";
    for (collective_sum const& s : most_expensive<8>(c)) {
      out += left_column(to_string(s.kind), 15);
      out += left_column("", 12);
      out += left_column(detail::axes_text(typename M::all_axes{}, s.over), 14);
      out += right_column(thousands_text(s.calls), 8);
      out += right_column(bytes_text(s.sent), 13);
      // no blanks at the end of a line
      if (auto const site = detail::site_text(s.site); !site.empty()) (out += "  ") += site;
      out += '\n';
    }
  }
  held_at_peak const& held = c.at_peak();
  if (held.sites > 0) {
    out += "\nalive at the peak          arrays        bytes\n";
    for (std::size_t k = 0; k < kinds_of_holding; ++k)
      if (held.by_kind[k] != 0) {
        out += left_column(to_string(static_cast<held_for>(k)), 33);
        out += right_column(bytes_text(held.by_kind[k]), 13);
        out += '\n';
      }
    out += "of these, by call site\n";
    for (std::size_t i = 0; i < held.sites; ++i) {
      held_arrays const& h = held.largest[i];
      out += left_column(to_string(h.what), 25);
      out += right_column(thousands_text(h.arrays), 8);
      out += right_column(bytes_text(h.bytes), 13);
      if (auto const site = detail::site_text(h.site); !site.empty()) (out += "  ") += site;
      out += '\n';
    }
  }
  return out;
}

}  // namespace v0
}  // namespace meshtf
