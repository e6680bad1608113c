// If it compiles, it passes. What is said and drawn of the schedule of a pipeline.
#include <array>
#include <cstddef>
#include <string_view>

#include <meshtf/explain/explain_schedule.hpp>

namespace {

using namespace meshtf;

/// A text is these lines, of which the first is empty.
constexpr bool is(std::string_view text, std::string_view lines) { return text == lines.substr(1); }
constexpr bool says(std::string_view text, std::string_view words) { return text.find(words) != text.npos; }
constexpr int times(std::string_view text, std::string_view words) {
  int n = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++n;
  return n;
}

// ---- as text: a stage a line, a tick a column, a dot where the stage waits

static_assert(is(explain_schedule<one_forward_one_backward, 2, 3>(), R"(
one_forward_one_backward, 2 stages, 3 micro-batches: 8 ticks, bubble 25.0 %
stage 0  F0 F1 .  B0 F2 B1 .  B2  holds 2
stage 1  .  F0 B0 F1 B1 F2 B2 .   holds 1
)"));
static_assert(is(explain_schedule<gpipe, 2, 3>(), R"(
gpipe, 2 stages, 3 micro-batches: 8 ticks, bubble 25.0 %
stage 0  F0 F1 F2 .  .  B0 B1 B2  holds 3
stage 1  .  F0 F1 F2 B0 B1 B2 .   holds 3
)"));
static_assert(is(explain_schedule<gpipe, 1, 1>(), R"(
gpipe, 1 stage, 1 micro-batch: 2 ticks, bubble 0.0 %
stage 0  F0 B0  holds 1
)"));
// numbers of two digits and stages of two digits keep their columns
static_assert(says(explain_schedule<gpipe, 11, 11>(), "\nstage 0   F0  F1  F2 ") &&
              says(explain_schedule<gpipe, 11, 11>(), " F9  F10 B0  B1 "));

// ---- when passes end: the ticks of the text above

constexpr auto const& run = detail::run_of<one_forward_one_backward, 2, 3, in_flight<1>>;
static_assert(run.ended_at[0] == std::array{1, 2, 4, 5, 6, 8} &&
              run.ended_at[1] == std::array{2, 3, 4, 5, 6, 7});
static_assert(run.ticks == 8 && run.ticks == schedule_ticks<one_forward_one_backward, 2, 3>);

// Each stage does one pass a tick at most, and a stage hands on what it has ended.
template<class S, int K, int M>
constexpr bool ends_in_order() {
  auto const table = S::template table<K, M>();
  auto const& r    = detail::run_of<S, K, M, in_flight<1>>;
  std::array<std::array<std::array<int, 2>, std::size_t{M}>, std::size_t{K}> ended{};
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t turn = 0; turn < 2 * M; ++turn) {
      if (r.ended_at[k][turn] <= (turn == 0 ? 0 : r.ended_at[k][turn - 1])) return false;
      stage_pass const p = table.passes[k][turn];
      ended[k][static_cast<std::size_t>(p.micro_batch)][p.way == stage_pass::direction::forward ? 0 : 1] =
          r.ended_at[k][turn];
    }
  for (std::size_t k = 0; k + 1 < K; ++k)
    for (std::size_t i = 0; i < M; ++i)
      if (ended[k + 1][i][0] <= ended[k][i][0] || ended[k][i][1] <= ended[k + 1][i][1]) return false;
  return true;
}
static_assert(ends_in_order<gpipe, 4, 8>() && ends_in_order<one_forward_one_backward, 4, 8>() &&
              ends_in_order<one_forward_one_backward, 8, 3>());

// A schedule that needs two messages in flight is drawn with two.
struct far_ahead {
  template<int K, int M>
  static constexpr schedule_table<K, M> table() {
    schedule_table<K, M> t = gpipe::table<K, M>();
    t.passes[1] = {{forward_pass(0), forward_pass(1), backward_pass(0), backward_pass(1), forward_pass(2),
                    forward_pass(3), backward_pass(2), backward_pass(3)}};
    return t;
  }
};
static_assert(is(explain_schedule<far_ahead, 2, 4, in_flight<2>>(), R"(
far_ahead, 2 stages, 4 micro-batches: 10 ticks, bubble 20.0 %
stage 0  F0 F1 F2 F3 B0 B1 .  .  B2 B3  holds 4
stage 1  .  F0 F1 B0 B1 F2 F3 B2 B3 .   holds 2
)"));

// ---- as a picture

constexpr auto picture = explain_schedule_svg<one_forward_one_backward, 4, 8>();
static_assert(picture.view().starts_with("<svg ") && picture.view().ends_with("</svg>\n"));
static_assert(says(picture, "<title>one_forward_one_backward</title>"));
static_assert(says(picture,
                   ">one_forward_one_backward, 4 stages, 8 micro-batches: 22 ticks, bubble 27.3 %</text>"));

// a row for each stage, with what it holds; a cell for each pass, with its number
static_assert(times(picture, ">stage ") == 4 && says(picture, ">stage 3</text>"));
static_assert(times(picture, ">holds 4<") == 1 && times(picture, ">holds 3<") == 1 &&
              times(picture, ">holds 2<") == 1 && times(picture, ">holds 1<") == 1);
static_assert(times(picture, " class=\"f\">0</text>") == 4 && times(picture, " class=\"r\">7</text>") == 4);
static_assert(times(picture, " class=\"f\">") == 4 * 8 + 1 && times(picture, " class=\"r\">") == 4 * 8 + 1);
static_assert(times(picture, "h22M") + times(picture, "h22\"/>") == 2 * 4 * 8 + 2);  // and in the legend
static_assert(times(picture, "<path class=\"f\"") == 4 + 1 && times(picture, "<path class=\"r\"") == 4 + 1);

// the first stage begins at 80 with four forward passes of 24, and waits until its first backward pass
static_assert(says(picture, "<path class=\"f\" d=\"M81 130h22M105 130h22M129 130h22M153 130h22M273 130h22M"));
static_assert(says(picture, "<path class=\"r\" d=\"M249 130h22M"));

// the axis says all ticks and half of them
static_assert(says(picture, ">22</text>") && says(picture, ">11</text>"));

// as large as can be drawn
constexpr auto largest = explain_schedule_svg<gpipe, 16, 32>();
constexpr auto longest = explain_schedule_svg<gpipe, 1, 512>();
static_assert(largest.view().ends_with("</svg>\n") && longest.view().ends_with("</svg>\n"));
static_assert(says(explain_schedule<gpipe, 16, 32>(), "stage 15 ") &&
              says(explain_schedule<gpipe, 1, 512>(), " B511  holds 512\n"));
static_assert(detail::can_be_drawn<gpipe, 28, 1, in_flight<1>> &&
              !detail::can_be_drawn<gpipe, 16, 33, in_flight<1>>);

}  // namespace
