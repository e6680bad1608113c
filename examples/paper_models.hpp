// The models of the Mesh-TensorFlow paper, as its authors' configurations describe them, and T5, which was
// trained with it: parameters and steps can be priced where nobody could hold them.
//
// A model's sizes are those of its layout, so that one program stands for all of them. Sources: Shazeer et
// al., Mesh-TensorFlow (2018), section 5; tensor2tensor/models/mtf_transformer.py for the hyper-parameters.
// No biases; a norm has a scale; embedding and softmax are two matrices; a position table of 256. Of T5:
// Raffel et al., Exploring the Limits of Transfer Learning (2020), section 2.1, and the sizes of the released
// models. Embedding and softmax are one matrix; in the place of positions each stack has a table of 32 biases
// a head.
#pragma once

#include <vector>

#include <meshtf/planning.hpp>

namespace paper {

using meshtf::extent;
using meshtf::Layout;
using meshtf::machine;

template<extent N>
struct batch : meshtf::dim<N> {};
struct length : meshtf::dim<256> {};
struct memory : meshtf::dim<256> {};  // the source's positions, as the target looks at them
struct vocab : meshtf::dim<32768> {};
struct model : meshtf::dim<1024> {};
template<extent N>
struct width : meshtf::dim<N> {};       // T5's model
struct pieces : meshtf::dim<32128> {};  // its vocabulary
struct buckets : meshtf::dim<32> {};    // of distances
struct text : meshtf::dim<512> {};      // positions of the encoder; as they are looked at
struct text_seen : meshtf::dim<512> {};
struct gaps : meshtf::dim<114> {};  // of the decoder: what was cut out of the text
struct gaps_seen : meshtf::dim<114> {};
template<extent N>
struct heads : meshtf::dim<N> {};
template<extent N>
struct key : meshtf::dim<N> {};
template<extent N>
struct hidden : meshtf::dim<N> {};

template<extent N>
struct rows : meshtf::axis<N> {};
template<extent N>
struct cols : meshtf::axis<N> {};
template<extent Rows, extent Cols>
struct grid : meshtf::mesh<rows<Rows>, cols<Cols>> {};

/// The paper's layout "batch:rows; vocab, d_ff, heads: cols" of a model with these sizes.
template<extent Rows, extent Cols, extent Batch, extent Heads, extent Key, extent Hidden>
struct placed : meshtf::layout<grid<Rows, Cols>, meshtf::split<batch<Batch>, rows<Rows>>,
                               meshtf::split<vocab, cols<Cols>>, meshtf::split<heads<Heads>, cols<Cols>>,
                               meshtf::split<hidden<Hidden>, cols<Cols>>> {
  using batch_dim  = batch<Batch>;
  using heads_dim  = heads<Heads>;
  using key_dim    = key<Key>;
  using hidden_dim = hidden<Hidden>;
  using model_dim  = model;
};
/// LM1B: decoders with 8n heads of 256 and 8192n hidden units, 256 sequences a step; `TwoN` is 2n.
template<extent TwoN, extent Rows, extent Cols>
using lm1b = placed<Rows, Cols, 256, 4 * TwoN, 256, 4096 * TwoN>;
/// WMT14: encoders and decoders with 8n heads of 128 and 4096n hidden units, 128 pairs a step.
template<extent TwoN, extent Rows, extent Cols>
using wmt = placed<Rows, Cols, 128, 4 * TwoN, 128, 2048 * TwoN>;

/// The same layout of a T5 with these sizes, 128 pairs a step.
template<extent Rows, extent Cols, extent Model, extent Hidden, extent Key, extent Heads, int Layers>
struct t5 : meshtf::layout<grid<Rows, Cols>, meshtf::split<batch<128>, rows<Rows>>,
                           meshtf::split<pieces, cols<Cols>>, meshtf::split<heads<Heads>, cols<Cols>>,
                           meshtf::split<hidden<Hidden>, cols<Cols>>> {
  using batch_dim             = batch<128>;
  using heads_dim             = heads<Heads>;
  using key_dim               = key<Key>;
  using hidden_dim            = hidden<Hidden>;
  using model_dim             = width<Model>;
  static constexpr int layers = Layers;
};
template<extent Rows, extent Cols>
using t5_small = t5<Rows, Cols, 512, 2048, 64, 8, 6>;
template<extent Rows, extent Cols>
using t5_base = t5<Rows, Cols, 768, 3072, 64, 12, 12>;
template<extent Rows, extent Cols>
using t5_large = t5<Rows, Cols, 1024, 4096, 64, 16, 24>;
template<extent Rows, extent Cols>
using t5_3b = t5<Rows, Cols, 1024, 16384, 128, 32, 24>;
template<extent Rows, extent Cols>
using t5_11b = t5<Rows, Cols, 1024, 65536, 128, 128, 24>;

using meshtf::named;
using meshtf::shape;

template<Layout L>
using heads_of = typename meshtf::actual<L>::heads_dim;
template<Layout L>
using key_of = typename meshtf::actual<L>::key_dim;
template<Layout L>
using hidden_of = typename meshtf::actual<L>::hidden_dim;
template<Layout L>
using batch_of = typename meshtf::actual<L>::batch_dim;
template<Layout L>
using model_of = typename meshtf::actual<L>::model_dim;

/// The four products of an attention, without biases.
template<Layout L>
struct projections {
  meshtf::nn::projection<float, L, model_of<L>, shape<heads_of<L>, key_of<L>>> q;
  meshtf::nn::projection<float, L, model_of<L>, shape<heads_of<L>, key_of<L>>> k;
  meshtf::nn::projection<float, L, model_of<L>, shape<heads_of<L>, key_of<L>>> v;
  meshtf::nn::projection<float, L, shape<heads_of<L>, key_of<L>>, model_of<L>> o;

