// A residual network with an embedding before its blocks and scores after them, as a pipeline: stages have
// different types, and dropout is on.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/planning.hpp>

namespace pipelines {

using namespace meshtf;

struct batch : dim<32> {};
template<int M>
struct part : dim<32 / M> {};
struct length : dim<6> {};
struct vocab : dim<48> {};
struct model : dim<16> {};
struct hidden : dim<40> {};

template<int K>
struct stages : axis<K> {};
template<int R>
struct rows : axis<R> {};
template<int C>
struct cols : axis<C> {};
template<int K, int R, int C>
struct grid : mesh<stages<K>, rows<R>, cols<C>> {};

template<int K, int R = 1, int C = 1>
struct piped : layout<grid<K, R, C>, staged<stages<K>>, split<batch, rows<R>>, split<part<1>, rows<R>>,
                      split<part<2>, rows<R>>, split<part<4>, rows<R>>, split<part<8>, rows<R>>,
                      split<part<16>, rows<R>>, split<hidden, cols<C>>, split<vocab, cols<C>>> {};
/// The same on one process, without stages.
struct plain : layout<grid<1, 1, 1>> {};

inline constexpr int blocks_of_net = 8;

template<Layout L>
struct block {
  nn::layer_norm<float, L, model> norm;
  nn::linear<float, L, model, hidden> up;
  nn::linear<float, L, hidden, model> down;

  constexpr block(machine<L>& m, std::uint64_t& seed)
      : norm{m}, up{m, normal{2 * seed, 0.2}}, down{m, normal{2 * seed + 1, 0.2}} {
    ++seed;
  }
  constexpr auto operator()(tensor<float, L, batch, length, model> const& x, random_key key) const {
    return branch(x, key);
  }
  template<int M>
  constexpr auto operator()(tensor<float, L, part<M>, length, model> const& x, random_key key) const {
    return branch(x, key);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm", norm), named("up", up), named("down", down));
  }

private:
  template<class X>
  constexpr auto branch(X const& x, random_key key) const {
    auto const n = norm(x);
    auto const u = up(n);
    auto const h = gelu(u);
    auto const d = down(h);
    auto const r = dropout(d, 0.25, key);
    return x + r;
  }
};

/// Parameters that the first or the last stage has are in vectors, which are filled on their stage.
template<Layout L, bool Recomputes>
struct net {
  std::vector<nn::embedding<float, L, vocab, model>> tokens;
  std::vector<block<L>> blocks;
  std::vector<nn::projection<float, L, model, vocab>> output;

  constexpr explicit net(machine<L>& m) {
    std::uint64_t seed = 0;
    {
      at_stage<L> const here{m, 0};
      tokens.emplace_back(m, normal{1000, 0.5});
    }
    blocks.reserve(blocks_of_net);
    for (int i = 0; i < blocks_of_net; ++i) {
      at_stage<L> const here{m, nn::stage_of<L>(i, blocks_of_net)};
      blocks.emplace_back(m, seed);
    }
    at_stage<L> const here{m, stage_count<L> - 1};
    output.emplace_back(m, normal{1001, 0.3});
  }

  /// What block number `i` makes of x, with the weights that are dropped in pass number `stream`.
  constexpr auto through_block(int i, auto const& x, std::uint64_t stream) const {
    auto const number = stream * blocks_of_net + static_cast<std::uint64_t>(i);
    return blocks[static_cast<std::size_t>(i)](x, random_key{.seed = 7, .stream = number});
  }
  constexpr auto operator()(auto const& ids, std::uint64_t stream) const {
    auto x = tokens[0](ids);
    for (int i = 0; i < blocks_of_net;) {
      int const stage = nn::stage_of<L>(i, blocks_of_net);
      int end         = i;
      while (end < blocks_of_net && nn::stage_of<L>(end, blocks_of_net) == stage) ++end;
      x                = hand_on(x, stage);
      auto const first = i;
      auto const all   = [this, first, end, stream](auto const& a) {
        auto y = a;
        for (int j = first; j < end; ++j) {
          auto z = this->through_block(j, y, stream);
          y      = std::move(z);
        }
        return y;
      };
      if constexpr (Recomputes) x = recompute(all, x);
      else x = all(x);
      i = end;
    }
    return output[0](x);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("blocks", blocks), named("output", output));
  }
};

/// A step in M micro-batches.
template<Layout L, int M, class Schedule = one_forward_one_backward, bool Recomputes = false>
struct training {
  net<L, Recomputes> model_;
  adamw opt{1e-2};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;
  machine<L>* m;

  constexpr explicit training(machine<L>& on) : model_{on}, ids{on}, targets{on}, m{&on} {
    opt.max_norm = 0.05;
  }
  constexpr auto gradients() {
    return accumulate<M, Schedule>(*m, [&](extent i) {
      auto const x      = micro_batch<batch, part<M>>(ids, i);
      auto const scores = model_(x, static_cast<std::uint64_t>(i));
      auto const y      = micro_batch<batch, part<M>>(targets, i);
      auto const l      = mean(softmax_cross_entropy<vocab>(scores, y));
      return l / float{M};
    });
  }
  constexpr auto step() {
    auto loss = gradients();
    opt.step(parameters(model_));
    return loss;
  }
};

}  // namespace pipelines
