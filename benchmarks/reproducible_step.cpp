// What it costs that a step has the same bits on any number of processes: a language model of 16 sequences in
// one batch, in 8 micro-batches with the gradients' usual sum, and in 8 blocks with `reproducible`.
//
// Run:    examples/processes 2 build/release/benchmarks/reproducible_step   (1, 2 or 4)
// Prints: the medians of a step, interleaved, and their ratios to the batch at once.
#include "timing.hpp"

#include <cstdio>

#include <meshtf/ops/function.hpp>
#include <meshtf/training.hpp>

namespace {

struct batch : meshtf::dim<16> {};
struct block : meshtf::dim<2> {};
inline constexpr int blocks = 8;
struct length : meshtf::dim<64> {};
struct vocab : meshtf::dim<256> {};
struct model : meshtf::dim<128> {};
struct heads : meshtf::dim<4> {};
struct key : meshtf::dim<32> {};
struct hidden : meshtf::dim<512> {};
struct sizes : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  [[maybe_unused]] static constexpr int layers = 2;
};

template<int N>
struct rows : meshtf::axis<N> {};
template<int N>
struct line : meshtf::mesh<rows<N>> {};
/// Of N blocks, one for each process.
template<int N>
struct some : meshtf::dim<block::size * N> {};
template<int N>
struct data : meshtf::layout<line<N>, meshtf::split<batch, rows<N>>, meshtf::split<some<N>, rows<N>>> {};
/// Those of `data` but for the micro-batches.
template<int N>
struct batch_alone : meshtf::layout<line<N>, meshtf::split<batch, rows<N>>> {};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, sizes> net;
  meshtf::adamw opt{1e-4};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> next;

  explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{random_ids(m, 2)}, next{random_ids(m, 3)} {}
  static auto random_ids(meshtf::machine<L>& m, std::uint64_t seed) {
    return cast<int>(meshtf::random_uniform<float, L, batch, length>(m, {.seed = seed}, 0, vocab::size));
  }
  auto loss(auto const& x, auto const& y) { return mean(meshtf::softmax_cross_entropy<vocab>(net(x), y)); }
  void update() { opt.step(parameters(net)); }

  void at_once() {
    auto const l = loss(ids, next);
    backward(l);
    update();
  }
  template<int N>
  void in_micro_batches() {
    using part = some<N>;
    (void)meshtf::accumulate<blocks / N>([&](meshtf::extent i) {
      auto const x = meshtf::micro_batch<batch, part>(ids, i);
      auto const y = meshtf::micro_batch<batch, part>(next, i);
      return loss(x, y) / (float{blocks} / N);
    });
    update();
  }
  void in_blocks() {
    (void)meshtf::reproducible<batch, block>(parameters(net), [&](meshtf::extent i) {
      auto const x = meshtf::block_of<batch, block>(ids, i);
      auto const y = meshtf::block_of<batch, block>(next, i);
      return loss(x, y) / float{blocks};
    });
    update();
  }
};

template<int N>
void measure() {
  meshtf::process_mesh<line<N>> m{MPI_COMM_WORLD};
  training<data<N>> usual{m};
  training<batch_alone<N>> of_blocks{m};
  std::vector<bench::variant> const variants{
      {"the batch at once", [&] { usual.at_once(); }},
      {"8 / processes micro-batches", [&] { usual.template in_micro_batches<N>(); }},
      {"8 blocks, reproducible", [&] { of_blocks.in_blocks(); }},
  };
  auto const timings = bench::interleave(MPI_COMM_WORLD, variants, 15, 2);
  if (m.rank() != 0) return;
  for (auto const& t : timings)
    std::printf("%d processes, %s: %.1f ms, %.3f\n", N, t.name.c_str(), 1e3 * median(t),
                median(t) / median(timings[0]));
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  int const processes = env.world().size();
  switch (processes) {
    case 1: measure<1>(); break;
    case 2: measure<2>(); break;
    case 4: measure<4>(); break;
    default: std::fprintf(stderr, "meshtf: expected 1, 2 or 4 processes, got %d\n", processes); return 64;
  }
}
