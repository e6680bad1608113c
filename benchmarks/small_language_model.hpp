// The language model of the benchmarks of a single step: 6 layers of 384, 6 heads, length 256, batch 8,
// bytes: 10.84 million parameters.
#pragma once

#include "random_language_model.hpp"

// clang-format off
struct batch  : meshtf::dim<8>    {};
struct length : meshtf::dim<256>  {};
struct vocab  : meshtf::dim<256>  {};
struct model  : meshtf::dim<384>  {};
struct heads  : meshtf::dim<6>    {};
struct key    : meshtf::dim<64>   {};
struct hidden : meshtf::dim<1536> {};
// clang-format on

struct alone : meshtf::layout<meshtf::mesh<>> {};
struct base : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 6;
};
