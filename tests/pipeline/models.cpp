// Models of the library as pipelines: the same bits for every number of stages, tied tables included, and the
// numbers of the model without stages.
// test: program pipeline
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "on_stages.hpp"

namespace {

using namespace pipelines;

struct batch : dim<8> {};
struct part : dim<2> {};
struct length : dim<8> {};
struct vocab : dim<32> {};
struct width : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<24> {};

template<int K>
struct stages : axis<K> {};
struct cols : axis<2> {};
template<int K>
struct line : mesh<stages<K>> {};
struct pair_of_pairs : mesh<stages<2>, cols> {};
struct rows : axis<2> {};
struct pair_of_rows : mesh<stages<2>, rows> {};

template<int K>
struct piped : layout<line<K>, staged<stages<K>>> {};
struct piped_and_split
    : layout<pair_of_pairs, staged<stages<2>>, split<vocab, cols>, split<heads, cols>, split<hidden, cols>> {
};
struct piped_and_kept
    : layout<pair_of_rows, staged<stages<2>>, split<batch, rows>, split<part, rows>, kept_over<rows>> {};
struct plain : layout<line<1>> {};

template<bool Tied>
struct dims : nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers    = 4;
  static constexpr double stddev = 0.1;
  static constexpr bool tied     = Tied;
};

struct groups : dim<2> {};
struct each_ : dim<2> {};
struct llama_dims : nn::llama_dims<length, vocab, width, groups, each_, key, hidden> {
  static constexpr int layers    = 4;
  static constexpr double stddev = 0.1;
  static constexpr bool tied     = true;
};

template<Layout L>
using tied = nn::transformer<double, L, dims<true>>;
template<Layout L>
using untied = nn::transformer<double, L, dims<false>>;
template<Layout L>
using llama = nn::llama<double, L, llama_dims>;

template<Layout L, template<Layout> class Model>
struct training {
  Model<L> net;
  adamw opt{1e-2};
  machine<L>* m;

  constexpr explicit training(machine<L>& on) : net{on, 1}, m{&on} { opt.max_norm = 0.5; }
  constexpr auto gradients() {
    auto const ids     = tokens_of(*m);
    auto const targets = flip<length>(ids);
    return accumulate<4>(*m, [&](extent i) {
      auto const scores = net(micro_batch<batch, part>(ids, i));
      return mean(softmax_cross_entropy<vocab>(scores, micro_batch<batch, part>(targets, i))) / 4.0;
    });
  }
  constexpr auto step() {
    auto loss = gradients();
    opt.step(parameters(net));
    return loss;
  }
  /// The loss of the whole batch at once, without gradients.
  constexpr auto evaluate() {
    no_gradient const guard{*m};
    return gradients();
  }

private:
  static constexpr auto tokens_of(machine<L>& on) {
    return argmax<vocab>(random_normal<double, L, batch, length, vocab>(on, {.seed = 3}));
  }
};

template<Layout L, template<Layout> class Model>
std::vector<double> losses_on(process_mesh<typename L::mesh_type>& m) {
  training<L, Model> t{m};
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(t.step().value());
  losses.push_back(t.evaluate().value());
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

/// The stages of `L`, with as many threads in each process, against one stage with one thread.
template<class L, template<Layout> class Model, int Threads = 1>
void check(double tolerance = 0) {
  INFO(name_of<L>() << ", " << name_of<Model<L>>());
  auto& m        = processes<typename L::mesh_type>();
  auto const one = losses_on<piped<1>, Model>(processes<line<1>>(alone()));
  kernel::use_threads(Threads);
  auto const own = losses_on<L, Model>(m);
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (tolerance == 0) CHECK(own[i] == one[i]);
    else CHECK(std::abs(own[i] - one[i]) <= tolerance * one[i]);
  }
  expect_price<L, step_of<Model>, Threads>(m);
  kernel::use_threads(1);
}

}  // namespace

TEST_CASE("a Transformer's losses have the bits of one stage, with a tied table and without") {
  switch (communicator{}.size()) {
    case 2:
      check<piped<2>, tied>();
      check<piped<2>, untied>();
      break;
    case 4:
#ifdef MESHTF_LONG_ZOO
      check<piped<4>, tied>();
#endif
      check<piped_and_split, tied>(1e-12);
      check<piped_and_kept, tied>(1e-10);
      break;
    default: break;
  }
}

TEST_CASE("so do a Llama's, with two threads in each process") {
  if (communicator{}.size() == 2) check<piped<2>, llama, 2>();
}

TEST_CASE("with a tied table, one stage agrees with no stages to rounding", "[1]") {
  if (communicator{}.size() != 1) return;
  auto& m         = processes<line<1>>();
  auto const with = losses_on<piped<1>, tied>(m);
  auto const none = losses_on<plain, tied>(m);
  for (std::size_t i = 0; i < with.size(); ++i) CHECK(std::abs(with[i] - none[i]) <= 1e-6 * none[i]);
  CHECK(losses_on<piped<1>, untied>(m) == losses_on<plain, untied>(m));
}
