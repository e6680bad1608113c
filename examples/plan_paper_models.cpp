// What a step of the paper's models, and of T5, costs one process. Every figure is a constant: no other
// process exists.
// Run:    build/release/examples/plan_paper_models
// Prints: the table of models in docs/cost.md, in markdown.
#include <iostream>

#include "paper_models.hpp"

namespace {

using namespace meshtf;

// One core of a TPU v2, half of a chip: of its 45 Tflop/s in bfloat16, and its 700 GB/s of memory (Google's
// talk on TPU v2 and v3, Hot Chips 2020). A link of the torus is taken to be 62 GB/s each way, and a message
// 1 us.
constexpr machine_model tpu_core{.flops_per_second        = 23e12,
                                 .memory_bytes_per_second = 350e9,
                                 .seconds_per_byte_added  = 1 / 350e9,
                                 .within_node = {.seconds_per_message = 1e-6, .seconds_per_byte = 1 / 62e9}};

template<class L>
struct axes_in;
template<class A, class B>
struct axes_in<axes<A, B>> {
  using rows = A;
  using cols = B;
};

/// The step's cost. Of a deep model that of three short ones, repeated: a layer of each stack, two, three.
template<template<Layout> class Model, Layout L>
consteval auto priced() {
  if constexpr (requires { L::layers; })
    return repeat(L::layers, dry_run<Model, L>(1), dry_run<Model, L>(2), dry_run<Model, L>(3));
  else return dry_run<Model, L>();
}

template<template<Layout> class Model, Layout L>
void row(char const* name) {
  static constexpr extent elements = paper::count<Model, L>();
  static constexpr auto cost       = priced<Model, L>();
  using along                      = axes_in<typename L::mesh_type::all_axes>;
  std::cout << "| " << name << " | " << along::rows::size << "x" << along::cols::size << " | "
            << thousands_text(elements) << " | " << bytes_text(cost.parameter_bytes()) << " | "
            << bytes_text(cost.peak_bytes()) << " | "
            << bytes_text(cost.template bytes_sent<typename along::rows>()) << " | "
            << bytes_text(cost.template bytes_sent<typename along::cols>()) << " | "
            << seconds_text(cost.time(tpu_core).total()) << " |\n";
}

}  // namespace

int main() {
  using namespace paper;
  std::cout
      << "| model | mesh | parameters | of one process | peak | sent along rows | along cols | modelled "
         "step |\n|---|---|---|---|---|---|---|---|\n";
  row<language_model, lm1b<1, 32, 1>>("LM1B 0.14 B");
  row<language_model, lm1b<2, 32, 1>>("LM1B 0.22 B");
  row<language_model, lm1b<4, 8, 4>>("LM1B 0.37 B");
  row<language_model, lm1b<8, 8, 4>>("LM1B 0.67 B");
  row<language_model, lm1b<16, 16, 8>>("LM1B 1.28 B");
  row<language_model, lm1b<32, 16, 32>>("LM1B 2.48 B");
  row<language_model, lm1b<64, 16, 32>>("LM1B 4.90 B");
  row<language_model, lm1b<64, 32, 64>>("LM1B 4.90 B");
  row<translator, wmt<32, 16, 32>>("WMT14 2.89 B");
  row<t5_model, t5_11b<16, 32>>("T5 11.3 B");
}
