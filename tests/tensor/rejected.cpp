// Whatever is done with the result of an operation that was refused: the compiler says nothing more. It
// passes if it compiles.
//
// `tests/checks/compiled.py` compares the names that are called here with the operations that headers
// declare. The test of an operation may do it instead, with `all_rejected`.
#include <meshtf/planning.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>

#include "../ops/functions_of_x.hpp"
#include "../rejected_operands.hpp"

namespace calls {  // named: g++ warns of functions without a name for others that are only instantiated

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct batch : meshtf::dim<4> {};
struct width : meshtf::dim<6> {};
struct narrow : meshtf::dim<2> {};
struct longer : meshtf::dim<9> {};
struct rest : meshtf::dim<4> {};
struct second : meshtf::dim<3> {};
struct key : meshtf::dim<4> {};
struct memory : meshtf::dim<6> {};
struct with_rows : meshtf::layout<grid, meshtf::split<batch, rows>> {};
using by_rows = meshtf::dry<with_rows>;

using machine          = meshtf::machine<by_rows>;
using good             = meshtf::tensor<float, by_rows, batch, width>;
using weight           = meshtf::parameter<float, by_rows, width, key>;
using row              = meshtf::tensor<float, by_rows, width>;
using ids              = meshtf::tensor<int, by_rows, batch>;
using ids_along_width  = meshtf::tensor<int, by_rows, batch, width>;
using ids_along_longer = meshtf::tensor<int, by_rows, batch, longer>;
using of_numbers       = std::array<meshtf::rejected, 6>;

/// Found by argument-dependent lookup, and by their whole names.
template<class X>
void pointwise(X const& x, good const& y, ids const& i) {
#define MESHTF_CALL(f) all_rejected(f(x), meshtf::f(x));
  MESHTF_SMOOTH_FUNCTIONS(MESHTF_CALL)
  MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_CALL)
  MESHTF_BENT_FUNCTIONS(MESHTF_CALL)
  MESHTF_STEP_FUNCTIONS(MESHTF_CALL)
#undef MESHTF_CALL
  all_rejected(elu(x), elu(x, 0.5), leaky_relu(x), leaky_relu(x, 0.1), is_nan(x), clamp(x, -1, 1));
  all_rejected(pow(x, 0.5), pow(x, y), pow(y, x), copy(x), stop_gradient(x), logical_not(x));
  all_rejected(x + x, x + y, y + x, x - y, y - x, x * y, y * x, x / y, y / x, x + 1, 1 + x, x - 1, 1 - x,
               2 * x, x * 2, x / 2, 1 / x, -x);
  all_rejected(less(x, y), less_equal(x, 1), greater(y, x), greater_equal(1, x), equal(x, x), not_equal(x, y),
               meshtf::equal(x, y));
  all_rejected(logical_and(x, y), logical_or(y, x), minimum(x, y), maximum(x, 1), floor_divide(x, 4),
               modulo(x, y), logaddexp(y, x));
  all_rejected(where(x, y, y), where(y, x, y), where(y, y, x), where(x, y, 1), where(y, 1, x),
               sigmoid_cross_entropy(x, y), sigmoid_cross_entropy(y, x));
  all_rejected(map([](auto v) { return v * v; }, [](auto v) { return 2 * v; }, x), meshtf::cast<int>(x),
               bias_gelu(x, y), bias_gelu(y, x));
  all_rejected(fused([](auto v) { return v * v; }, x), fused([](auto v, auto u) { return v * u; }, y, x),
               fused_sum<>([](auto v) { return v; }, x), fused_max<>([](auto v) { return v; }, x));
  all_rejected(dropout(x, 0.5, {4}), dropout(x, 0.5, meshtf::random_key{4}),
               meshtf::sample<width>(x, {5}, 0.7));
  all_rejected(meshtf::rotary<width, key>(x), meshtf::rotary<width, key>(x, {.base = 100}),
               meshtf::rotary<key>(y, x, {.base = 100}));
  all_rejected(meshtf::rotary<key>(x, i));
}

