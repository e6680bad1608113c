// What an operation costs besides its kernels: handles, gradient slots, the tape, the plan. Built twice, with
// the headers alone and with the compiled library: a row says which.
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <meshtf/meshtf.hpp>

#include <chrono>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace function = meshtf::function;
namespace task     = meshtf::task;

struct solo : meshtf::axis<1> {};
struct line : meshtf::mesh<solo> {};
struct whole : meshtf::layout<line> {};
template<int N>
struct tiny : meshtf::dim<N> {};

#ifdef MESHTF_COMPILED
constexpr char const* mode = "compiled library";
#else
constexpr char const* mode = "headers alone";
#endif

/// tanh of tanh of ..., forward and backward, compared with the two kernels of each called one after the
/// other. What takes longer is divided among the operations.
template<int N>
std::string chain(meshtf::process_mesh<line>& m, int rounds) {
  constexpr int operations = 100;
  constexpr int repeat     = 5;
  using value              = meshtf::tensor<float, whole, tiny<N>>;
  meshtf::parameter<float, whole, tiny<N>> w{m, meshtf::constant{0.5}};
  std::vector<meshtf::extent> const size{N};
  meshtf::dim_list along;
  along.push_back(0);
  std::vector<meshtf::dim_list> const operands(3, along);
  auto const one = meshtf::plan_nest(size, std::span{operands}.first(2));
  auto const two = meshtf::plan_nest(size, operands);
  float* const x = m.template take<float>(N * (operations + 1));
  float* const g = m.template take<float>(2 * N);
  for (int i = 0; i < N; ++i) x[i] = g[i] = g[N + i] = 0.5F;

  auto const kernels = [&] {
    meshtf::place_in_mesh const here{};
    for (int i = 0; i < operations; ++i)
      meshtf::kernel::execute(task::map<function::tanh, float, float>{}, one, here, x + (i + 1) * N,
                              static_cast<float const*>(x + i * N));
    for (int i = operations; i > 0; --i)
      meshtf::kernel::execute(task::map<function::gradient<function::tanh>, float, float, float>{}, two, here,
                              g + i % 2 * N, static_cast<float const*>(g + (i + 1) % 2 * N),
                              static_cast<float const*>(x + i * N));
  };
  auto const recorded = [&] {
    value y = tanh(w);
    for (int i = 1; i < operations; ++i) y = tanh(y);
    meshtf::backward(sum(y));
    meshtf::zero_gradients(meshtf::parameters(w));
  };
  for (int i = 0; i < 100; ++i) {
    recorded();
    kernels();
  }
  std::vector<double> alone;
  std::vector<double> with;
  std::vector<double> rest;
  for (int round = 0; round < rounds; ++round) {
    auto const time = [](auto const& f) {
      auto const start = std::chrono::steady_clock::now();
      for (int k = 0; k < repeat; ++k) f();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
             (repeat * operations);
    };
    alone.push_back(time(kernels));
    with.push_back(time(recorded));
    rest.push_back(with.back() - alone.back());
  }
  m.give(x, N * (operations + 1));
  m.give(g, 2 * N);
  std::string const what =
      "tanh of " + std::to_string(N) + (N == 1 ? " element" : " elements") + ", forward and backward";
  double const whole_s   = bench::quantile(with, 0.5);
  double const kernels_s = bench::quantile(alone, 0.5);
  double const rest_s    = bench::quantile(rest, 0.5);
  std::printf("%s, %s: %.0f ns an operation, of which its two kernels %.0f ns, the rest %.0f ns\n",
              what.c_str(), mode, 1e9 * whole_s, 1e9 * kernels_s, 1e9 * rest_s);
  char row[300];
  std::snprintf(
      row, sizeof row,
      "{\"what\": \"%s\", \"mode\": \"%s\", \"operation_s\": %.6g, \"kernels_s\": %.6g, \"rest_s\": %.6g}",
      what.c_str(), mode, whole_s, kernels_s, rest_s);
  return row;
}

void run(bench::options const& o) {
  bench::settle();
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  int const rounds  = 5 * o.rounds;
  auto const first  = chain<1>(m, rounds);
  auto const second = chain<16>(m, rounds);
  if (o.json.empty()) return;
  std::FILE* const file = std::fopen(o.json.c_str(), "w");
  if (!file) throw std::runtime_error{"can't write " + o.json};
  bool const written = std::fprintf(file, "[\n  %s,\n  %s\n]\n", first.c_str(), second.c_str()) > 0;
  if (std::fclose(file) != 0 || !written) throw std::runtime_error{"can't write " + o.json};
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv)); });
}
