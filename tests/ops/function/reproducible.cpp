// reproducible: loss, weights and optimizer state have the bits of one process on 2 and 4, at the promised
// price; with dropout, clipping, sharded state, and across a checkpoint.
// test: processes 1 2 4 8
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../io/said.hpp"
#include "../../pipeline/on_stages.hpp"

#include <meshtf/nn/embedding.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>
#include <meshtf/nn/norm.hpp>
#include <meshtf/nn/self_attention.hpp>
#include <meshtf/ops/function/reproducible.hpp>

namespace {

using namespace meshtf;
using boost::mpi::communicator;
using pipelines::alone;
using pipelines::elements;
using pipelines::processes;

struct batch : dim<16> {};
struct block : dim<2> {};
inline constexpr int blocks = 8;
struct length : dim<7> {};
struct vocab : dim<29> {};
struct width : dim<18> {};
struct heads : dim<3> {};
struct key : dim<6> {};
struct hidden : dim<37> {};
struct experts : dim<4> {};
struct pixels : dim<150> {};
struct units : dim<240> {};  // a matrix is a message of its own

template<int N>
struct line : axis<N> {};
template<int N>
struct on_line : mesh<line<N>> {};
/// The batch is in N parts.
template<int N>
struct data : layout<on_line<N>, split<batch, line<N>>> {};

/// A language model of one block with experts, of which two are chosen at random, and with dropout.
template<Layout L>
struct language_model {
  nn::embedding<float, L, vocab, width> tokens;
  nn::layer_norm<float, L, width> norm;
  nn::self_attention<float, L, length, width, heads, key> attention;
  nn::mixture_of_experts<float, L, width, hidden, experts, block> mixture;

  constexpr explicit language_model(machine<L>& m) : language_model(m, nn::streams{5}) {}

  constexpr auto loss(auto const& ids, auto const& next, std::uint64_t stream) const {
    auto const key_of = [stream](std::uint64_t use) {
      return random_key{.seed = 9, .stream = 4 * stream + use};
    };
    auto const x      = tokens(ids);
    auto const n      = norm(x);
    auto const a      = attention(n, {.causal = true, .dropout = 0.1, .random = key_of(0)});
    auto const y      = x + dropout(a, 0.1, key_of(1));
    auto const mixed  = mixture(norm(y), key_of(2));
    auto const z      = y + dropout(mixed.value, 0.1, key_of(3));
    auto const losses = softmax_cross_entropy<vocab>(tokens.logits(z), next);
    return mean(losses) + 0.01F * finish(mixed.balance_loss);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("norm", norm), named("attention", attention),
                              named("mixture", mixture));
  }

private:
  constexpr language_model(machine<L>& m, nn::streams seeds)
      : tokens{m, normal{seeds.next(), 0.3}},
        norm{m},
        attention{m, seeds, 0.3, 0.3},
        mixture{m, seeds, 0.3, 0.3} {}
};

/// A perceptron with one hidden layer.
template<Layout L>
struct perceptron {
  nn::linear<float, L, pixels, units> first;
  nn::linear<float, L, units, vocab> second;
  static constexpr extent size =
      pixels::size * units::size + units::size + units::size * vocab::size + vocab::size;

  constexpr explicit perceptron(machine<L>& m) : first{m, he_normal{1}}, second{m, he_normal{2}} {}
  constexpr auto loss(auto const& x, auto const& labels, std::uint64_t) const {
    auto const h      = relu(first(x));
    auto const scores = second(h);
    return mean(softmax_cross_entropy<vocab>(scores, labels));
  }
  constexpr auto parameters() { return meshtf::parameters(named("first", first), named("second", second)); }
};

struct options {
  bool clips  = false;
  bool shards = false;
};

/// Steps on the same batch. The model says what it learns from.
template<template<class> class Model, Layout L, options Options = options{}>
struct training {
  machine<L>& m;
  Model<L> model;
  adamw opt{1e-2};
  std::uint64_t steps = 0;

  constexpr explicit training(machine<L>& on) : m{on}, model{on} {
    opt.shard_state = Options.shards;
    if (Options.clips) opt.max_norm = 0.5;
  }

