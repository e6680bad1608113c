// error: one_axis_splits_two_dims<rows, batch, hidden>
// A program for Compiler Explorer: what a training step costs, as the program's output, and with -DMISTAKE a
// layout that the compiler refuses.
//
// Put meshtf_core.hpp (docs/packaging/one_header.py makes it) next to it as a second file, choose g++ 12 or
// clang 16 or newer, -std=c++20, and the library Boost. Then change the layout, or the budgets, and look.
#include "meshtf_core.hpp"

#include <cstdio>

using meshtf::split;

// clang-format off
struct batch   : meshtf::dim<256>  {};           // dimensions: a name and a size
struct pixels  : meshtf::dim<784>  {};
struct hidden  : meshtf::dim<4096> {};
struct classes : meshtf::dim<16>   {};

struct rows : meshtf::axis<2> {};                // the machine: eight processes, which nobody has to start
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, split<batch, rows>, split<hidden, cols>> {};
// clang-format on

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, pixels, hidden> w1;
  meshtf::parameter<float, L, hidden, classes> w2;
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;
  meshtf::sgd opt{0.1f};

  constexpr explicit training(meshtf::machine<L>& m) : w1{m}, w2{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto const h    = relu(einsum<batch, hidden>(x, w1));
    auto const loss = mean(softmax_cross_entropy<classes>(einsum<batch, classes>(h, w2), labels));
    backward(loss);
    opt.step(parameters(w1, w2));
    return loss;
  }
};

constexpr auto cost = meshtf::dry_run<training, mixed>();  // the step, run by the compiler
static_assert(meshtf::fits<16 * meshtf::MiB>(cost));  // budgets: a smaller number is an error that names both
static_assert(cost.bytes_sent<cols>() <= 64 * meshtf::KiB);

constexpr auto picture = meshtf::explain_svg<mixed>();  // who holds what, for a browser: print it instead,
                                                        // and save it as a file.svg
static_assert(picture.view().starts_with("<svg "));

#ifdef MISTAKE
struct clash : meshtf::layout<grid, split<batch, rows>, split<hidden, rows>> {};
static_assert(meshtf::tensor<float, clash, batch, hidden>::size >
              0);  // no process would hold a rectangular part of it
#endif

int main() {
  std::puts(meshtf::explain<mixed>().c_str());            // who holds what
  std::puts(meshtf::explain<training, mixed>().c_str());  // the communication of a step, and why
}