  constexpr explicit projections(machine<L>& m)
      : q{m, meshtf::zeros{}}, k{m, meshtf::zeros{}}, v{m, meshtf::zeros{}}, o{m, meshtf::zeros{}} {}
  constexpr auto parameters() {
    return meshtf::parameters(named("q", q), named("k", k), named("v", v), named("o", o));
  }
};

/// Attention of the paper's models, `Memory` the positions that are looked at from `Query`.
template<Layout L, class Query, class Memory = Query>
struct attention : projections<L> {
  using projections<L>::projections;
  constexpr auto operator()(auto const& x, auto const& y, bool causal) const {
    auto const queries = this->q(x);
    auto const keys    = this->k(y);
    auto const values  = this->v(y);
    return this->o(meshtf::attention<Query, Memory, key_of<L>>(queries, keys, values, {.causal = causal}));
  }
  constexpr auto operator()(auto const& x, bool causal) const { return (*this)(x, x, causal); }
};

/// Attention in a stack of T5: scores without a scale, and a bias for each head and distance, which all
/// blocks of the stack share. Composed, as the authors' is: the weights lie in memory.
template<Layout L, class Query, class Memory>
struct biased_attention : projections<L> {
  using projections<L>::projections;
  constexpr auto operator()(auto const& x, auto const& bias) const {
    auto const y       = meshtf::rename<Query, Memory>(x);
    auto const queries = this->q(x);
    auto const keys    = this->k(y);
    auto const values  = this->v(y);
    auto const scores  = einsum<batch_of<L>, heads_of<L>, Query, Memory>(queries, keys);
    auto const weights = meshtf::softmax<Memory>(scores + bias);
    return this->o(einsum<batch_of<L>, Query, heads_of<L>, key_of<L>>(weights, values));
  }
};

template<Layout L>
struct feed_forward {
  meshtf::nn::projection<float, L, model_of<L>, hidden_of<L>> up;
  meshtf::nn::projection<float, L, hidden_of<L>, model_of<L>> down;