  constexpr auto step() {
    if constexpr (requires { model.tokens; })
      return step_on(argmax<vocab>(random_normal<float, L, batch, length, vocab>(m, {3})),
                     argmax<vocab>(random_normal<float, L, batch, length, vocab>(m, {4})));
    else
      return step_on(random_normal<float, L, batch, pixels>(m, {3}),
                     argmax<vocab>(random_normal<float, L, batch, vocab>(m, {4})));
  }

private:
  constexpr auto step_on(auto const& x, auto const& y) {
    std::uint64_t const now = steps++;
    auto loss               = reproducible<batch, block>(model.parameters(), [&](extent i) {
      return model.loss(block_of<batch, block>(x, i), block_of<batch, block>(y, i),
                                      now * blocks + static_cast<std::uint64_t>(i)) /
             float{blocks};
    });
    opt.step(model.parameters());
    return loss;
  }
};

/// What training leaves: losses, weights, and the optimizer's arrays, of which a process may have a part.
struct outcome {
  std::vector<float> losses;
  std::vector<std::vector<float>> weights;
  struct part {
    std::vector<float> elements;
    extent first = 0;
  };
  std::vector<part> state;
};

template<class Training>
void add_what_is_left(outcome& seen, Training& t) {
  t.model.parameters().for_each([&](auto const& w) {
    seen.weights.push_back(elements(w));
    t.opt.for_each_array(w, [&](char const*, auto const& handle, replica_parts const& parts) {
      extent const rank    = parts.count == 1 ? 0 : t.m.rank_along(parts.over);
      float const* const x = handle->data();
      seen.state.push_back({{x, x + parts.local_extent(rank)}, parts.first(rank)});
    });
  });
}

template<template<class> class Model, Layout L, options Options>
outcome trained(process_mesh<typename L::mesh_type>& m, int steps) {
  training<Model, L, Options> t{m};
  outcome seen;
  for (int i = 0; i < steps; ++i) {
    auto const loss = t.step();
    seen.losses.push_back(loss.value());
  }
  add_what_is_left(seen, t);
  return seen;
}

bool same_bits(float const* x, float const* y, std::size_t n) {
  return std::memcmp(x, y, n * sizeof(float)) == 0;
}

void expect_same(outcome const& own, outcome const& truth) {
  CHECK(same_bits(own.losses.data(), truth.losses.data(), truth.losses.size()));
  REQUIRE(own.weights.size() == truth.weights.size());
  for (std::size_t i = 0; i < truth.weights.size(); ++i)
    CHECK(same_bits(own.weights[i].data(), truth.weights[i].data(), truth.weights[i].size()));
  REQUIRE(own.state.size() == truth.state.size());
  CHECK(!own.state.empty());
  for (std::size_t i = 0; i < truth.state.size(); ++i) {
    auto const& part = own.state[i];
    CHECK(same_bits(part.elements.data(), truth.state[i].elements.data() + part.first, part.elements.size()));
  }
}

/// A program whose cost is compared.
template<template<class> class Model, options Options = options{}>
struct one_step {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<Model, L, Options> t{m};
    auto const loss = t.step();
  }
};

// of n processes, each sends log2(n) times the gradients and the loss
template<int N>
constexpr extent sent_by_perceptron = dry_run<data<N>>(one_step<perceptron>{}).bytes_sent();
static_assert(sent_by_perceptron<1> == 0);
static_assert(sent_by_perceptron<2> == 4 * (perceptron<data<2>>::size + 1));
static_assert(sent_by_perceptron<4> == 2 * 4 * (perceptron<data<4>>::size + 1));

template<template<class> class Model, options Options, int N>
void check_on() {
  auto& m          = processes<on_line<N>>();
  auto const truth = trained<Model, data<1>, Options>(processes<on_line<1>>(alone()), 20);
  CHECK(truth.losses.back() < truth.losses.front());
  expect_same(trained<Model, data<N>, Options>(m, 20), truth);
  static constexpr fixture::cost_summary promised{dry_run<data<N>>(one_step<Model, Options>{})};
  fixture::compare(promised, fixture::cost_summary{recorded<data<N>>(m, one_step<Model, Options>{})},
                   "a step");
}

