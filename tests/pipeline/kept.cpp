// Weights that are kept in parts (ZeRO-3): the numbers of data parallelism, the memory of a part, and prices
// that are counted.
// test: program pipeline
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "on_stages.hpp"

namespace {

using namespace pipelines;

struct batch : dim<8> {};
struct length : dim<8> {};
struct vocab : dim<32> {};
struct width : dim<18> {};  // four processes do not divide it
struct heads : dim<3> {};
struct key : dim<6> {};
struct groups : dim<3> {};
struct each_ : dim<1> {};
struct hidden : dim<24> {};

template<int R>
struct rows : axis<R> {};
struct cols : axis<2> {};
template<int R>
struct line : mesh<rows<R>> {};
struct square : mesh<rows<4>, cols> {};

template<int R>
struct data : layout<line<R>, split<batch, rows<R>>> {};
template<int R>
struct zero3 : layout<line<R>, split<batch, rows<R>>, kept_over<rows<R>>> {};
struct mixed : layout<square, split<batch, rows<4>>, split<vocab, cols>, split<hidden, cols>> {};
struct mixed_zero3
    : layout<square, split<batch, rows<4>>, split<vocab, cols>, split<hidden, cols>, kept_over<rows<4>>> {};

// ---- which dimension is cut

template<class L, class... D>
using kept = kept_layout<float, L, shape<D...>>;
static_assert(std::is_same_v<kept<data<4>, vocab, width>, data<4>>);
static_assert(split_over<kept<zero3<4>, vocab, width>, shape<vocab, width>> == 1);
static_assert(shard_size<kept<zero3<4>, vocab, width>, shape<vocab, width>> == 32 * 18 / 4);
static_assert(shard_size<kept<zero3<4>, width, hidden>, shape<width, hidden>> == 18 * 24 / 4,
              "the first dimension that the parts divide");
static_assert(std::is_same_v<kept<zero3<4>, width>, zero3<4>>, "a short one stays whole");
static_assert(std::is_same_v<kept<zero3<1>, vocab, width>, zero3<1>>);
static_assert(shard_size<kept<mixed_zero3, vocab, width>, shape<vocab, width>> == 16 * 5,
              "vocab is split, and the parts do not divide width: it is padded");
struct tall : dim<259> {};
struct long_one : dim<1003> {};
static_assert(shard_size<kept<zero3<4>, tall, long_one>, shape<tall, long_one>> == 65 * 1003);
static_assert(is_dry<kept_layout<float, dry<zero3<4>>, shape<vocab, width>>>);

// ---- models

struct dims : nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};
struct llama_dims : nn::llama_dims<length, vocab, width, groups, each_, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};

/// A program's own product with a parameter that is kept in parts.
template<Layout L>
struct own_model {
  kept_parameter<double, L, vocab, width> up;
  kept_parameter<double, L, width, vocab> down;
  constexpr own_model(machine<L>& m, std::uint64_t seed)
      : up{m, normal{seed, 0.1}}, down{m, normal{seed + 1, 0.1}} {}
  constexpr auto operator()(tensor<int, L, batch, length> const& ids) const {
    auto const x = one_hot<vocab, double>(ids);
    return einsum<batch, length, vocab>(tanh(einsum<batch, length, width>(x, up)), down);
  }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};
template<Layout L>
using transformer = nn::transformer<double, L, dims>;
template<Layout L>
using llama = nn::llama<double, L, llama_dims>;

template<Layout L, template<Layout> class Model>
struct training {
  Model<L> net;
  adamw opt{1e-2};
  tensor<int, L, batch, length> ids;
  machine<L>* m;

  constexpr explicit training(machine<L>& on)
      : net(on, 1),
        ids{argmax<vocab>(random_normal<double, L, batch, length, vocab>(on, {.seed = 3}))},
        m{&on} {
    opt.max_norm = 0.5;
  }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), flip<length>(ids)));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

template<Layout L, template<Layout> class Model>
std::vector<double> losses_on(process_mesh<typename L::mesh_type>& m) {
  training<L, Model> t{m};
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) losses.push_back(t.step().value());
  m.agree(parameters(t.net));
  return losses;
}

template<template<Layout> class Model>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, Model> t{m};
    auto const loss = t.step();
  }
};

template<class Kept, class Data, template<Layout> class Model>
void check() {
  INFO(name_of<Kept>());
  auto& m        = processes<typename Kept::mesh_type>();
  auto const own = losses_on<Kept, Model>(m);
  auto const all = losses_on<Data, Model>(m);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(std::abs(own[i] - all[i]) <= 1e-10 * all[i]);
  static constexpr fixture::cost_summary promised{dry_run<Kept>(step_of<Model>{})};
  fixture::compare(promised, fixture::cost_summary{recorded<Kept>(m, step_of<Model>{})}, "kept");
  static constexpr fixture::cost_summary whole{dry_run<Data>(step_of<Model>{})};
  CHECK(promised.parameters < whole.parameters);
  CHECK(promised.flops == whole.flops);
}

}  // namespace

TEST_CASE("weights that are kept in parts train as whole ones do") {
  switch (communicator{}.size()) {
    case 2: check<zero3<2>, data<2>, transformer>(); break;
    case 4:
      check<zero3<4>, data<4>, transformer>();
      check<zero3<4>, data<4>, llama>();
      check<zero3<4>, data<4>, own_model>();
      break;
    case 8: check<mixed_zero3, mixed, transformer>(); break;
    default: break;
  }
}

TEST_CASE("a checkpoint of weights in parts is that of whole ones") {
  if (communicator{}.size() != 4) return;
  auto& m = processes<line<4>>();
  transformer<zero3<4>> parts(m, 1);
  transformer<data<4>> whole(m, 1);
  save(parameters(parts), "kept_parts.safetensors");
  save(parameters(whole), "kept_whole.safetensors");
  auto const bytes = [](char const* path) {
    std::ifstream file{path, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  CHECK(bytes("kept_parts.safetensors").size() > 1000);
  CHECK(bytes("kept_parts.safetensors") == bytes("kept_whole.safetensors"));
  load(parameters(parts), "kept_whole.safetensors");
}

TEST_CASE("in mixed precision the elements of use are gathered", "[1]") {
  if (communicator{}.size() != 1) return;
  auto const f = []<FloatingElement T>(T) {
    return []<Layout L>(machine<L>& m) {
      nn::linear<float, L, hidden, vocab> layer{m, normal{1}};
      auto const x = random_normal<T, L, batch, hidden>(m, {.seed = 1});
      no_gradient const guard{m};
      auto const y = layer(x);
    };
  };
  static constexpr fixture::cost_summary in_float{dry_run<zero3<4>>(f(float{}))};
  static constexpr fixture::cost_summary in_narrow{dry_run<zero3<4>>(f(bfloat16{}))};
  CHECK(in_float.calls[0].kind == collective::all_gather);
  CHECK(in_narrow.calls[0].kind == collective::all_gather);
  CHECK(in_float.calls[0].sent == 2 * in_narrow.calls[0].sent);
}
