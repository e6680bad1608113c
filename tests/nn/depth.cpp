// test: processes 4
//
// A model whose depth is known when it runs is the one whose depth its type says: the same losses, weights
// and names of weights, and the cost that `repeat` promises.
#include "../catch.hpp"

#include <string>
#include <vector>

#include <meshtf/nn/llama.hpp>
#include <meshtf/nn/transformer.hpp>
#include <meshtf/optim/adamw.hpp>
#include <meshtf/training.hpp>

using namespace meshtf;

namespace {

// clang-format off
struct batch  : dim<4>  {};
struct length : dim<8>  {};
struct vocab  : dim<32> {};
struct model  : dim<16> {};
struct heads  : dim<2>  {};
struct groups : dim<2>  {};
struct each   : dim<1>  {};
struct key    : dim<8>  {};
struct hidden : dim<32> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<groups, cols>, split<hidden, cols>,
                      split<vocab, cols>> {};
// clang-format on

template<int Layers>
struct gpt2 : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = Layers;
};
template<int Layers>
struct llama : nn::llama_dims<length, vocab, model, groups, each, key, hidden> {
  static constexpr int layers = Layers;
};

template<Layout L, class Net>
struct training {
  Net net;
  adamw opt{1e-2};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  template<class... Depth>
  constexpr explicit training(machine<L>& m, Depth... depth)
      : net{m, nn::depth{depth}..., 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
    if constexpr (!is_dry<L>)
      for (extent i = 0; i < ids.size; ++i) {
        ids.data()[i]     = static_cast<int>(i * i % 32);
        targets.data()[i] = static_cast<int>(i * 7 % 32);
      }
  }

  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

template<Layout L>
using deep_gpt2 = training<L, nn::transformer<float, L, gpt2<nn::any_depth>>>;
template<Layout L>
using gpt2_of_5 = training<L, nn::transformer<float, L, gpt2<5>>>;
template<Layout L>
using deep_llama = training<L, nn::llama<float, L, llama<nn::any_depth>>>;
template<Layout L>
using llama_of_5 = training<L, nn::llama<float, L, llama<5>>>;

template<template<Layout> class Program>
constexpr auto of_1 = dry_run<Program, mixed>(1);
template<template<Layout> class Program>
constexpr auto of_2 = dry_run<Program, mixed>(2);
template<template<Layout> class Program>
constexpr auto of_3 = dry_run<Program, mixed>(3);

static_assert(repeat(5, of_1<deep_gpt2>, of_2<deep_gpt2>, of_3<deep_gpt2>) == dry_run<gpt2_of_5, mixed>());
static_assert(repeat(5, of_1<deep_llama>, of_2<deep_llama>, of_3<deep_llama>) ==
              dry_run<llama_of_5, mixed>());

/// The losses of three steps, and then all weights of this process.
template<class Program>
std::vector<float> trained(Program& program) {
  std::vector<float> found;
  for (int i = 0; i < 3; ++i) found.push_back(program.step().value());
  parameters(program.net).for_each([&](auto const& w) {
    found.insert(found.end(), w.data(), w.data() + w.size);
  });
  return found;
}

template<class Program>
std::vector<std::string> names(Program& program) {
  std::vector<std::string> found;
  parameters(program.net).for_each_named([&](std::string const& name, auto const&) {
    found.push_back(name);
  });
  return found;
}

template<template<Layout> class Deep, template<Layout> class Fixed>
void check() {
  process_mesh<grid> m{MPI_COMM_WORLD};
  int const layers    = 1 + m.world().size();  // known when the program runs: 5
  auto const promised = repeat(layers, of_1<Deep>, of_2<Deep>, of_3<Deep>);
  m.agree(promised);
  {
    Deep<mixed> program{m, layers};
    auto const counted = recorded<mixed>(m, [&]<class>(auto&) { program.step(); });
    CHECK(counted == promised);
    CHECK(counted.peak_bytes() == promised.peak_bytes());
  }
  Deep<mixed> deep{m, layers};
  Fixed<mixed> fixed{m};
  CHECK(deep.net.blocks.size() == 5);
  CHECK(names(deep) == names(fixed));
  CHECK(trained(deep) == trained(fixed));
  CHECK_THROWS_AS((Deep<mixed>{m, 0}), software_error);
}

}  // namespace

TEST_CASE("a Transformer of any depth") { check<deep_gpt2, gpt2_of_5>(); }
TEST_CASE("a Llama of any depth") { check<deep_llama, llama_of_5>(); }
