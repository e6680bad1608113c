// explain_schedule: what each stage of a pipeline does at which time and when it waits, as text and as a
// picture in SVG.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <meshtf/explain/svg.hpp>
#include <meshtf/plan/schedule.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// A schedule that is drawn, of any number of stages and micro-batches.
struct named_schedule {
  struct timed_pass {
    stage_pass pass{};
    int ended_at = 0;
  };

  /// Stages times ticks, and passes of all stages: more would not fit into a text and into a picture. (A
  /// schedule repeats itself, so fewer micro-batches show the same.)
  static constexpr int max_cells  = 1600;
  static constexpr int max_passes = 1024;

  std::string_view name{};
  int stages        = 0;
  int micro_batches = 0;
  int ticks         = 0;
  std::array<timed_pass, max_passes> passes{};  // those of stage 0 first, each in the order of its turns
  std::array<int, max_passes / 2> max_held{};   // by stage, which has two passes at least

  constexpr timed_pass const& at(int stage, int turn) const {
    return passes[static_cast<std::size_t>(stage * 2 * micro_batches + turn)];
  }
  constexpr int held_by(int stage) const { return max_held[static_cast<std::size_t>(stage)]; }
  constexpr std::size_t digits() const { return number_text(micro_batches - 1).size(); }
};

template<class S, int K, int M, class InFlight>
inline constexpr bool can_be_drawn = K * run_of<S, K, M, InFlight>.ticks <= named_schedule::max_cells &&
                                     2 * K * M <= named_schedule::max_passes;

template<class S, int K, int M, class InFlight>
inline constexpr named_schedule named_schedule_of = [] {
  auto const table     = S::template table<K, M>();
  auto const& run      = run_of<S, K, M, InFlight>;
  named_schedule drawn = {.name = name<S>, .stages = K, .micro_batches = M, .ticks = run.ticks};
  for (int k = 0; k < K; ++k) {
    auto const stage      = static_cast<std::size_t>(k);
    drawn.max_held[stage] = run.max_held[stage];
    for (int turn = 0; turn < 2 * M; ++turn)
      drawn.passes[static_cast<std::size_t>(k * 2 * M + turn)] = {
          table.at(k, turn), run.ended_at[stage][static_cast<std::size_t>(turn)]};
  }
  return drawn;
}();

/// "gpipe, 4 stages, 8 micro-batches: 22 ticks, bubble 27.3 %". The bubble is the share of time in which a
/// stage waits, the mean of all stages.
template<class Text>
constexpr void append_caption(Text& out, named_schedule const& s) {
  append(out, s.name, ", ");
  append_count(out, s.stages, "stage", "stages");
  out += ", ";
  append_count(out, s.micro_batches, "micro-batch", "micro-batches");
  out += ": ";
  append_count(out, s.ticks, "tick", "ticks");
  double const busy = 2.0 * s.micro_batches / s.ticks;
  append(out, ", bubble ", decimal_text(100 * (1 - busy), 1), " %");
}

/// "stage 3".
constexpr short_text stage_name(int stage) {
  short_text text{"stage "};
  return text += number_text(stage);
}

template<class Text>
constexpr void append_schedule(Text& out, named_schedule const& s) {
  append_caption(out, s);
  out += '\n';
  std::size_t const width  = 1 + s.digits();
  std::size_t const margin = stage_name(s.stages - 1).size();
  for (int k = 0; k < s.stages; ++k) {
    append_padded(out, stage_name(k), margin);
    out += ' ';
    int turn = 0;
    for (int tick = 1; tick <= s.ticks; ++tick) {
      short_text cell{"."};
      if (turn < 2 * s.micro_batches && s.at(k, turn).ended_at == tick) {
        stage_pass const p = s.at(k, turn++).pass;
        cell               = p.way == stage_pass::direction::forward ? "F" : "B";
        cell += number_text(p.micro_batch);
      }
      out += ' ';
      append_padded(out, cell, width);
    }
    append(out, "  holds ", number_text(s.held_by(k)), "\n");
  }
}

template<class S, int K, int M, class InFlight>
struct page_of_schedule {
  static constexpr void write(page& out) {
    if constexpr (runs<S, K, M, InFlight> && can_be_drawn<S, K, M, InFlight>)
      append_schedule(out, named_schedule_of<S, K, M, InFlight>);
  }
};

/// The class of a cell and of the number on it. (`b` is that of bars.)
constexpr std::string_view drawn_as(stage_pass::direction way) {
  return way == stage_pass::direction::forward ? "f" : "r";
}

/// The row of a stage around the height `middle`: its passes of each direction are one path, since a path for
/// each would take more text than the picture has. Cells are two pixels apart.
template<class Sheet>
constexpr void draw_passes(Sheet& s, named_schedule const& of, int stage, extent left, extent middle,
                           extent tick) {
  using direction = stage_pass::direction;
  auto const x    = [&](int turn) { return left + (of.at(stage, turn).ended_at - 1) * tick; };
  for (direction way : {direction::forward, direction::backward}) {
    append(s.out, "<path class=\"", drawn_as(way), "\" d=\"");
    for (int turn = 0; turn < 2 * of.micro_batches; ++turn) {
      if (of.at(stage, turn).pass.way != way) continue;
      s.number("M", x(turn) + 1);
      s.number(" ", middle);
      s.number("h", tick - 2);
    }
    s.out += "\"/>\n";
  }
  for (int turn = 0; turn < 2 * of.micro_batches; ++turn) {
    stage_pass const p = of.at(stage, turn).pass;
    s.text(x(turn) + tick / 2, middle + 5, number_text(p.micro_batch), drawn_as(p.way));
  }
}