  constexpr explicit feed_forward(machine<L>& m) : up{m, meshtf::zeros{}}, down{m, meshtf::zeros{}} {}
  constexpr auto operator()(auto const& x) const {
    auto const h = relu(up(x));
    return down(h);
  }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};

template<Layout L>
using norm = meshtf::nn::rms_norm<float, L, model_of<L>>;

/// A block: `Attention` among its positions, in the way `how` (whether it is causal, or T5's biases), and a
/// feed-forward layer; each after a norm, and added to what came in.
template<Layout L, class Attention>
struct block {
  norm<L> norm1;
  Attention attend;
  norm<L> norm2;
  feed_forward<L> feed;

  constexpr explicit block(machine<L>& m) : norm1{m}, attend{m}, norm2{m}, feed{m} {}
  template<class X, class How>
  constexpr X operator()(X const& x, How const& how) const {
    auto const a = attend(norm1(x), how);
    auto const y = x + a;
    auto const f = feed(norm2(y));
    return y + f;
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attend", attend), named("norm2", norm2),
                              named("feed", feed));
  }
};

/// A block of a decoder that looks at what an encoder made, too: with `Look`.
template<Layout L, class Attention, class Look>
struct looking_block {
  norm<L> norm1;
  Attention attend;
  norm<L> norm2;
  Look look;
  norm<L> norm3;
  feed_forward<L> feed;

  constexpr explicit looking_block(machine<L>& m)
      : norm1{m}, attend{m}, norm2{m}, look{m}, norm3{m}, feed{m} {}
  template<class X, class Y, class How>
  constexpr X operator()(X const& x, Y const& source, How const& how) const {
    auto const a = attend(norm1(x), how);
    auto const y = x + a;
    auto const b = look(norm2(y), source, false);
    auto const z = y + b;
    auto const f = feed(norm3(z));
    return z + f;
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attend", attend), named("norm2", norm2),
                              named("look", look), named("norm3", norm3), named("feed", feed));
  }
};

/// What both models have before and after their blocks.
template<Layout L>
struct ends {
  meshtf::nn::embedding<float, L, vocab, model> tokens;
  meshtf::parameter<float, L, length, model> positions;
  meshtf::nn::projection<float, L, model, vocab> scores;
  norm<L> last;

  constexpr explicit ends(machine<L>& m)
      : tokens{m, meshtf::zeros{}}, positions{m}, scores{m, meshtf::zeros{}}, last{m} {}
  constexpr auto embedded(auto const& ids) const {
    auto const found = tokens(ids);
    return found + positions;
  }
  constexpr auto logits(auto const& x) const { return scores(last(x)); }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("positions", positions), named("scores", scores),
                              named("last", last));
  }
};

/// The language model, and its step. The number of layers is no part of its type. Adafactor, which the
/// authors used, keeps little state: plain descent stands for it.
template<Layout L>
struct language_model {
  ends<L> end;
  std::vector<block<L, attention<L, length>>> blocks{};
  meshtf::tensor<int, L, batch_of<L>, length> ids;
  meshtf::tensor<int, L, batch_of<L>, length> targets;

  constexpr explicit language_model(machine<L>& m, int layers = 6) : end{m}, ids{m}, targets{m} {
    blocks.reserve(static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i) blocks.emplace_back(m);
  }
  constexpr auto parameters() { return meshtf::parameters(named("ends", end), named("blocks", blocks)); }
  constexpr auto step() {
    auto x = end.embedded(ids);
    for (auto const& b : blocks) x = b(x, true);
    auto loss = mean(meshtf::softmax_cross_entropy<vocab>(end.logits(x), targets));
    backward(loss);
    meshtf::sgd{0.1}.step(parameters());
    return loss;
  }
};

/// The translator: encoder and decoder of as many layers each, one embedding and one position table for both.
template<Layout L>
struct translator {
  ends<L> end;
  norm<L> encoded;
  std::vector<block<L, attention<L, length>>> encoder{};
  std::vector<looking_block<L, attention<L, length>, attention<L, length, memory>>> decoder{};
  meshtf::tensor<int, L, batch_of<L>, length> source;
  meshtf::tensor<int, L, batch_of<L>, length> ids;
  meshtf::tensor<int, L, batch_of<L>, length> targets;

