// If it compiles, it passes: costs added up, multiplied and compared, modelled time, budgets, and all of it
// as text.
#include <meshtf/price/budget.hpp>
#include <meshtf/price/cost_difference.hpp>
#include <meshtf/price/cost_text.hpp>

namespace {

using namespace meshtf;
using enum collective;

struct rows : axis<2> {};
struct pods : axis<4, link::between_nodes> {};
struct grid : mesh<rows, pods> {};
using small_cost = cost<grid, 8>;

constexpr collective_call near{
    .kind = all_reduce, .type = element::float32, .over = 0b01, .count = 100, .payload = 400, .sent = 400};
constexpr collective_call far{
    .kind = all_gather, .type = element::float32, .over = 0b10, .count = 5, .payload = 20, .sent = 60};

consteval small_cost noted(std::initializer_list<collective_call> calls, extent flops, extent peak) {
  small_cost c;
  for (auto const& call : calls) c.note(call);
  c.note(work{.flops = flops, .bytes = 8});
  c.note(work{.elementwise = 1, .bytes = 100});
  c.note_memory(1, peak, 2, 3);
  return c;
}
constexpr small_cost a = noted({near}, 1000, 500);
constexpr small_cost b = noted({near, far, near}, 600, 700);

// what b has more is above zero, what it has less below, along each axis and in all
constexpr auto more = b - a;
static_assert(more.calls() == 2 && more.calls<all_gather>() == 1 && more.calls<all_reduce>() == 1);
static_assert(more.bytes_sent<rows>() == 400 && more.bytes_sent<pods>() == 60 && more.bytes_sent() == 460 &&
              more.payload<pods>() == 20);
static_assert(more.flops() == -400 && more.peak_bytes() == 200 && more.optimizer_bytes() == 0 &&
              (a - a).text().empty());
static_assert((a - b).flops() == 400 && (a - b).bytes_sent<pods>() == -60);

// one after the other, and several times
static_assert((a + b).calls() == 4 && (a + b).flops() == 1600 && (a + b).peak_bytes() == 700 &&
              (a + b).collectives()[2] == far);
static_assert((3 * b).calls() == 9 && (3 * b).bytes_sent<pods>() == 180 && (3 * b).peak_bytes() == 700 &&
              (3 * b).collectives().size() == 3);
static_assert(2 * a == a + a && !(2 * a == 3 * a) && (2 * (a + b)).calls() == 8);
static_assert((0 * b).calls() == 0 && (0 * b).flops() == 0 && (0 * b).collectives().empty());
static_assert(a.optimizer_bytes() == 3 && a.elementwise_bytes() == 100);

// alpha for each message, beta for each byte of its own link, gamma for each byte added
constexpr machine_model model{.flops_per_second        = 100,
                              .memory_bytes_per_second = 50,
                              .seconds_per_byte_added  = 0.5,
                              .within_node             = {.seconds_per_message = 1, .seconds_per_byte = 2},
                              .between_nodes           = {.seconds_per_message = 10, .seconds_per_byte = 20}};
static_assert(a.time(model).products == 10 && a.time(model).passes == 2);
static_assert(a.time(model).within_node == 2 * 1 + 400 * 2 + 200 * 0.5 && a.time(model).between_nodes == 0);
static_assert(b.time(model).between_nodes == 2 * 10 + 60 * 20 &&  // among four, in two messages
              (2 * b).time(model).total() == 2 * b.time(model).total());

static_assert(fits<500>(a) && sends_at_most<400, rows>(a) && sends_at_most<0, pods>(a) &&
              sends_at_most<400>(a));

// ---- as text

static_assert(more.text() ==
              "calls                   +2\n"
              "bytes sent              +460 B\n"
              "  along rows            +400 B\n"
              "  along pods            +60 B\n"
              "flops                    -400\n"
              "peak                    +200 B\n");

consteval small_cost told() {
  collective_call mean  = near;
  collective_call table = far;
  mean.site             = {.operation = "mean", .backward = true};
  table.site            = {.operation = "gather"};
  small_cost c;
  for (auto const& call : {mean, table, mean}) c.note(call);
  c.note(work{.flops = 1'234'567, .bytes = 2048});
  c.note(work{.elementwise = 12, .bytes = 1024});
  c.note_memory(0, 3 * KiB, 2 * KiB, 512);
  held_at_peak held{.sites = 2};
  held.by_kind[static_cast<std::size_t>(held_for::parameter)]  = 2 * KiB;
  held.by_kind[static_cast<std::size_t>(held_for::activation)] = 1 * KiB;
  held.largest[0] = {{.operation = "embedding"}, held_for::parameter, 1, 2 * KiB};
  held.largest[1] = {{.operation = "operator+"}, held_for::activation, 3, 1 * KiB};
  c.note_held(held);
  return c;
}

// what sends most comes first; calls of one kind, place and axes are one line
static_assert(cost_text(told()) ==
              "calls                            3\n"
              "bytes sent                   860 B\n"
              "  along rows                 800 B\n"
              "  along pods                  60 B\n"
              "flops                       1.23 M\n"
              "elementwise flops               12\n"
              "bytes touched             3.00 KiB\n"
              "parameters                2.00 KiB\n"
              "optimizer state              512 B\n"
              "peak                      3.00 KiB\n"
              "\n"
              "what sends most            over             calls        bytes\n"
              "all_reduce                 rows                 2        800 B  mean's gradient\n"
              "all_gather                 pods                 1         60 B  gather\n"
              "\n"
              "alive at the peak          arrays        bytes\n"
              "parameters                            2.00 KiB\n"
              "activations                           1.00 KiB\n"
              "of these, by call site\n"
              "parameters                      1     2.00 KiB  embedding\n"
              "activations                     3     1.00 KiB  operator+\n");

// a program that sends nothing, and whose peak nobody told
constexpr auto quiet = cost_text(noted({}, 1, 1));
static_assert(quiet.view().find("sends") == std::string_view::npos &&
              quiet.view().find("alive") == std::string_view::npos);

}  // namespace
