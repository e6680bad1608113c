// Micro-batches of different numbers of terms: the mean is that of the whole batch, on any number of stages.
// test: program pipeline
#include <string>

#include "on_stages.hpp"

namespace {

using namespace pipelines;

struct batch : dim<8> {};
struct part : dim<2> {};
struct width : dim<4> {};

template<int K>
struct stages : axis<K> {};
template<int K>
struct line : mesh<stages<K>> {};
template<int K>
struct piped : layout<line<K>, staged<stages<K>>> {};
struct plain : layout<line<1>> {};

template<Layout L>
struct block {
  parameter<double, L, width> scale;
  constexpr explicit block(machine<L>& m) : scale{m, normal{1}} {}
  constexpr auto operator()(auto const& x) const { return tanh(x * scale); }
  constexpr auto parameters() { return meshtf::parameters(scale); }
};

/// Of 8 samples those whose first number is at least `least` count. The loss, after a step.
template<Layout L>
double loss_on(process_mesh<typename L::mesh_type>& m, double least) {
  nn::stack<block<L>, 4> net{m};
  auto const x       = random_normal<double, L, batch, width>(m, {.seed = 1});
  auto const first   = max<width>(x);
  auto const counted = cast<double>(greater_equal(first, least));
  double loss        = 0;
  for (int i = 0; i < 2; ++i) {
    auto const one = accumulate<4>(
        m,
        [&](extent n) {
          auto const y = sum<width>(square(net(micro_batch<batch, part>(x, n))));
          return sum(y * micro_batch<batch, part>(counted, n));
        },
        [&](extent n) { return sum(micro_batch<batch, part>(counted, n)); });
    loss = one.value();
    sgd{0.1}.step(parameters(net));
  }
  return loss;
}
/// The same of the whole batch at once.
double loss_at_once(process_mesh<line<1>>& m, double least) {
  nn::stack<block<plain>, 4> net{m};
  auto const x       = random_normal<double, plain, batch, width>(m, {.seed = 1});
  auto const first   = max<width>(x);
  auto const counted = cast<double>(greater_equal(first, least));
  double loss        = 0;
  for (int i = 0; i < 2; ++i) {
    auto const one = sum(sum<width>(square(net(x))) * counted) / sum(counted);
    backward(one);
    loss = one.value();
    sgd{0.1}.step(parameters(net));
  }
  return loss;
}

template<int K>
void check() {
  auto& solo = processes<line<1>>(alone());
  for (double const least : {-9.0, 0.8, 1.2}) {
    double const truth = loss_at_once(solo, least);
    double const one   = loss_on<piped<1>>(solo, least);
    CHECK(loss_on<piped<K>>(processes<line<K>>(), least) == one);
    CHECK(loss_on<plain>(solo, least) == one);
    CHECK(std::abs(one - truth) <= 1e-12 * truth);
  }
  std::string said;
  try {
    loss_on<piped<K>>(processes<line<K>>(), 99);
  } catch (usage_error const& e) {
    said = e.what();
  }
  CHECK(said == "expected the weights of 4 micro-batches to add up to more than 0: no term counts");
}

}  // namespace

TEST_CASE("a weighted mean over micro-batches is that of the batch") {
  switch (communicator{}.size()) {
    case 1: check<1>(); break;
    case 2: check<2>(); break;
    case 4: check<4>(); break;
    default: break;
  }
}