  constexpr explicit translator(machine<L>& m, int layers = 6)
      : end{m}, encoded{m}, source{m}, ids{m}, targets{m} {
    encoder.reserve(static_cast<std::size_t>(layers));
    decoder.reserve(static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i) encoder.emplace_back(m);
    for (int i = 0; i < layers; ++i) decoder.emplace_back(m);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("ends", end), named("encoded", encoded), named("encoder", encoder),
                              named("decoder", decoder));
  }
  constexpr auto step() {
    auto x = end.embedded(source);
    for (auto const& b : encoder) x = b(x, false);
    auto const seen = meshtf::rename<length, memory>(encoded(x));
    auto y          = end.embedded(ids);
    for (auto const& b : decoder) y = b(y, seen, true);
    auto loss = mean(meshtf::softmax_cross_entropy<vocab>(end.logits(y), targets));
    backward(loss);
    meshtf::sgd{0.1}.step(parameters());
    return loss;
  }
};

/// The biases of a stack: of each distance its bucket's; with a mask, where the stack has one.
template<Layout L, class Query, class Memory>
struct position_bias {
  meshtf::nn::embedding<float, L, buckets, heads_of<L>> table;
  meshtf::tensor<int, L, Query, Memory> bucket_of;
  meshtf::tensor<float, L, Query, Memory> mask;

  constexpr explicit position_bias(machine<L>& m) : table{m, meshtf::zeros{}}, bucket_of{m}, mask{m} {}
  constexpr auto operator()(bool causal) const {
    auto const found = meshtf::transpose<heads_of<L>, Query, Memory>(table(bucket_of));
    if (causal) return found + mask;
    return found;
  }
  constexpr auto parameters() { return table.parameters(); }
};

/// T5, and its step: a text with gaps, and what stood there.
template<Layout L>
struct t5_model {
  meshtf::nn::embedding<float, L, pieces, model_of<L>> tokens;
  position_bias<L, text, text_seen> far;
  position_bias<L, gaps, gaps_seen> near;
  norm<L> encoded;
  norm<L> last;
  std::vector<block<L, biased_attention<L, text, text_seen>>> encoder{};
  std::vector<looking_block<L, biased_attention<L, gaps, gaps_seen>, attention<L, gaps, text>>> decoder{};
  meshtf::tensor<int, L, batch_of<L>, text> source;
  meshtf::tensor<int, L, batch_of<L>, gaps> ids;
  meshtf::tensor<int, L, batch_of<L>, gaps> targets;

  constexpr explicit t5_model(machine<L>& m, int layers = meshtf::actual<L>::layers)
      : tokens{m, meshtf::zeros{}}, far{m}, near{m}, encoded{m}, last{m}, source{m}, ids{m}, targets{m} {
    encoder.reserve(static_cast<std::size_t>(layers));
    decoder.reserve(static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i) encoder.emplace_back(m);
    for (int i = 0; i < layers; ++i) decoder.emplace_back(m);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("far", far), named("near", near),
                              named("encoded", encoded), named("last", last), named("encoder", encoder),
                              named("decoder", decoder));
  }
  constexpr auto step() {
    auto const distances = far(false);
    auto x               = tokens(source);
    for (auto const& b : encoder) x = b(x, distances);
    auto const seen   = encoded(x);
    auto const before = near(true);
    auto y            = tokens(ids);
    for (auto const& b : decoder) y = b(y, seen, before);
    auto loss = mean(meshtf::softmax_cross_entropy<pieces>(tokens.logits(last(y)), targets));
    backward(loss);
    meshtf::sgd{0.1}.step(parameters());
    return loss;
  }
};

/// Elements of all parameters, whole.
template<template<Layout> class Model, Layout L>
consteval extent count() {
  meshtf::ledger<typename L::mesh_type> m;
  Model<meshtf::dry<L>> net{m};
  extent n = 0;
  net.parameters().for_each([&n]<class T, class P, class... D>(meshtf::parameter<T, P, D...> const&) {
    n += (D::size * ... * extent{1});
  });
  return n;
}

}  // namespace paper