template<class X>
void reductions(X const& x, good const& y) {
  using namespace meshtf;
  all_rejected(weighted_mean(x, y), weighted_mean<width>(x, y), sum(x), sum<width>(x), meshtf::sum<width>(x),
               mean(x), mean<batch, width>(x), max<width>(x), min<width>(x), any(x), all<width>(x),
               product<width>(x));
  all_rejected(argmax<width>(x), variance<width>(x), l2_norm<width>(x), logsumexp<width>(x),
               logsumexp<width>(x, 0.5), logsumexp<width>(y, x));
  all_rejected(cumsum<width>(x), cumsum<width>(x, {.exclusive = true}), cumprod<width>(x),
               cumprod<width>(x, {.exclusive = true}));
  all_rejected(sort<width>(x), sort<width>(x, {.descending = true}), argsort<width>(x),
               argsort<width>(x, {.descending = true}));
  all_rejected(softmax<width>(x), softmax<width>(x, 0.5), log_softmax<width>(x), log_softmax<width>(y, x));
  auto const [value, index]   = top_k<width, narrow>(x);
  auto const [least, where_]  = top_k<width, narrow>(x, {.descending = false});
  auto const [sorted, places] = sort_and_argsort<width>(x, {.descending = true});
  auto const [most, argmost]  = max_and_argmax<width>(x);
  all_rejected(value, index, least, where_, sorted, places, most, argmost, sort_and_argsort<width>(x).value,
               min_and_argmin<width>(x).index);
  all_rejected(nth_element<width, 2>(x).value, nth_element<width, 2>(x, {.descending = true}).index);
}

template<class X>
void shapes(X const& x, good const& y, ids const& i) {
  using namespace meshtf;
  all_rejected(slice<width, narrow>(x, 1), concat<longer>(x, y), concat<longer>(y, x),
               pad<width, longer>(x, 1), pad<width, longer>(x, 1, 0.5));
  all_rejected(write<width>(x, y, 3), write<width>(y, x, 3), roll<width>(x, 1), shift<width>(x, 1),
               shift<width>(x, 1, 0), flip<width>(x));
  all_rejected(split_dim<width, narrow, second>(x), merge_dims<batch, width, longer>(x),
               rename<width, memory>(x), transpose<width, batch>(x));
  all_rejected(broadcast<key, batch>(x), tile<narrow, rest>(x), reshard<by_rows>(x), finish(x),
               as_partial<rows>(x), halo<width, 1, 0>(x));
  all_rejected(windows<window<width, second>>(x), max_pool<window<width, second>>(x),
               avg_pool<window<width, second>>(x));
  all_rejected(stack<key>(x, x, x, x), stack<key, 1>(y, x), stack<width>(unstack<width>(x)),
               stack<width, 1>(of_numbers{}));
  all_rejected(gather<width>(x, i), gather<width>(y, x), one_hot<width, float>(x), scatter<width>(x, i, y),
               scatter<width>(y, i, x), scatter_add<width>(y, x, y));
  all_rejected(micro_batch<width, second>(x, 1), same_on_all(x));
  auto const [left, right] = split_into<width, narrow, rest>(x);
  auto const [a, b]        = unstack<narrow>(x);
  all_rejected(left, right, a, b);
}

