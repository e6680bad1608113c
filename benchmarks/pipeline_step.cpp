// A stack of equal blocks as a pipeline: on two processes it has two stages, on one it has one. With M
// micro-batches two stages can be 2 M / (M + 1) times as fast: the bubble is 1 / (M + 1).
//
// Run:    examples/processes 1 build/release/benchmarks/pipeline_step
//         examples/processes 2 build/release/benchmarks/pipeline_step
// Prints: the median seconds of a step with 8 micro-batches, the shortest, and the loss, whose digits are
// equal.
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <meshtf/meshtf.hpp>

namespace {

struct batch : meshtf::dim<512> {};
struct part : meshtf::dim<64> {};
struct model : meshtf::dim<512> {};
struct hidden : meshtf::dim<2048> {};

template<int K>
struct stages : meshtf::axis<K> {};
template<int K>
struct line : meshtf::mesh<stages<K>> {};
template<int K>
struct piped : meshtf::layout<line<K>, meshtf::staged<stages<K>>> {};

template<meshtf::Layout L>
struct block {
  meshtf::nn::linear<float, L, model, hidden> up;
  meshtf::nn::linear<float, L, hidden, model> down;
  constexpr explicit block(meshtf::machine<L>& m)
      : up{m, meshtf::normal{1, 0.02}}, down{m, meshtf::normal{2, 0.02}} {}
  constexpr auto operator()(auto const& x) const { return x + down(relu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

template<int K>
void run(boost::mpi::communicator const& world) {
  using L             = piped<K>;
  constexpr int turns = 15;
  meshtf::process_mesh<line<K>> m{world};
  meshtf::nn::stack<block<L>, 8> net{m};
  meshtf::sgd opt{1e-4};
  auto const x = meshtf::random_normal<float, L, batch, model>(m, {.seed = 1});
  std::vector<double> seconds;
  float loss = 0;
  for (int i = 0; i < turns; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    auto const sum   = meshtf::accumulate<8>(m, [&](meshtf::extent n) {
      auto const y = net(meshtf::micro_batch<batch, part>(x, n));
      return mean(square(y)) / 8.0F;
    });
    opt.step(parameters(net));
    loss = sum.value();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  if (m.rank() == 0)
    std::printf("%d stage%s: median %.1f ms, shortest %.1f ms, loss %.9g\n", K, K == 1 ? "" : "s",
                1e3 * bench::quantile(seconds, 0.5), 1e3 * *std::min_element(seconds.begin(), seconds.end()),
                static_cast<double>(loss));
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  if (env.world().size() == 1) run<1>(env.world());
  else run<2>(env.world());
}
