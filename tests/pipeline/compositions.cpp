// Stages together with what else the library has: padded and counted dimensions, bfloat16, uneven cuts,
// values that skip stages, and each optimizer. The bits are those of one stage.
// test: program pipeline
#include <array>
#include <cerrno>
#include <vector>

#include <unistd.h>

#include "on_stages.hpp"

namespace {

using namespace pipelines;

struct batch : dim<14> {};  // neither is a multiple of four
struct part : dim<7> {};
struct length : up_to<6> {};
struct width : dim<5> {};
struct hidden : dim<8> {};

template<int K>
struct stages : axis<K> {};
template<int R>
struct rows : axis<R> {};
template<int C>
struct cols : axis<C> {};
template<int K, int R, int C>
struct grid : mesh<stages<K>, rows<R>, cols<C>> {};

inline constexpr int blocks_of_net = 5;

/// Five blocks cut evenly: three stages have 2, 2 and 1.
template<int K, int R = 1, int C = 1>
struct piped : layout<grid<K, R, C>, staged<stages<K>>, padded<batch, rows<R>>, padded<part, rows<R>>,
                      padded<width, cols<C>>> {
  using alone                 = piped<1, R, C>;
  static constexpr int across = R * C;
};
struct cut : layout<grid<3, 1, 1>, staged<stages<3>, std::array{0, 1, 4, 5}>> {
  using alone                 = piped<1>;
  static constexpr int across = 1;
};

template<Layout L>
struct block {
  nn::linear<float, L, width, hidden> up;
  nn::linear<float, L, hidden, width> down;
  constexpr block(machine<L>& m, std::uint64_t& seed)
      : up{m, normal{seed, 0.4}}, down{m, normal{seed + 1, 0.4}} {
    seed += 2;
  }
  template<class X>
  constexpr X operator()(X const& x) const {
    return x + down(tanh(up(x)));
  }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};

/// What is handed on from block to block is of the type `Handed`, and the last stage gets two values of the
/// first as well, of which one wants a gradient. `counts`: micro-batches are of sequences of different
/// lengths.
template<Layout L, FloatingElement Handed>
struct training {
  std::uint64_t seed = 1;
  std::vector<parameter<float, L, width>> scale;
  nn::stack<block<L>> net;
  tensor<float, L, batch, length, width> data;
  machine<L>* m;
  bool counts = false;

  constexpr explicit training(machine<L>& on)
      : net{on, nn::depth{blocks_of_net}, seed},
        data{random_normal<float, L, batch, length, width>(on, {.seed = 3})},
        m{&on} {
    at_stage<L> const here{on, 0};
    scale.emplace_back(on, normal{2});
  }

  constexpr auto parameters() { return meshtf::parameters(named("scale", scale), named("net", net)); }
  constexpr auto gradients() {
    auto const step = [&](extent i) {
      auto const of_all = micro_batch<batch, part>(data, i);
      if (!counts) return loss_of(of_all);
      counted<length> const guard{*m, 3 + 2 * i};
      return loss_of(of_all);
    };
    return accumulate<2>(*m, step, [&](extent i) {
      auto const ones = micro_batch<batch, part>(data, i) * 0.0F + 1.0F;
      if (!counts) return sum(ones);
      counted<length> const guard{*m, 3 + 2 * i};
      return sum(ones);
    });
  }

private:
  /// `x` was made outside of the stages' work, so it is on each of them.
  constexpr auto loss_of(tensor<float, L, part, length, width> const& x) const {
    constexpr int last = stage_count<L> - 1;
    auto const wave    = sin(x * scale[0]);  // of stage 0
    auto const largest = argmax<width>(wave);
    auto const y       = net(cast<Handed>(wave));
    auto const skips   = hand_on(wave, last);
    auto const numbers = hand_on(largest, last);
    auto const error   = square(cast<float>(y) - skips) * cast<float>(numbers + 1);
    return sum(error);
  }
};

template<FloatingElement Handed>
struct gradients_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, Handed> t{m};
    auto const loss = t.gradients();
  }
};

/// What training leaves.
struct outcome {
  std::vector<float> losses;
  shards weights;
  shards averages;
};

template<FloatingElement Handed, class Layout, class MakeOptimizer>
outcome outcome_on(process_mesh<typename Layout::mesh_type>& m, MakeOptimizer const& make, bool counts) {
  training<Layout, Handed> t{m};
  auto opt        = make();
  t.counts        = counts;
  auto const list = t.parameters();
  outcome seen;
  for (int i = 0; i < 3; ++i) {
    seen.losses.push_back(t.gradients().value());
    opt.step(list);
  }
  CHECK(seen.losses[2] != seen.losses[0]);
  seen.weights = elements_of(list);
  if constexpr (requires { opt.exchange(list); }) {
    opt.exchange(list);
    seen.averages = elements_of(list);
  }
  return seen;
}

constexpr auto descent = [] { return sgd{0.1}; };

/// The stages of `L`, on as many processes as they need, against one stage. `blocks`: of each stage.
template<class L, FloatingElement Handed = float, class MakeOptimizer = decltype(descent)>
void check(std::array<std::size_t, stage_count<L>> const& blocks, MakeOptimizer const& make = descent,
           bool counts = false) {
  constexpr int needed          = L::mesh_type::size;
  static auto const taking_part = communicator{}.split(communicator{}.rank() < needed ? 0 : 1);
  if (communicator{}.rank() >= needed) return;
  INFO(name_of<L>() << ", counts: " << counts);
  auto& m                    = processes<typename L::mesh_type>(taking_part);
  static auto const of_stage = taking_part.split(taking_part.rank() / L::across);
  auto& one                  = processes<typename L::alone::mesh_type>(of_stage);
  auto const truth           = outcome_on<Handed, typename L::alone>(one, make, counts);
  auto const own             = outcome_on<Handed, L>(m, make, counts);
  CHECK(own.losses == truth.losses);
  auto const stage = static_cast<std::size_t>(m.template coordinate<stage_axis<L>>());
  CHECK(own.weights.size() == 4 * blocks[stage] + (stage == 0 ? 1 : 0));
  expect_part_of(own.weights, truth.weights);
  if (!truth.averages.empty()) expect_part_of(own.averages, truth.averages);
}

