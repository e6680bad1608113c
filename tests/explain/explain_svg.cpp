// If it compiles, it passes. What pictures say and draw.
#include <meshtf/explain/explain_svg.hpp>
#include <meshtf/planning.hpp>

#include "training.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests::explained;

// clang-format off
struct vocab   : dim<251>  {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct many : axis<64> {};
struct tall : axis<100> {};
struct grid : mesh<rows, cols> {};
struct wide : mesh<tall, many> {};
struct one  : mesh<> {};
struct down : axis<5> {};
struct right : axis<5> {};
struct square : mesh<down, right> {};
template<int N> struct side : dim<25> {};

struct mixed    : layout<grid, split<batch, rows>, split<hidden, cols>, padded<vocab, cols>> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct broad    : layout<wide, split<hidden, many>> {};
template<int... N> struct crowded_by : layout<square, split<side<N>, down, right>...> {};
using crowded = crowded_by<1, 2, 3, 4, 5, 6, 7, 8, 9>;
struct alone    : layout<one> {};
struct clash    : layout<grid, split<batch, rows>, split<batch, cols>> {};
// clang-format on

constexpr int times(std::string_view text, std::string_view words) {
  int n = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++n;
  return n;
}
constexpr bool is_whole(std::string_view text) {
  return text.starts_with("<svg ") && text.ends_with("</svg>\n") && says(text, "\n</style>\n");
}

// a layout: each process with its rank, its parts in words, and a bar for each part that has elements
constexpr auto of_layout = explain_svg<mixed>();
static_assert(is_whole(of_layout));
static_assert(says(of_layout, ">mixed on grid, 8 processes: rows 2 x cols 4</text>"));
static_assert(says(of_layout, ">vocab   251 in 4 parts, 3 of 63 and one of 62, over cols</text>"));
static_assert(times(of_layout, ">rank ") == 8 && says(of_layout, ">rank 7</text>") &&
              says(of_layout, ">vocab 189-250</text>"));
// of batch, and its mark above
static_assert(times(of_layout, "class=\"t\"") == 8 * 3 && times(of_layout, "class=\"b c0\"") == 8 + 1);
static_assert(times(of_layout, "<text") == times(of_layout, "</text>"));

// the bar of the last process's part of vocab: elements 189 to 250 of 251, on a track of 16 letters
static_assert(detail::pixels_of(189, 251, 128) == 96 && detail::pixels_of(62, 251, 128) == 31 &&
              detail::pixels_of(1, 9999, 100) == 1);
static_assert(says(of_layout, "h31\"/>"));

// the size is written in its place, and nothing is drawn to the right of it
static_assert(of_layout.view().find("viewBox=\"0 0 ") + 20 < of_layout.view().find("\">\n<title>"));

// a mesh that is too large: the first rows and columns, and the last
constexpr auto shortened = explain_svg<broad>();
static_assert(is_whole(shortened) && shortened.size() < 12000);
static_assert(says(shortened, ">rank 0</text>") && says(shortened, ">rank 6399</text>") &&
              says(shortened, ">tall 99</text>"));
static_assert(times(shortened, ">rank ") < 26 && says(shortened, ">...</text>") &&
              !says(shortened, ">tall 50</text>"));

constexpr auto of_one  = explain_svg<alone>();
constexpr auto refused = explain_svg<clash>();
static_assert(is_whole(of_one) && says(of_one, "every dimension is whole"));
static_assert(is_whole(refused) && says(refused, "clash is refused: the layout has two rules for batch"));

// a step: its messages by call site, the axes with their sums, and its memory
constexpr auto cost    = dry_run<training, mixed>();
constexpr auto of_cost = explain_svg(cost);
static_assert(is_whole(of_cost));
constexpr bool has_line(std::string_view text, std::string_view words, short_text const& figure) {
  return says(text, (fixed_text<255>{words} += figure.view()).view());
}
static_assert(has_line(of_cost, ">along rows: ", bytes_text(cost.bytes_sent<rows>())) &&
              cost.bytes_sent<rows>() > 0);
static_assert(has_line(of_cost, ">along cols: ", bytes_text(cost.bytes_sent<cols>())) &&
              cost.bytes_sent<cols>() > 0);
static_assert(has_line(of_cost, ">parameters: ", bytes_text(cost.at_peak()[held_for::parameter])));
static_assert(says(of_cost, ">all_reduce over rows: sgd::step, training.hpp:"));
static_assert(says(of_cost, ">einsum") == false && says(of_cost, "einsum, training.hpp:"));
static_assert(says(of_cost, "What one process holds: ") && says(of_cost, bytes_text(cost.peak_bytes())));
static_assert(says(of_cost, ">parameters: ") && says(of_cost, "moments at which memory is highest"));
static_assert(cost.local_peaks().size() > 4 && cost.local_peaks()[0].site.operation[0] == '\0');

constexpr extent highest() {
  extent most = 0;
  for (local_peak const& p : cost.local_peaks()) most = most < p.live ? p.live : most;
  return most;
}
static_assert(highest() == cost.peak_bytes());

// both in one picture, and two layouts side by side
constexpr auto both = explain_svg<training, mixed>();
static_assert(is_whole(both) && says(both, ">rank 7</text>") && says(both, "sgd::step"));
constexpr auto cost_by_batch = dry_run<training, by_batch>();
constexpr auto two           = explain_svg<training, mixed, by_batch>();
static_assert(is_whole(two) && says(two, "A step under mixed and under by_batch, one process") &&
              says(two, ">sent along cols</text>"));
static_assert(says(two, ">mixed on grid, ") && says(two, ">by_batch on grid, ") &&
              times(two, ">rank 7</text>") == 2);
static_assert(says(two, ">What one process sends under mixed: ") &&
              says(two, ">What one process holds under by_batch: ") &&
              times(two, ">What lives at the peak:") == 2);

// in columns of one width, to one scale: the left ends of both columns, and the ends of the axes of messages
// and of memory
constexpr bool is_offset(extent n) {
  return says(two, (fixed_text<63>{"transform=\"translate("} += number_text(n).view()).view());
}
constexpr extent width = [] {
  std::string_view const size = two.view().substr(two.view().find("viewBox=\"0 0 ") + 13);
  extent n                    = 0;
  for (std::size_t i = 0; size[i] != ' '; ++i) n = 10 * n + (size[i] - '0');
  return n;
}();
static_assert(width % 2 == 0 && is_offset(0) && is_offset(width / 2) &&
              times(two, "transform=\"translate(0 ") == 4);
constexpr bool twice(extent bytes) {
  return times(two, (fixed_text<63>{"\" class=\"e\">"} += bytes_text(bytes).view()) += "</text>") == 2;
}
static_assert(cost.peak_bytes() != cost_by_batch.peak_bytes() &&
              twice(std::max(cost.peak_bytes(), cost_by_batch.peak_bytes())));
static_assert(twice(std::max(detail::sorted_groups(cost).group[0].sent,
                             detail::sorted_groups(cost_by_batch).group[0].sent)));

// in a narrow page they are below each other, each part where the one before it ends
static_assert(times(two, "scale(2)}") == 7 && says(two, "{svg.columns{width:100%;height:auto;aspect-ratio:"));

// two meshes that are as large as can be drawn fit
constexpr auto of_crowd   = explain_svg<crowded>();
constexpr auto two_crowds = explain_svg<crowded, crowded>(meshtf::cost<square>{}, meshtf::cost<square>{});
static_assert(says(of_crowd, ">and more</text>") && is_whole(two_crowds) &&
              says(two_crowds, ">and more</text>") && two_crowds.size() < 60000);

// names of templates have brackets, which mean something else there
template<int N>
struct part : dim<N> {};
struct odd : layout<grid, split<part<8>, cols>> {};
constexpr auto escaped = explain_svg<odd>();
static_assert(says(escaped, "&lt;8&gt;") && !says(escaped, "<8>"));

}  // namespace