template<template<class> class Model, options Options = options{}>
void check() {
  switch (communicator{}.size()) {
    case 1: check_on<Model, Options, 1>(); break;
    case 2: check_on<Model, Options, 2>(); break;
    case 4: check_on<Model, Options, 4>(); break;
    default: break;
  }
}

inline constexpr options everything{true, true};

}  // namespace

TEST_CASE("a perceptron has the same bits on 1, 2 and 4 processes, as its gradients are clipped") {
  check<perceptron, everything>();
}

TEST_CASE("a language model with dropout and experts has the same bits on 1, 2 and 4 processes") {
  check<language_model, everything>();
}

TEST_CASE("a checkpoint of 2 processes goes on on 4 with the bits of a training that never stopped") {
  if (communicator{}.size() != 4) return;
  static auto const half_of_them = communicator{}.split(communicator{}.rank() / 2);
  std::string const folder       = "reproducible_two";
  auto const truth = trained<language_model, data<1>, everything>(processes<on_line<1>>(alone()), 20);
  {
    training<language_model, data<2>, everything> two{processes<on_line<2>>(half_of_them)};
    for (int i = 0; i < 10; ++i) two.step();
    if (communicator{}.rank() < 2) save(two.model.parameters(), two.opt, {10, 1}, folder);
  }
  communicator{}.barrier();
  training<language_model, data<4>, everything> four{processes<on_line<4>>()};
  load(four.model.parameters(), four.opt, folder);
  four.steps = 10;
  outcome seen;
  for (int i = 0; i < 10; ++i) {
    auto const loss = four.step();
    CHECK(loss.value() == truth.losses[static_cast<std::size_t>(10 + i)]);
  }
  seen.losses = truth.losses;
  add_what_is_left(seen, four);
  expect_same(seen, truth);
}

TEST_CASE("weights are added up over all blocks") {
  auto& m = processes<on_line<1>>(alone());
  using L = data<1>;
  parameter<float, L, width> w{m, normal{1}};
  auto const x    = random_normal<float, L, batch, width>(m, {3});
  auto const list = parameters(w);
  auto const loss = reproducible<batch, block>(
      list, [&](extent i) { return sum(square(block_of<batch, block>(x, i) * w)); },
      [&](extent i) { return sum(cast<float>(less(block_of<batch, block>(x, i), 0.5F))); });
  auto const counting = sum(cast<float>(less(x, 0.5F)));
  CHECK(counting.value() > 100);
  auto const whole = sum(square(x * w));
  CHECK(loss.value() == Approx(whole.value() / counting.value()));
  auto const nothing = [&](extent i) { return sum(block_of<batch, block>(x, i) * 0.0F); };
  CHECK(files::what_it_throws([&] {
          zero_gradients(list);
          (void)reproducible<batch, block>(list, nothing, nothing);
        }).find("8 blocks to add up to more than 0") != std::string::npos);
}

TEST_CASE("a block of another process, a gradient of before, and a state are refused") {
  auto& m = processes<on_line<1>>(alone());
  using L = data<1>;
  parameter<float, L, width> w{m, normal{1}};
  auto const x    = random_normal<float, L, batch, width>(m, {3});
  auto const list = parameters(w);
  auto const loss = [&](extent i) { return sum(block_of<batch, block>(x, i) * w); };
  auto const says = [](auto const& f, char const* words) {
    std::string const text = files::what_it_throws(f);
    INFO(text);
    return text.find(words) != std::string::npos;
  };
  CHECK(says([&] { (void)reproducible<batch, block>(list, [&](extent i) { return loss(i + 1); }); },
             "expects a block of this process, 0 to 7, got 8"));
  CHECK(!w.slot().sum);
  state<float, L, width> seen{m};
  auto const writes = [&](extent i) {
    seen.update(mean<block>(block_of<batch, block>(x, i)));
    return loss(i);
  };
  CHECK(says([&] { (void)reproducible<batch, block>(parameters(w, seen), writes); },
             "expects a step that writes no state"));
  CHECK(!w.slot().sum);
  backward(loss(0));
  CHECK(says([&] { (void)reproducible<batch, block>(list, loss); }, "expects parameters without gradients"));
  CHECK(w.slot().sum);
  CHECK(
      says([&] { (void)block_of<batch, block>(x * sum(w), 0); }, "this value was computed from parameters"));
}
