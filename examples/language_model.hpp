// The language model of language_model.cpp and generate.cpp: its sizes, its dimensions, and the layouts that
// a number of processes has.
//
// One size and one model a program: they are types. MODEL_SIZE, MODEL and ACTIVATION say which.
#pragma once

#include <type_traits>

#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/meshtf.hpp>

#include "side_by_side.hpp"

#ifndef MODEL_SIZE
#define MODEL_SIZE tiny  // one size a program: sizes are types, and each is compiled for five layouts
#endif
#ifndef MODEL
#define MODEL gpt2  // llama: another program, too
#endif
#ifndef ACTIVATION
#define ACTIVATION float  // meshtf::bfloat16: mixed precision, a program of its own too
#endif

namespace {

/// What a size is, and how it learns.
struct model_size {
  char const* name;
  int layers;
  meshtf::extent model;
  meshtf::extent heads;
  meshtf::extent key;
  meshtf::extent length;
  meshtf::extent batch;
  double stddev;  // of the initial weights
  double rate;    // the learning rate after the warm-up
  long steps;
};
// clang-format off
//                                                layers width heads key length batch stddev  rate  steps
[[maybe_unused]] constexpr model_size tiny{"tiny",     2,  128,    4, 32,   256,    8,  0.06, 4e-3, 4000};
[[maybe_unused]] constexpr model_size small{"small",   4,  256,    4, 64,   256,   16,  0.05, 2e-3, 4000};
[[maybe_unused]] constexpr model_size base{"base",     6,  384,    6, 64,   256,   16,  0.04, 1e-3, 6000};
// clang-format on
constexpr model_size size = MODEL_SIZE;

// learned positions, layer norms and GELU; rotary positions, queries in groups, RMS norms and SwiGLU
enum class kind { gpt2, llama };
constexpr kind model_kind = kind::MODEL;

// what the model computes in; its weights, their gradients and the optimizer are float
using activation                  = ACTIVATION;
constexpr bool in_mixed_precision = !std::is_same_v<activation, float>;

// clang-format off
struct batch  : meshtf::dim<size.batch>     {};   // dimensions: a name and a size
struct length : meshtf::dim<size.length>    {};
struct vocab  : meshtf::dim<meshtf::byte_tokenizer::vocabulary> {};
struct model  : meshtf::dim<size.model>     {};
struct heads  : meshtf::dim<size.heads>     {};
struct key    : meshtf::dim<size.key>       {};
struct hidden : meshtf::dim<4 * size.model> {};
struct groups : meshtf::dim<2> {};                // of a Llama: heads that share keys
struct each   : meshtf::dim<size.heads / 2> {};   // heads of a group
// three matrices of this size have as many elements as two of `hidden`
struct gated  : meshtf::dim<(8 * size.model / 3 + 31) / 32 * 32> {};

/// The machine: processes as a rectangle, and the layouts on it.
template<int Rows, int Cols>
struct processes {
  struct rows : meshtf::axis<Rows> {};
  struct cols : meshtf::axis<Cols> {};
  struct grid : meshtf::mesh<rows, cols> { using machine = processes; };

  template<class Dim, class... Axis>
  using split = meshtf::split<Dim, Axis...>;
  struct replicated : meshtf::layout<grid> {};
  struct data       : meshtf::layout<grid, split<batch, rows>> {};
  struct model      : meshtf::layout<grid, split<heads, cols>, split<hidden, cols>, split<vocab, cols>,
                                     split<groups, cols>, split<gated, cols>> {};
  struct mixed      : meshtf::layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>,
                                     split<vocab, cols>, split<groups, cols>, split<gated, cols>> {};
  // data parallel on all: a quarter of the batch each, of four
  struct two_axes   : meshtf::layout<grid, split<batch, rows, cols>> {};
};
using one   = processes<1, 1>;
using two   = processes<2, 1>;
using four  = processes<2, 2>;
using eight = processes<4, 2>;

// those that differ on these processes, and the one to train under unless another one is named
template<class P>
struct layouts_on;
template<> struct layouts_on<one>   : layouts<one::replicated> { using first_choice = one::replicated; };
template<> struct layouts_on<two>   : layouts<two::data> { using first_choice = two::data; };
template<> struct layouts_on<four>  : layouts<four::replicated, four::data, four::model, four::mixed,
                                              four::two_axes> {
  using first_choice = four::mixed;
};
template<> struct layouts_on<eight> : layouts<eight::mixed> { using first_choice = eight::mixed; };
// clang-format on

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  [[maybe_unused]] static constexpr int layers    = size.layers;
  [[maybe_unused]] static constexpr double stddev = size.stddev;
};

struct dims_of_llama : meshtf::nn::llama_dims<length, vocab, model, groups, each, key, gated> {
  [[maybe_unused]] static constexpr int layers    = size.layers;
  [[maybe_unused]] static constexpr double stddev = size.stddev;
};

template<meshtf::Layout L>
using language_model =
    std::conditional_t<model_kind == kind::llama, meshtf::nn::llama<float, L, dims_of_llama, activation>,
                       meshtf::nn::transformer<float, L, dims, activation>>;

}  // namespace