template<class Optimizer>
constexpr auto clipped = [] {
  Optimizer opt{0.01};
  opt.max_norm = 0.05;
  return opt;
};

// ---- weights kept in parts within a stage

struct rows_of_data : dim<16> {};
struct half : dim<8> {};
struct narrow : dim<16> {};
struct wide : dim<32> {};
struct four_a_stage : mesh<stages<2>, cols<4>> {};
struct kept : layout<four_a_stage, staged<stages<2>>, split<rows_of_data, cols<4>>, split<half, cols<4>>,
                     kept_over<cols<4>>> {};

struct gradients_of_kept {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    std::vector<nn::linear<float, L, narrow, wide>> first;
    std::vector<nn::linear<float, L, wide, narrow>> last;
    {
      at_stage<L> const here{m, 0};
      first.emplace_back(m, normal{1, 0.1});
    }
    {
      at_stage<L> const here{m, 1};
      last.emplace_back(m, normal{2, 0.1});
    }
    auto const x    = random_normal<float, L, rows_of_data, narrow>(m, {.seed = 3});
    auto const loss = accumulate<2>(m, [&](extent i) {
      auto const h = hand_on(first[0](micro_batch<rows_of_data, half>(x, i)), 1);
      return mean(square(last[0](h))) / 2.0F;
    });
  }
};

// A gradient moves to its parts within its stage. The other stage's processes are no replicas, and wait
// elsewhere: with four parts and two stages a path over them would send less, and never arrive. (Of one
// element is the loss, which all stages get.)
static_assert([] {
  for (auto const& promise : promised<kept, gradients_of_kept>)
    for (auto const& c : promise.calls)
      if (c.kind != collective::hand_on && c.count > 1 && (c.over & stage_axes<kept>) != 0) return false;
  return true;
}());

/// Whether there is memory at `p`: the system is asked to read a byte there.
template<class T>
bool is_mapped(T const* p) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  auto const wrote  = write(ends[1], p, 1);
  int const failure = errno;
  close(ends[0]);
  close(ends[1]);
  CHECK((wrote == 1 || failure == EFAULT));
  return wrote == 1;
}

}  // namespace

TEST_CASE("stages beside padded and counted dimensions, cut evenly or not") {
  switch (communicator{}.size()) {
    case 4:
      check<piped<2, 1, 2>>({3, 2});
      check<piped<3>>({2, 2, 1});
      check<cut>({1, 3, 1});
      check<cut>({1, 3, 1}, descent, true);
      expect_price<piped<2, 1, 2>, gradients_of<float>>(processes<grid<2, 1, 2>>());
      break;
    case 8:
      check<piped<2, 4, 1>>({3, 2});
      check<piped<2, 4, 1>>({3, 2}, descent, true);
      break;
    default: break;
  }
}

TEST_CASE("weights of a stage are kept in parts, and never moved over another stage") {
  if (communicator{}.size() == 8) expect_price<kept, gradients_of_kept>(processes<four_a_stage>());
}

TEST_CASE("stages hand on bfloat16, in half the bytes") {
  if (communicator{}.size() != 4) return;
  check<piped<2, 1, 2>, bfloat16>({3, 2});
  expect_price<piped<2, 1, 2>, gradients_of<bfloat16>>(processes<grid<2, 1, 2>>());
  constexpr auto message = [](auto const& promise) {
    for (auto const& c : promise[0].calls)
      if (c.kind == collective::hand_on) return c.sent;
    return extent{0};
  };
  constexpr extent elements_of_shard = 7 * 6 * 3;
  static_assert(message(promised<piped<2, 1, 2>, gradients_of<float>>) == 4 * elements_of_shard);
  static_assert(message(promised<piped<2, 1, 2>, gradients_of<bfloat16>>) == 2 * elements_of_shard);
}

TEST_CASE("each optimizer steps the parameters of all stages as those of one") {
  if (communicator{}.size() != 4) return;
  auto const steps = [](auto const& make) { check<cut>({1, 3, 1}, make); };
  steps(clipped<momentum>);
  steps(clipped<lion>);
  steps(clipped<lamb>);
  steps([] { return lars{1.0}; });
  steps([] {
    adafactor factored{0.05};
    factored.least_factored = 2;
    factored.beta1          = 0.5;
    return factored;
  });
  steps([] { return averaged<adamw>{0.5, 0.01}; });
}

TEST_CASE("a process that touches what another stage has would crash") {
  if (communicator{}.size() != 4) return;
  using L = piped<2, 1, 2>;
  training<L, float> t{processes<grid<2, 1, 2>>()};
  int absent = 0;
  t.parameters().for_each([&](auto& w) {
    auto const* const p = w.handle()->data();
    bool const is_here  = !w.handle()->is_absent();
    CHECK(is_mapped(p) == is_here);
    if (is_here) return;
    ++absent;
    // as far from it as what is ours is from null, so null would not do
    CHECK(!is_mapped(p + reinterpret_cast<std::uintptr_t>(&t) / sizeof(*p)));
    CHECK(!is_mapped(p + (std::uintptr_t{1} << 50)));
  });
  CHECK(absent >= 8);
}
