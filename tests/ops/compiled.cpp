// A program with a compiled library (every test program outside the layout fixture has one) finds the kernels
// of every operation for every element type. Functions whose kernels the compiled library lacks are compiled
// here, and give the same.
// test: processes 1 2
//
// `tests/checks/compiled.py` compares the names that are called in this program with the operations that
// headers declare. The test of an operation may be part of it, too: `// test: program ops compiled`.
#include <cmath>
#include <concepts>
#include <type_traits>

#include "../catch.hpp"
#include "functions_of_x.hpp"

#include <meshtf/meshtf.hpp>

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct pair_of : mesh<rows> {};
struct batch : dim<4> {};
struct width : dim<6> {};
struct narrow : dim<2> {};
struct longer : dim<9> {};
struct rest : dim<4> {};
struct first : dim<2> {};
struct second : dim<3> {};
struct key : dim<4> {};
struct memory : dim<6> {};
struct halves : layout<pair_of, split<batch, rows>> {};
struct sole : axis<1> {};
struct lone : mesh<sole> {};
struct whole : layout<lone> {};

constexpr auto by_itself = [](auto v) { return v * v; };

/// Where values are resharded to.
struct turned : layout<pair_of, split<width, rows>> {};
struct aside : layout<lone> {};
template<class L>
using axis_of = std::conditional_t<std::same_as<L, halves>, rows, sole>;
template<class L>
using other = std::conditional_t<std::same_as<L, halves>, turned, aside>;

/// What any element type can do.
template<class T, class L>
void moves(machine<L>& m) {
  auto const x             = cast<T>(random_uniform<float, L, batch, width>(m, {1}, 1, 9));
  auto const y             = concat<width>(slice<width, narrow>(x, 1), slice<width, rest>(x, 2));
  auto const [left, right] = split_into<width, narrow, rest>(x);
  CHECK(all(equal(concat<width>(left, right), x)).value());
  CHECK(all(equal(stack<width, 1>(unstack<width>(x)), x)).value());
  CHECK(all(equal(roll<batch>(roll<batch>(x, 1), -1), x)).value());
  CHECK(shift<batch>(x, 1, 0).size > 0);
  auto const z = merge_dims<first, second, width>(split_dim<width, first, second>(x));
  auto const t = transpose<width, batch>(copy(z));
  tensor<int, L, key> const ids{m};
  CHECK(gather<width>(x, ids).size > 0);
  CHECK(all(equal(flip<width>(flip<width>(x)), slice<longer, width>(pad<width, longer>(x, 1), 1))).value());
  CHECK(scatter<width>(x, ids, gather<width>(x, ids)).size > 0);
  CHECK(write<width>(x, slice<width, narrow>(x, 1), 3).size > 0);
  CHECK(all(equal(t, transpose<width, batch>(x))).value());
  CHECK(windows<window<batch, second>>(halo<width, 1, 0>(x)).size > 0);
  CHECK(y.size > 0);
  CHECK(all(equal(reshard<L>(reshard<other<L>>(x)), x)).value());
  CHECK(broadcast<key, batch, width>(x).size > 0);
  CHECK(tile<narrow, rest>(rename<first, narrow>(slice<width, first>(x, 1))).size > 0);
  CHECK(micro_batch<width, second>(x, 1).size > 0);
  CHECK(one_hot<width, T>(ids).size > 0);
  CHECK(all(logical_not(logical_and(x, logical_not(x)))).value());
  CHECK(all(logical_or(not_equal(x, x), finish(stop_gradient(x)))).value());
  auto const same =
      slicewise<shape<batch, width>, splittable<batch>>([](auto&& part, auto const& of) { part = of; }, x);
  CHECK(all(equal(recompute([](auto const& v) { return copy(v); }, same), x)).value());
  CHECK(all(equal(spill([](auto const& v) { return copy(v); }, same), x)).value());
}

