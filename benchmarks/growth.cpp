// One point of the curves of benchmarks/growth: the training step of a language model, what the compiler
// promises of it, and what is counted.
//
// Sizes are types, so CMakeLists.txt compiles a program for each point, with LENGTH, WIDTH, VOCABULARY,
// BATCH, SPLIT (nothing, data or tensor) and PROCESSES. The kernels are compiled once for all of them, and
// the number of layers is known when a program runs.
// Run:    growth_128_128_256_4_nothing_1 LAYERS STEPS
// Prints: one object of JSON. The first step is recorded, the others are timed.
#include "random_language_model.hpp"
#include "timing.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace {

// clang-format off
struct batch  : meshtf::dim<BATCH>      {};
struct length : meshtf::dim<LENGTH>     {};
struct vocab  : meshtf::dim<VOCABULARY> {};
struct model  : meshtf::dim<WIDTH>      {};
struct heads  : meshtf::dim<WIDTH / 64> {};
struct key    : meshtf::dim<64>         {};
struct hidden : meshtf::dim<4 * WIDTH>  {};

template<int N> struct all  : meshtf::axis<N> {};
template<int N> struct line : meshtf::mesh<all<N>> {};

template<int N> struct nothing : meshtf::layout<line<N>> {};
template<int N> struct data    : meshtf::layout<line<N>, meshtf::padded<batch, all<N>>> {};
template<int N> struct tensor  : meshtf::layout<line<N>, meshtf::split<heads, all<N>>,
                                                meshtf::split<hidden, all<N>>,
                                                meshtf::padded<vocab, all<N>>> {};
// clang-format on

struct sizes : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = meshtf::nn::any_depth;
};

template<meshtf::Layout L>
struct training : random_language_model<L, batch, sizes> {
  constexpr training(meshtf::machine<L>& m, int layers)
      : random_language_model<L, batch, sizes>{m, 3e-4, 0, false, meshtf::nn::depth{layers}} {}
};

template<meshtf::Layout L, int Layers>
constexpr auto price = meshtf::dry_run<training, L>(Layers);

template<meshtf::Layout L>
auto promised(int layers) {
  return meshtf::repeat(layers, price<L, 1>, price<L, 2>, price<L, 3>);
}

/// Bytes that one of two processes sends, if the sizes can be split over two.
template<template<int> class Split>
double sent_by_one_of_two(int layers) {
  if constexpr (heads::size % 2 == 0 && PROCESSES == 1)
    return static_cast<double>(promised<Split<2>>(layers).bytes_sent());
  else return 0;
}

template<meshtf::Layout L>
void measure(int layers, int steps) {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto const promise = promised<L>(layers);
  training<L> program{m, layers};
  double first_loss = 0;
  double last_loss  = 0;
  auto const counted =
      meshtf::recorded<L>(m, [&]<class>(auto&) { first_loss = static_cast<double>(program.step().value()); });
  std::vector<double> seconds;
  std::vector<double> of_processor;
  for (int i = 0; i < steps; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    auto const start           = std::chrono::steady_clock::now();
    std::clock_t const started = std::clock();
    last_loss                  = static_cast<double>(program.step().value());
    of_processor.push_back(static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC);
    seconds.push_back(std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count());
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), steps, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double const mine = bench::peak_resident();
  double resident   = 0;
  MPI_Allreduce(&mine, &resident, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (m.rank() != 0) return;
  std::string text = "{";
  for (auto const& [name, value] : std::initializer_list<std::pair<char const*, double>>{
           {"layers", static_cast<double>(layers)},
           {"median_s", bench::quantile(seconds, 0.5)},
           {"processor_s", bench::quantile(of_processor, 0.5)},
           {"parameters", static_cast<double>(promise.parameter_bytes() / meshtf::extent{sizeof(float)})},
           {"flops", static_cast<double>(promise.flops())},
           {"passes_bytes", static_cast<double>(promise.elementwise_bytes())},
           {"promised_peak", static_cast<double>(promise.peak_bytes())},
           {"counted_peak", static_cast<double>(counted.peak_bytes())},
           {"promised_sent", static_cast<double>(promise.bytes_sent())},
           {"counted_sent", static_cast<double>(counted.bytes_sent())},
           {"promised_calls", static_cast<double>(promise.calls())},
           {"counted_calls", static_cast<double>(counted.calls())},
           {"same", promise == counted ? 1.0 : 0.0},
           {"sent_data", sent_by_one_of_two<data>(layers)},
           {"sent_tensor", sent_by_one_of_two<tensor>(layers)},
           {"resident", resident},
           {"first_loss", first_loss},
           {"last_loss", last_loss}}) {
    char number[40];
    std::snprintf(number, sizeof number, "%.15g", value);
    text += (text.size() > 1 ? ", \"" : "\"") + std::string{name} + "\": " + number;
  }
  std::printf("%s}\n", text.c_str());
}

int positive_number(std::string const& what, std::string const& text) {
  int n          = 0;
  auto const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, n).ptr != end || n < 1)
    throw meshtf::usage_error{"expected a positive number of " + what + ", got '" + text + "'"};
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  if (argc != 3)
    throw meshtf::usage_error{"expected LAYERS STEPS, got " + std::to_string(argc - 1) + " arguments"};
  measure<SPLIT<PROCESSES>>(positive_number("layers", argv[1]), positive_number("steps", argv[2]));
}