/// Stages below each other and time to the right; where a stage waits, nothing is drawn.
template<class Sheet>
constexpr void draw_schedule(Sheet& s, named_schedule const& of) {
  constexpr extent high = 28;  // of a row
  extent const tick     = std::max<extent>(24, static_cast<extent>(of.digits()) * Sheet::letter + 8);
  extent const names    = static_cast<extent>(stage_name(of.stages - 1).size()) * Sheet::letter;
  extent const left     = Sheet::edge + names + 8;
  extent const length   = of.ticks * tick;
  // The same on light and on dark: a number is read on its cell, not on the page.
  s.out +=
      "<style>path.f,path.r{stroke-width:24}text.f,text.r{text-anchor:middle}\n"
      "path.f{stroke:#0072b2}text.f{fill:#fff}path.r{stroke:#e69f00}text.r{fill:#1b1d21}</style>\n";
  typename Sheet::line_text head;
  append_caption(head, of);
  s.heading(head);
  auto const legend = [&](stage_pass::direction way, std::string_view words) {
    s.y += high;
    append(s.out, "<path class=\"", drawn_as(way));
    s.moved_to(Sheet::edge, s.y - 5);
    s.out += "h22\"/>\n";
    s.text(Sheet::edge + 11, s.y, "i", drawn_as(way));
    s.text(Sheet::edge + 32, s.y, words);
  };
  legend(stage_pass::direction::forward, "forward pass of micro-batch i");
  legend(stage_pass::direction::backward, "backward pass of micro-batch i");
  s.y += 20;
  for (int k = 0; k < of.stages; ++k) {
    extent const middle = s.y + high / 2;
    s.text(Sheet::edge, middle + 5, stage_name(k));
    draw_passes(s, of, k, left, middle, tick);
    short_text held{"holds "};
    s.text(left + length + 8, middle + 5, held += number_text(of.held_by(k)));
    s.y += high;
  }
  // The axis marks its middle, which of an odd number of ticks is half a one.
  auto const ticks_of = [](extent halves) {
    return decimal_text(static_cast<double>(halves) / 2, halves % 2 == 0 ? 0 : 1);
  };
  s.axis(left, length, 2 * extent{of.ticks}, ticks_of, "ticks: a pass takes one, a message no time");
  s.line_of_text("holds: the most micro-batches that are between their two passes on a stage");
}

}  // namespace detail

/// The schedule `S` of `K` stages and `M` micro-batches as text: a line for each stage with its passes, F
/// forward and B backward, a dot for each tick in which it waits, and the most micro-batches that it holds.
/// Each pass takes one tick and messages take none. A constant.
///
///     std::puts(meshtf::explain_schedule<meshtf::one_forward_one_backward, 4, 8>().c_str());
///
/// Errors: those of `schedule_verdict` if the schedule does not run. At most 1,600 ticks of all stages have
/// room, and 1,024 passes.
template<class S, int K, int M, class InFlight = in_flight<1>>
constexpr auto const& explain_schedule() {
  using verdict = schedule_verdict<S, K, M, InFlight>;
  static_assert(is_legal<verdict>, "meshtf: this schedule does not run");
  static_assert(!is_legal<verdict> || detail::can_be_drawn<S, K, M, InFlight>,
                "meshtf: a text has no room for these ticks and stages; fewer micro-batches show the "
                "same");
  return detail::kept_text<detail::page_of_schedule<S, K, M, InFlight>>;
}

/// The same as an SVG picture: a row for each stage, time to the right, and a cell for each pass with the
/// number of its micro-batch. Where a stage waits, the row is empty. The same text as a constant or at run
/// time:
///
///     constexpr auto picture = meshtf::explain_schedule_svg<meshtf::one_forward_one_backward, 4, 8>();
///
/// Errors: those of `schedule_verdict` if the schedule does not run. At most 1,600 ticks of all stages have
/// room, and 1,024 passes.
template<class S, int K, int M, class InFlight = in_flight<1>>
constexpr svg_text explain_schedule_svg() {
  using verdict = schedule_verdict<S, K, M, InFlight>;
  static_assert(is_legal<verdict>, "meshtf: this schedule does not run");
  static_assert(!is_legal<verdict> || detail::can_be_drawn<S, K, M, InFlight>,
                "meshtf: a picture has no room for these ticks and stages; fewer micro-batches show "
                "the same");
  if constexpr (runs<S, K, M, InFlight> && detail::can_be_drawn<S, K, M, InFlight>) {
    detail::svg_sheet<svg_text> sheet{detail::name<S>};
    detail::draw_schedule(sheet, detail::named_schedule_of<S, K, M, InFlight>);
    return sheet.finished();
  } else {
    return {};
  }
}

}  // namespace v0
}  // namespace meshtf