/// What numbers can do, too.
template<class T, class L>
void sums(machine<L>& m) {
  auto const x = cast<T>(random_uniform<float, L, batch, width>(m, {1}, 1, 9));
  CHECK(argmax<width>(x).size > 0);
  CHECK(cumsum<width>(x).size > 0);
  CHECK(cumprod<width>(x, {.exclusive = true}).size > 0);
  CHECK(cumsum<batch>(x).size > 0);
  CHECK(static_cast<double>(sum(x + x).value()) == 2 * static_cast<double>(sum(x).value()));
  // compiled here, since its operands have two types
  CHECK(all(equal(where(greater(x, 0), x, x + x), x)).value());
  CHECK(max<width>(x).size > 0);
  CHECK(max_pool<window<width, second>>(x).size > 0);
  CHECK(sort_and_argsort<width>(x).value.size > 0);
  CHECK(top_k<width, narrow>(x).index.size > 0);
  CHECK(top_k<batch, narrow>(x).value.size > 0);
  CHECK(nth_element<batch, 2>(x).index.size > 0);
  CHECK(min<batch>(x).size > 0);
  CHECK(product<width>(x).size > 0);
  CHECK(any(greater(x, 0)).value());
  CHECK(static_cast<double>(sum(minimum(x, x * 2)).value()) > 0);
  CHECK(iota<T, L, width>(m).size > 0);
  CHECK(scatter_add<width>(x, argmax<width>(x), max<width>(x)).size > 0);
  CHECK(argsort<width>(x).size > 0);
  CHECK(all(equal(max_and_argmax<batch>(x).value, max<batch>(x))).value());
  CHECK(min_and_argmin<width>(x).index.size > 0);
  CHECK(all(equal(sign(x), less(0 * x, x))).value());
  CHECK(all(less_equal(x, x)).value());
  CHECK(all(greater_equal(x, 1)).value());
  auto const row = sum<batch>(x);
  CHECK(finish(as_partial<axis_of<L>>(row) + as_partial<axis_of<L>>(row)).size > 0);
}

template<class T, class L>
void integers(machine<L>& m) {
  auto const x = cast<T>(random_uniform<float, L, batch, width>(m, {1}, -9, 9));
  CHECK(all(equal(floor_divide(x, 4) * 4 + modulo(x, 4), x)).value());
  CHECK(all(equal(floor_divide(x, x * x + 1) * (x * x + 1) + modulo(x, x * x + 1), x)).value());
}

template<class T, class L>
void functions_and_gradients(machine<L>& m) {
  parameter<T, L, batch, width> w{m};
  w            = random_normal<T, L, batch, width>(m, {2}, 0, 0.1);
  auto const x = random_normal<T, L, batch, width>(m, {3});
  auto y       = w * x;
#define MESHTF_ADD(f) y = y + f(w);
#define MESHTF_ADD_OF_POSITIVE(f) y = y + f(square(w) + 1);
  MESHTF_SMOOTH_FUNCTIONS(MESHTF_ADD)
  MESHTF_BENT_FUNCTIONS(MESHTF_ADD)
  MESHTF_STEP_FUNCTIONS(MESHTF_ADD)
  MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_ADD_OF_POSITIVE)
#undef MESHTF_ADD
#undef MESHTF_ADD_OF_POSITIVE
  y = y + elu(w) + clamp(w, -1, 1) + maximum(w, x) + leaky_relu(w);
  y = y + where(greater(x, 0), w, x) + 2 / (square(w) + 1) + pow(square(w) + 1, 0.5) +
      map([](auto v) { return v * v; }, [](auto v) { return 2 * v; }, w);
  y = y + fused([](auto v, auto u, auto s) { return v * u + s; }, w, x, fused_sum<batch>(by_itself, w)) +
      fused_max<width>(by_itself, w);
  y = y + dropout(w, 0.5, {4}) + softmax<width>(w) + log_softmax<width>(w) +
      broadcast<batch, width>(mean<width>(w));
  y = y + logaddexp(w, x) + sigmoid_cross_entropy(w, x) + bias_gelu(w, sum<batch>(w));
  y = y + softmax<width>(w, 0.5) + log_softmax<width>(w, 0.5) + cast<T>(is_nan(w));
  y = y + custom_gradient([](auto const& v) { return v * v; },
                          [](auto const& dz, auto const& v) { return dz * v; }, w);
  tensor<int, L, key> const ids{m};
  y = write<width>(y, slice<width, narrow>(w, 1), 3);
  y = y + scatter<width>(y, ids, gather<width>(w, ids)) + scatter_add<width>(y, ids, gather<width>(w, ids));
  auto total = sum(y) + sum(max<width>(w)) + sum(variance<width>(w)) + sum(weighted_mean<width>(w, w)) +
               sum(logsumexp<width>(w)) + sum(l2_norm<width>(w)) + sum(product<width>(w)) +
               sum(cumprod<width>(w)) + sum(cumprod<batch>(w)) + sum(sort<width>(w)) +
               sum(top_k<batch, narrow>(w).value) + sum(avg_pool<window<width, second>>(w)) +
               sum(nth_element<width, 1>(w).value);
  backward(total);
  CHECK(twice(parameters(w), [&w] { return sum(square(w)); }).size == 1);
  auto const summed = accumulate<2>([&](extent i) {
    return sum(square(micro_batch<width, second>(w, i))) + sum(logsumexp<width>(w, 0.5));
  });
  CHECK(std::isfinite(static_cast<double>(summed.value())));
  CHECK(sample<width>(w, {5}, 0.7).size > 0);
  // the user's loop and the library's
  CHECK(all(equal(map([](auto v) { return v * v; }, [](auto v) { return 2 * v; }, w), w * w)).value());
  CHECK(all(equal(fused(by_itself, w), w * w)).value());
  CHECK(std::isfinite(static_cast<double>(total.value())));
  if constexpr (!NarrowElement<T>) {
    auto const step = [&w](auto optimizer) {
      optimizer.max_norm = 1;
      backward(sum(square(w)));
      optimizer.step(parameters(w));
    };
    step(adamw{1e-3});
    step(momentum{});
    step(lion{});
    step(lamb{});
    step(lars{});
    adafactor by_factors;
    adafactor averaged_steps;
    by_factors.least_factored = 2;
    averaged_steps.beta1      = 0.9;
    backward(sum(square(w)));
    by_factors.step(parameters(w));
    backward(sum(square(w)));
    averaged_steps.step(parameters(w));
    averaged<sgd> average{0.9, 0.1};
    backward(sum(square(w)));
    average.step(parameters(w));
    average.exchange(parameters(w));
    parameter<T, L, width> v{m};
    auto const of_blocks = reproducible<batch, narrow>(
        parameters(v), [&](extent i) { return sum(block_of<batch, narrow>(x, i) * v); });
    CHECK(std::isfinite(static_cast<double>(of_blocks.value())));
  }
}

