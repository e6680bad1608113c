// What a training step may cost: budgets that the compiler checks, and the figures they stand on. Planned
// only: no process but this one ever exists.
// Run:    build/release/examples/budget
// Prints: the step's cost as tables: by kind of call, at the peak of memory, in modelled seconds, and
// compared with another layout.
#include <iostream>

#include <meshtf/planning.hpp>

namespace {

// clang-format off
struct batch  : meshtf::dim<32>   {};
struct length : meshtf::dim<128>  {};
struct vocab  : meshtf::dim<512>  {};
struct model  : meshtf::dim<256>  {};
struct heads  : meshtf::dim<8>    {};
struct key    : meshtf::dim<32>   {};
struct hidden : meshtf::dim<1024> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
struct mixed         : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<vocab, cols>,
                                      meshtf::split<heads, cols>, meshtf::split<hidden, cols>> {};
// clang-format on

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

constexpr auto cost     = meshtf::dry_run<training, mixed>();  // the step, run by the compiler
constexpr auto parallel = meshtf::dry_run<training, data_parallel>();

// If the step outgrows one of these, the program does not compile.
static_assert(cost.bytes_sent<rows>() <= 4 * meshtf::MiB);
static_assert(cost.calls<meshtf::collective::all_gather>() == 0);
static_assert(meshtf::fits<64 * meshtf::MiB>(cost));
static_assert(meshtf::sends_at_most<32 * meshtf::MiB, cols>(cost));
static_assert(cost.at_peak()[meshtf::held_for::activation] <= 40 * meshtf::MiB);

// What one layout has over the other: the weights are whole on every process, and no activation is sent.
constexpr auto more = parallel - cost;
static_assert(more.parameter_bytes() > 0 && more.bytes_sent<rows>() > 0 && more.bytes_sent() < 0);
static_assert(more.flops() == 0 && more.calls<meshtf::collective::all_reduce>() < 0);

// Of another machine: 60 Tflop/s, 3 TB/s of memory, links of 300 GB/s and 3 us.
constexpr meshtf::machine_model gpus{
    .flops_per_second        = 60e12,
    .memory_bytes_per_second = 3e12,
    .seconds_per_byte_added  = 1 / 3e12,
    .within_node             = {.seconds_per_message = 3e-6, .seconds_per_byte = 1 / 300e9}};

template<class Cost>
void say_time(char const* what, Cost const& c, meshtf::machine_model const& machine) {
  meshtf::modelled_time const t = c.time(machine);
  std::cout << meshtf::left_column(what, 24) << meshtf::seconds_text(t.total()) << " a step: products "
            << meshtf::seconds_text(t.products) << ", passes " << meshtf::seconds_text(t.passes)
            << ", messages " << meshtf::seconds_text(t.messages()) << '\n';
}

}  // namespace

int main() {
  std::cout << cost_text(cost);

  std::cout << "\nof the peak, in percent:\n";
  for (auto what :
       {meshtf::held_for::parameter, meshtf::held_for::optimizer_state, meshtf::held_for::activation})
    std::cout << meshtf::left_column(to_string(what), 22) << 100 * cost.at_peak()[what] / cost.peak_bytes()
              << '\n';

  std::cout << "\ndata_parallel has more, or less:\n" << more.text() << '\n';

  say_time("mixed, cores", cost, {});  // the default machine
  say_time("data_parallel, cores", parallel, {});
  say_time("mixed, gpus", cost, gpus);
  say_time("data_parallel, gpus", parallel, gpus);
}
