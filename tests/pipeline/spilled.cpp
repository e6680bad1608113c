// Blocks that are spilled on stages, and the state of their optimizer: the bits of blocks that are not, at
// the promised price.
// test: program pipeline
#ifdef MESHTF_LONG_ZOO
#include "on_stages.hpp"
#include "program.hpp"

namespace {

using namespace pipelines;

template<Layout L, bool Spills>
struct blocks_of_training {
  net<L, false> model_;
  adamw opt{1e-2};
  machine<L>* m;

  constexpr explicit blocks_of_training(machine<L>& on) : model_{on}, m{&on} {
    on.spill_from(1);
    opt.spill_state = Spills;
    opt.prepare(parameters(model_));
  }
  constexpr auto scores(auto const& ids, std::uint64_t stream) const {
    auto x = model_.tokens[0](ids);
    for (int i = 0; i < blocks_of_net; ++i) {
      x                = hand_on(x, nn::stage_of<L>(i, blocks_of_net));
      auto const block = [&](auto const& a) { return model_.through_block(i, a, stream); };
      if constexpr (Spills) x = spill(block, x);
      else x = block(x);
    }
    return model_.output[0](x);
  }
  constexpr auto step() {
    auto const ids = cast<int>(random_uniform<float, L, batch, length>(*m, {.seed = 5}, 0, vocab::size));
    auto loss      = accumulate<4>(*m, [&](extent i) {
      auto const x = micro_batch<batch, part<4>>(ids, i);
      auto const s = scores(x, static_cast<std::uint64_t>(i));
      auto const y = micro_batch<batch, part<4>>(ids, i);  // on the last stage
      return mean(softmax_cross_entropy<vocab>(s, y)) / 4.0F;
    });
    opt.step(parameters(model_));
    return loss;
  }
};

template<bool Spills>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    blocks_of_training<L, Spills> t{m};
    auto const loss = t.step();
  }
};

template<Layout L, bool Spills>
shards weights_after_steps(process_mesh<typename L::mesh_type>& m) {
  blocks_of_training<L, Spills> t{m};
  for (int i = 0; i < 3; ++i) auto const loss = t.step();
  return elements_of(parameters(t.model_));
}

template<int K, int R>
void check() {
  using L = piped<K, R>;
  auto& m = processes<grid<K, R, 1>>();
  CHECK(weights_after_steps<L, true>(m) == weights_after_steps<L, false>(m));
  expect_price<L, step_of<true>>(m);
}

}  // namespace

TEST_CASE("blocks that are spilled on stages have the bits of blocks that are not, at the promised price") {
  switch (communicator{}.size()) {
    case 1: check<1, 1>(); break;
    case 2: check<2, 1>(); break;
    case 4: check<2, 2>(); break;
    default: break;
  }
}
#endif