template<class T, class L>
void products(machine<L>& m) {
  parameter<T, L, width, key> w{m};
  parameter<T, L, key> scale{m};
  parameter<T, L, key> bias{m};
  parameter<T, L, narrow, key> w2{m};
  w = random_normal<T, L, width, key>(m, {5}, 0, 0.3);
  variance_scaling{.seed = 5}(scale);
  scale        = random_normal<T, L, key>(m, {7}, 1, 0.1);
  auto const x = random_normal<T, L, batch, width>(m, {6});
  auto const f = random_normal<T, L, second, narrow, rest>(m, {8});
  backward(sum(conv<window<batch, second>, narrow, rest>(
      slice<key, narrow>(conv<window<batch, narrow>>(einsum<batch, key>(x, w), w2), 0), f)));
  auto const taken = conv<window<batch, narrow>>(einsum<batch, key>(x, w), w2);
  backward(sum(conv_transpose<window<batch, narrow>>(taken, w2)) + sum(outer_product(scale, x)) +
           sum(finish(partial_einsum<width, key>(x, taken))));
  auto const h = einsum<batch, key>(x, w, scale) + matmul<width>(x, w);
  auto const n = layer_norm<key>(h, scale, bias) + rms_norm<key>(h, scale) +
                 batch_norm<key>(h, scale, bias).norm + group_norm<batch>(h, scale, bias);
  auto const seen   = attention<width, width, key>(w, rotary<width, key>(w), w, {.causal = true});
  auto const keys   = rename<width, memory>(w);
  auto const scores = matmul<key>(w, keys);
  auto const biased = attention<width, memory, key>(w, keys, keys, with_bias(scores));
  auto const segmented =
      attention<width, width, key>(w, w, biased, with_segments(floor_divide(iota<int, L, width>(m), 4)));
  auto const masked =
      attention<width, memory, key>(w, keys, keys, with_mask(less(iota<int, L, memory>(m), 3)));
  tensor<int, L, batch> const targets{m};
  auto const [sum_of_both, normed] = residual_layer_norm<key>(h, n, scale, bias);
  auto loss                        = mean(cast<computed<T>>(seen)) + mean(cast<computed<T>>(segmented)) +
              mean(cast<computed<T>>(masked)) + mean(cast<computed<T>>(sum_of_both * normed)) +
              mean(softmax_cross_entropy<key>(n, targets)) +
              mean(softmax_cross_entropy<key>(h, targets, {.label_smoothing = 0.1, .z_loss = 1e-3}));
  backward(loss);
  CHECK(std::isfinite(static_cast<double>(loss.value())));
  if constexpr (!NarrowElement<T>) {
    sgd descent{0.1};
    descent.step(parameters(w, scale, bias));
  }
}

template<class L>
void everything(boost::mpi::communicator const& world) {
  process_mesh<typename L::mesh_type> m{world};
  moves<float, L>(m), moves<double, L>(m), moves<bfloat16, L>(m), moves<int, L>(m), moves<std::int64_t, L>(m),
      moves<bool, L>(m);
  sums<float, L>(m), sums<double, L>(m), sums<bfloat16, L>(m), sums<int, L>(m), sums<std::int64_t, L>(m);
  functions_and_gradients<float, L>(m), functions_and_gradients<double, L>(m),
      functions_and_gradients<bfloat16, L>(m);
  products<float, L>(m), products<double, L>(m), products<bfloat16, L>(m);
  integers<int, L>(m), integers<std::int64_t, L>(m);
}

TEST_CASE("every operation finds its kernels", "[1]") { everything<whole>({}); }
TEST_CASE("every operation finds its kernels on two processes", "[2]") { everything<halves>({}); }

}  // namespace
