// A dry run leaves out the blocks of other stages: the price is that of calling all, also where a block
// changes more than elements, such as one that stops the gradient.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<16> {};
struct part : dim<4> {};
struct model : dim<24> {};
struct hidden : dim<32> {};

struct stages : axis<4> {};
struct cols : axis<2> {};
struct grid : mesh<stages, cols> {};
struct piped : layout<grid, staged<stages>, split<hidden, cols>> {};

/// What goes from block to block: the branch is a partial sum.
template<Layout L>
struct block {
  nn::linear<float, L, model, hidden> up;
  nn::projection<float, L, hidden, model> down;
  bool stops;

  constexpr block(machine<L>& m, int stopped, int& number)
      : up{m, normal{1, 0.1}}, down{m, normal{2, 0.1}}, stops(number++ < stopped) {}
  constexpr auto operator()(tensor<float, L, part, model> const& x) const { return after(x); }
  template<class X>
  constexpr auto operator()(nn::residual<X> const& x) const {
    return after(x.stream + x.branch);
  }
  constexpr auto parameters() { return meshtf::parameters(up, down); }

private:
  template<class X>
  constexpr auto after(X const& x) const {
    X const branch = down(relu(up(x)));
    // `if`, not `?:`: g++ 12 miscounts handles in a conditional expression in constant evaluation
    if (stops) return nn::residual<X>{x, stop_gradient(branch)};
    return nn::residual<X>{x, branch};
  }
};

/// The first `stopped` blocks give their results no gradient.
template<Layout L>
struct training {
  std::vector<parameter<float, L, model>> scale;
  int number = 0;
  nn::stack<block<L>, 4> blocks;
  tensor<float, L, batch, model> data;
  machine<L>* m;
  bool scales;

  constexpr training(machine<L>& on, int stopped, bool scaled)
      : blocks{on, stopped, number}, data{on}, m{&on}, scales{scaled} {
    at_stage<L> const here{on, 0};
    scale.emplace_back(on);
  }
  constexpr auto step() {
    return accumulate<4>(*m, [&](extent i) {
      auto const x = micro_batch<batch, part>(data, i);
      if (scales) return loss_of(x * scale[0]);
      return loss_of(x);
    });
  }

private:
  constexpr auto loss_of(tensor<float, L, part, model> const& x) const {
    auto const y = blocks(x);
    return mean(square(y.stream + y.branch));
  }
};

using found = staged_cost<grid, 4>;

/// The same with each process calling all blocks.
template<int Stage>
constexpr cost<grid> of_all(int stopped, bool scales) {
  cost<grid> c;
  stage_passes passes;
  detail::price_step<training, piped>(threads{}, Stage, false, c, passes, stopped, scales);
  return c;
}
template<int Stopped, bool Scales>
constexpr bool is_price_of_all() {
  constexpr found f = dry_run<training, piped>(Stopped, Scales);
  return f.stage(0) == of_all<0>(Stopped, Scales) && f.stage(1) == of_all<1>(Stopped, Scales) &&
         f.stage(2) == of_all<2>(Stopped, Scales) && f.stage(3) == of_all<3>(Stopped, Scales);
}

static_assert(is_price_of_all<0, true>());
// the stream has a gradient, the branch of the first two blocks has none
static_assert(is_price_of_all<2, true>());
// the first block takes what has no gradient
static_assert(is_price_of_all<0, false>());

/// Returns what it takes.
template<Layout L>
struct same_block {
  nn::linear<float, L, model, hidden> up;
  nn::linear<float, L, hidden, model> down;

  constexpr explicit same_block(machine<L>& m) : up{m, normal{1, 0.1}}, down{m, normal{2, 0.1}} {}
  constexpr auto operator()(tensor<float, L, part, model> const& x) const { return x + down(relu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};
/// The results of the first block need gradients, its data do not.
template<Layout L>
struct training_on_data {
  nn::stack<same_block<L>, 4> blocks;
  tensor<float, L, batch, model> data;
  machine<L>* m;

  constexpr explicit training_on_data(machine<L>& on) : blocks{on}, data{on}, m{&on} {}
  constexpr auto step() {
    return accumulate<4>(
        *m, [this](extent i) { return mean(square(blocks(micro_batch<batch, part>(data, i)))); });
  }
};
template<int Stage>
constexpr bool leaves_out_blocks() {
  cost<grid> c;
  cost<grid> all;
  stage_passes passes;
  auto const priced = detail::price_step<training_on_data, piped>(threads{}, Stage, true, c, passes);
  detail::price_step<training_on_data, piped>(threads{}, Stage, false, all, passes);
  return !priced.has_changing_block && c == all;
}
static_assert(leaves_out_blocks<0>() && leaves_out_blocks<1>() && leaves_out_blocks<3>());

}  // namespace
