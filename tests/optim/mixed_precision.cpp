// AdamW in mixed precision: gradients arrive in float, and with sharded state it takes the steps that it
// takes without, at the promised price.
// test: program optim
#include "model.hpp"

using namespace optim;

namespace {

/// Layers of float weights that compute in bfloat16.
template<Layout L>
struct mixed_model {
  nn::linear<float, L, in, hidden> up;
  nn::layer_norm<float, L, hidden> norm;
  nn::linear<float, L, hidden, out> down;

  constexpr explicit mixed_model(machine<L>& m) : up{m, normal{1, 0.4}}, norm{m}, down{m, normal{2, 0.3}} {}
  constexpr auto parameters() { return meshtf::parameters(up, norm, down); }
  constexpr auto loss(tensor<bfloat16, L, batch, in> const& x) const {
    return mean(square(cast<float>(down(norm(tanh(up(x)))))));
  }
};

template<bool Sharded>
struct three_mixed_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    mixed_model<L> net{m};
    adamw opt{0.05};
    opt.shard_state = Sharded;
    opt.max_norm    = 0.5;
    auto const x    = random_normal<bfloat16, L, batch, in>(m, {.seed = 21});
    for (int i = 0; i < 3; ++i) {
      auto const loss = net.loss(x);
      see(loss);
      backward(loss);
      opt.step(net.parameters());
    }
    net.parameters().for_each([&see](auto& w) { see(w); });
  }
};

template<Layout L>
void check() {
  std::string const name{name_of<L>()};
  compare(run<L>(three_mixed_steps<true>{}), run<L>(three_mixed_steps<false>{}), 1e-5, name);
  static constexpr cost_summary promised{dry_run<L>(shown_to<three_mixed_steps<true>>{{}})};
  compare(
      promised,
      cost_summary{recorded<L>(processes<typename L::mesh_type>(), shown_to<three_mixed_steps<true>>{{}})},
      name);
}

}  // namespace

TEST_CASE("AdamW shards its state in mixed precision") {
  under_each_layout([]<Layout L> { check<L>(); });
}