template<class X>
void products(X const& x, good const& y, weight& w, row const& s, ids const& i) {
  using namespace meshtf;
  all_rejected(einsum<batch, key>(x, w), einsum<batch, key>(y, x), einsum<batch>(x),
               einsum<batch, key>(x, w, w), einsum<batch>(y, x, w, w));
  all_rejected(partial_einsum<batch, key>(x, w), matmul<width>(x, w), matmul<width>(y, x),
               outer_product(x, w), outer_product(w, x));
  all_rejected(conv<window<width, second>, narrow, rest>(x, w), conv<window<width, second>>(y, x),
               conv_transpose<window<width, second>>(x, w));
  all_rejected(layer_norm<width>(x, s, s), layer_norm<width>(y, s, x, 1e-6), rms_norm<width>(x, s),
               group_norm<batch>(x, s, s), batch_norm<width>(x, s, s).norm);
  all_rejected(batch_norm<width>(x, s, s, s, s), softmax_cross_entropy<width>(x, i),
               softmax_cross_entropy<width>(y, x, {.z_loss = 1e-3}));
  auto const [total, normed]          = residual_layer_norm<width>(x, y, s, s);
  auto const [norm, mean_, variance_] = batch_norm<width>(x, s, s);
  all_rejected(total, normed, norm, mean_, variance_, residual_layer_norm<width>(y, x, s, s).norm);
  all_rejected(attention<width, memory, key>(x, w, w),
               attention<width, memory, key>(w, x, w, {.causal = true}),
               attention<width, memory, key>(w, w, x));
  all_rejected(attention<width, memory, key>(w, w, w, with_bias(x)),
               attention<width, memory, key>(x, w, w, with_segments(i), {.causal = true}));
  all_rejected(attention<width, memory, key>(w, w, w, with_bias(x).and_segments(i), {.causal = true}),
               with_segments(i, x), with_mask(x), with_mask(x).and_segments(i),
               with_segments(i, x).and_mask(w));
}

template<class X>
void functions(X const& x, good const& y) {
  using namespace meshtf;
  auto const same = [](auto const& v) { return v; };
  all_rejected(recompute(same, x), spill(same, x), recompute([&](auto const&) { return x; }, y),
               with_gathered_weights(same, x), custom_gradient(same, same, x),
               slicewise<shape<batch, width>, splittable<batch>>(same, x));
  all_rejected(custom_gradient([&](auto const&) { return x; }, same, y),
               slicewise<shape<batch, width>, splittable<batch>>(same, same, y, x));
  all_rejected(
      accumulate<2>([&](meshtf::extent i) { return sum(square(micro_batch<width, second>(x, i))); }));
  all_rejected(block_of<batch, narrow>(x, 0),
               reproducible<batch, narrow>(
                   parameters(), [&](meshtf::extent i) { return sum(block_of<batch, narrow>(x, i)); }));
}

/// A value of declared type, and what a program does with a loss.
template<class X>
good declared(X const& x, weight& w, meshtf::partial<good, meshtf::axes<rows>>* p) {
  using meshtf::parameters;
  good y = x;
  y      = relu(x);
  w      = x;
  backward(x);
  meshtf::backward(x);
  update(w, x, 0.1);
  all_rejected(
      twice(parameters(w), [](auto const& v) { return v; }, x), twice(parameters(w), [&x] { return x; }));
  if (p != nullptr) *p = x;
  float const loss = x.value();
  for (auto& element : x.local()) element = 1;
  meshtf::sgd descent{loss};
  descent.step(parameters(w));
  return x;
}

namespace nn = meshtf::nn;
struct small : nn::transformer_dims<width, longer, key, narrow, second, rest> {
  static constexpr int layers = 2;
};
struct pairs_small : nn::seq2seq_dims<width, longer, key, rest, narrow, second, memory> {
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};
struct llama_small : nn::llama_dims<width, longer, key, narrow, second, rest, memory> {
  static constexpr int layers = 2;
};

