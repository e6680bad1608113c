// Training steps of a multi-layer perceptron as one process, for benchmarks/instructions: valgrind's
// callgrind counts what `counted_steps` does.
//
//   instructions large|small STEPS
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "mlp.hpp"

namespace {

using with_meshtf::alone, with_meshtf::point;

/// A step so small that what the library does around the arithmetic is a good part of it.
template<meshtf::Layout L>
struct small_training {
  meshtf::parameter<float, L, with_meshtf::small, with_meshtf::middle> w1;
  meshtf::parameter<float, L, with_meshtf::middle, with_meshtf::end> w2;
  meshtf::sgd opt{0.01f};
  meshtf::tensor<float, L, with_meshtf::few, with_meshtf::small> x;
  meshtf::tensor<int, L, with_meshtf::few> labels;

  explicit small_training(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}}, w2{m, meshtf::he_normal{2}}, x{m}, labels{m} {}

  void step() {
    using namespace with_meshtf;
    auto h    = relu(einsum<few, middle>(x, w1));
    auto loss = mean(softmax_cross_entropy<end>(einsum<few, end>(h, w2), labels));
    backward(loss);
    opt.step(meshtf::parameters(w1, w2));
  }
};

/// Told apart by its name in the program: it needs nothing of valgrind's to compile.
template<class Training>
[[gnu::noinline]] void counted_steps(Training& t, int steps) {
  for (int i = 0; i < steps; ++i) t.step();
}

template<class Training>
void train(int steps) {
  meshtf::process_mesh<point> m{MPI_COMM_WORLD};
  Training t{m};
  for (auto& element : t.x.local()) element = 0.5f;
  t.step();  // the first makes what the others find
  counted_steps(t, steps);
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc == 3 ? std::atoi(argv[2]) : 0;
  if (steps <= 0) {
    std::fprintf(stderr, "instructions: expected large|small and a number of steps\n");
    return 64;
  }
  MPI_Init(&argc, &argv);
  if (argv[1] == std::string_view{"small"}) train<small_training<alone>>(steps);
  else train<with_meshtf::training<alone>>(steps);
  MPI_Finalize();
}
