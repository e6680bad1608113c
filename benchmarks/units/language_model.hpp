// The training step of a Transformer language model. ROWS, COLS and LAYERS say on how large a mesh, and how
// deep: the curves vary them. With BATCH and WIDTH it is small enough to run.
#pragma once

#include <meshtf/planning.hpp>

#ifndef ROWS
#define ROWS 2
#endif
#ifndef COLS
#define COLS 2
#endif
#ifndef LAYERS
#define LAYERS 6
#endif

namespace unit {

// clang-format off
#ifdef WIDTH
struct batch  : meshtf::dim<BATCH> {};
struct length : meshtf::dim<64>    {};
struct vocab  : meshtf::dim<256>   {};
struct model  : meshtf::dim<WIDTH> {};
struct heads  : meshtf::dim<4>     {};
struct key    : meshtf::dim<WIDTH / 4> {};
struct hidden : meshtf::dim<4 * WIDTH> {};
#else
struct batch  : meshtf::dim<1024> {};
struct length : meshtf::dim<256>  {};
struct vocab  : meshtf::dim<8192> {};
struct model  : meshtf::dim<1024> {};
struct heads  : meshtf::dim<64>   {};
struct key    : meshtf::dim<64>   {};
struct hidden : meshtf::dim<4096> {};
#endif
// clang-format on

struct rows : meshtf::axis<ROWS> {};
struct cols : meshtf::axis<COLS> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<heads, cols>,
                              meshtf::split<hidden, cols>, meshtf::split<vocab, cols>> {};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = LAYERS;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.shard_state = true;
    opt.prepare(parameters(net));
  }

  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

}  // namespace unit
