// If it compiles, it passes.
#include <meshtf/price/cost.hpp>

namespace {

using namespace meshtf;
using enum collective;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct deep : axis<2> {};
struct grid : mesh<rows, cols, deep> {};

constexpr axis_set over_rows = 0b001;
constexpr axis_set over_cols = 0b010;

using small_cost = cost<grid, 4>;

constexpr collective_call sum_over_rows{.kind    = all_reduce,
                                        .type    = element::float32,
                                        .over    = over_rows,
                                        .count   = 100,
                                        .payload = 400,
                                        .sent    = 400};
constexpr collective_call sum_over_both{.kind    = all_reduce,
                                        .type    = element::float32,
                                        .over    = over_rows | over_cols,
                                        .count   = 20,
                                        .payload = 80,
                                        .sent    = 140};
constexpr collective_call gather{
    .kind = all_gather, .type = element::float64, .over = over_cols, .count = 5, .payload = 40, .sent = 120};

consteval small_cost noted(std::initializer_list<collective_call> calls) {
  small_cost c;
  for (auto const& call : calls) c.note(call);
  return c;
}

constexpr small_cost c = noted({sum_over_rows, gather, sum_over_both});

// for an axis every call counts that this axis has a part in
static_assert(c.bytes_sent<rows>() == 400 + 140 && c.bytes_sent<cols>() == 140 + 120 &&
              c.bytes_sent<deep>() == 0);
static_assert(c.payload<rows>() == 400 + 80 && c.payload<cols>() == 80 + 40 && c.payload<deep>() == 0);

// without an axis each call counts once, whoever has a part in it
static_assert(c.bytes_sent() == 400 + 140 + 120 && c.payload() == 400 + 80 + 40);
static_assert(c.bytes_sent() < c.bytes_sent<rows>() + c.bytes_sent<cols>());

// calls are counted by kind, several kinds together, or all
static_assert(c.calls() == 3 && c.calls<all_reduce>() == 2 && c.calls<all_gather>() == 1 &&
              c.calls<all_to_all>() == 0);
static_assert(c.calls<all_gather, all_reduce>() == 3);

// each call can be looked at, in the order in which they were made
static_assert(c.collectives().size() == 3 && c.collectives()[0] == sum_over_rows &&
              c.collectives()[1] == gather && c.collectives()[2] == sum_over_both);

// two costs are equal if the same calls were made in the same order
static_assert(c == noted({sum_over_rows, gather, sum_over_both}));
static_assert(!(c == noted({gather, sum_over_rows, sum_over_both})) &&
              !(c == noted({sum_over_rows, gather})));

// a call of another kind, axis, type, count or price is another call; one from another line is not
constexpr collective_call changed(auto change) {
  auto call = sum_over_rows;
  change(call);
  return call;
}
static_assert(!(sum_over_rows == changed([](auto& call) { call.kind = broadcast; })) &&
              !(sum_over_rows == changed([](auto& call) { call.over = over_cols; })));
static_assert(!(sum_over_rows == changed([](auto& call) { call.type = element::int32; })) &&
              !(sum_over_rows == changed([](auto& call) { ++call.count; })));
static_assert(!(sum_over_rows == changed([](auto& call) { ++call.sent; })) &&
              !(sum_over_rows == changed([](auto& call) { ++call.payload; })));
static_assert(!(sum_over_rows == changed([](auto& call) { call.op = reduction::max; })));
static_assert(sum_over_rows ==
              changed([](auto& call) { call.site = {"sum", std::source_location::current(), true}; }));

// and if they compute and hold the same, whatever is still alive
consteval small_cost with(extent flops, extent elementwise, extent live, extent peak, extent parameters) {
  small_cost b;
  b.note(work{.flops = flops, .elementwise = elementwise, .bytes = 7});
  b.note_memory(live, peak, parameters);
  return b;
}
static_assert(with(1, 2, 3, 4, 5).flops() == 1 && with(1, 2, 3, 4, 5).elementwise_flops() == 2 &&
              with(1, 2, 3, 4, 5).live_bytes() == 3 && with(1, 2, 3, 4, 5).bytes_touched() == 7);
static_assert(with(1, 2, 3, 4, 5).peak_bytes() == 4 && with(1, 2, 3, 4, 5).parameter_bytes() == 5);
static_assert(with(1, 2, 3, 4, 5) == with(1, 2, 0, 4, 5));
static_assert(!(with(1, 2, 3, 4, 5) == with(0, 2, 3, 4, 5)) && !(with(1, 2, 3, 4, 5) == with(1, 0, 3, 4, 5)));
static_assert(!(with(1, 2, 3, 4, 5) == with(1, 2, 3, 0, 5)) && !(with(1, 2, 3, 4, 5) == with(1, 2, 3, 4, 0)));

// nothing costs nothing
static_assert(small_cost{}.calls() == 0 && small_cost{}.bytes_sent() == 0 && small_cost{}.flops() == 0 &&
              small_cost{}.peak_bytes() == 0 && small_cost{}.collectives().empty());

// an operator has no line, since it can't take one
static_assert(!call_site{"operator+"}.has_line() &&
              call_site{"sum", std::source_location::current()}.has_line());

static_assert(KiB == 1024 && MiB == 1024 * KiB && GiB == 1024 * MiB);

}  // namespace