template<class X>
void layers(machine& m, X const& x) {
  using L = by_rows;
  nn::streams seeds{1};
  auto const start = meshtf::normal{1, 0.1};
  nn::projection<float, L, width, key> const projection{m, start};
  nn::linear<float, L, width, key> const linear{m, start};
  nn::conv<float, L, narrow, rest, meshtf::window<width, second>> const conv{m, start};
  nn::conv_block<float, L, narrow, rest, nn::batch_norm<float, L, rest>, nn::rectified,
                 meshtf::window<width, second>> const block{m, start};
  nn::conv_transpose<float, L, narrow, rest, meshtf::window<width, second>> const back{m, start};
  nn::attention<float, L, width, key, narrow, rest> const attends_to_itself{m, seeds, 0.1, 0.1};
  nn::attention<float, L, width, key, narrow, rest, memory> const crosses{m, seeds, 0.1, 0.1};
  nn::embedding<float, L, longer, key> const embedding{m, start};
  nn::factorised_embedding<float, L, longer, narrow, key> const factorised{m, start, start};
  nn::feed_forward<float, L, key, rest> const feed{m, seeds, 0.1, 0.1};
  nn::gated_feed_forward<float, L, key, rest> const gated{m, seeds, 0.1, 0.1};
  nn::group_norm<float, L, key, batch> const group{m};
  nn::grouped_attention<float, L, width, key, narrow, second, rest> const grouped{m, seeds, 0.1, 0.1};
  nn::self_attention<float, L, width, key, narrow, rest> const attends{m, seeds, 0.1, 0.1};
  nn::layer_norm<float, L, key> const norm{m};
  nn::rms_norm<float, L, key> const rms{m};
  nn::batch_norm<float, L, key> const batch{m};
  nn::transformer<float, L, small> const transformer{m, 1};
  nn::llama<float, L, llama_small> const llama{m, 1};
  all_rejected(projection(x), linear(x), conv(x), block(x), embedding(x), embedding.logits(x), factorised(x),
               factorised.logits(x), feed(x), gated(x), group(x));
  all_rejected(back(x), attends_to_itself(x), attends_to_itself(x, {.causal = true}), crosses(x, x),
               crosses(x, x, {.window = 2}), crosses.cache(x), crosses.attend<rest>(x, crosses.cache(x)),
               attends_to_itself.extend<rest>(x, x, 0));
  all_rejected(grouped(x), grouped(x, {.causal = true}), attends(x), attends(x, {.causal = true}), norm(x),
               norm(x, x).sum, rms(x), batch(x), llama(x));
  all_rejected(transformer(x), nn::attention_along<width, key>(x, x, x),
               nn::attention_along<width, key>(x, x, x, {.causal = true}));
  all_rejected(nn::autoregressive_inputs<width>(x), nn::autoregressive_inputs<width>(x, x),
               nn::delimited_lm_inputs_mask<width>(x));
}

/// A refused source, target or numbers of pairs, and what is made of them.
template<class X>
void sequences(machine& m, X const& x, ids_along_width const& source, ids_along_longer const& target) {
  using L = by_rows;
  nn::streams seeds{1};
  nn::encoder<float, L, 2, width, narrow, second, rest, memory> const encoder{m, seeds, 0.1};
  nn::decoder<float, L, 2, longer, width, narrow, second, rest, memory> const decoder{m, seeds, 0.1};
  nn::seq2seq<float, L, pairs_small> const net{m, 1};
  auto const refused = [&net](auto const& pairs) {
    all_rejected(net(pairs), net.encode(pairs), net.loss(pairs), net.count(pairs),
                 net.loss(pairs, {.dropout = {.rate = 0.1}}), net(pairs, {.rate = 0.1}));
  };
  refused(nn::packed_pairs{x, source, target, target});
  refused(nn::packed_pairs{source, x, target, target});
  refused(nn::packed_pairs{source, source, x, target});
  refused(nn::packed_pairs{source, source, target, x});
  refused(nn::packed_pairs{source, source, target, x}.template part<batch, second>(0));
  refused(nn::row_pairs{source, x});
  refused(nn::row_pairs{x, target}.template part<batch, second>(0));
  all_rejected(net.greedy(nn::source_rows{source, x}, 1), net.greedy(nn::source_rows{x, source}, 1));
  all_rejected(nn::positions_in_segments<width>(x), encoder(x), encoder(x, with_segments(source)),
               encoder(x, with_segments(x)), decoder(x, x), decoder(x, x, x, with_segments(target, source)));
}

template void pointwise(meshtf::rejected const&, good const&, ids const&);
template void reductions(meshtf::rejected const&, good const&);
template void shapes(meshtf::rejected const&, good const&, ids const&);
template void products(meshtf::rejected const&, good const&, weight&, row const&, ids const&);
template void functions(meshtf::rejected const&, good const&);
template good declared(meshtf::rejected const&, weight&, meshtf::partial<good, meshtf::axes<rows>>*);
template void layers(machine&, meshtf::rejected const&);
template void sequences(machine&, meshtf::rejected const&, ids_along_width const&, ids_along_longer const&);

}  // namespace calls
