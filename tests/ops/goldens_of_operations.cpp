// Operations compared with Mesh TensorFlow and PyTorch: the same results and gradients, whatever the layout.
// See tests/golden/README.md.
// test: processes 1 3 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"
#include "functions_of_x.hpp"

#if MESHTF_WITH_JANSSON

#include <algorithm>

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct length : dim<6> {};
struct hidden : dim<8> {};
struct model : dim<5> {};
struct vocab : dim<10> {};
struct memory : dim<6> {};
struct key : dim<4> {};
struct pick : dim<4> {};

struct two : dim<2> {};
struct three : dim<3> {};
struct span : dim<3> {};
struct four : dim<4> {};
struct five : dim<5> {};
struct wider : dim<6> {};
struct eight : dim<8> {};
struct nine : dim<9> {};
struct twelve : dim<12> {};
struct all_places : dim<24> {};

struct solo : axis<1> {};
struct third : axis<3> {};
struct rows : axis<2> {};
struct cols : axis<2> {};

struct alone : mesh<solo> {};
struct by_three : mesh<third> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct uneven : layout<by_three, padded<hidden, third>, padded<vocab, third>, split<span, third>,
                       split<nine, third>, split<twelve, third>> {};
struct mixed : layout<by_four, split<batch, rows>, split<hidden, cols>, split<vocab, cols>> {};
struct by_length : layout<by_four, split<length, rows>, padded<five, rows>, split<two, rows>,
                          padded<model, cols>, split<wider, cols>> {};
// the last process has nothing of it
struct by_uneven_length : layout<by_four, padded<length, rows, cols>, padded<five, rows, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"operations"};
  return file;
}

constexpr double close = 1e-9;  // both sides compute in double

/// An operand of which the gradient is wanted, and its name in the file.
template<class L, class... D>
struct operand {
  std::string name;
  parameter<double, L, D...> value;

  operand(machine<L>& m, std::string n) : name{std::move(n)}, value{m, zeros{}} {
    value = golden().tensor<double, L, D...>(m, name);
  }
};

/// Whether the file has no such gradient, or zeros.
bool has_no_slope(std::string const& gradient) {
  if (!golden().file().header().arrays.contains(gradient)) return true;
  auto const slopes = golden().file().read<double>(gradient);
  return std::all_of(slopes.begin(), slopes.end(), [](double slope) { return slope == 0; });
}

/// f(operands...) has the result and the gradients that the file has under `name`.
template<class F, class... X>
void compare(std::string const& name, F const& f, X&... x) {
  auto const z = f(x.value...);
  if constexpr (sizeof...(X) > 0 && FloatingElement<typename decltype(f(x.value...))::element_type>)
    if (z.needs_gradient()) return check_case(golden(), name, z, close, x...);
  CAPTURE(name);
  CHECK(golden().distance(z, name + ".result") <= close);
  CHECK((has_no_slope(name + ".gradient." + x.name) && ...));  // integers, or a function that jumps
}

constexpr auto swish       = [](auto v) { return v / (1 + std::exp(-v)); };
constexpr auto swish_slope = [](auto v) {
  auto const s = 1 / (1 + std::exp(-v));
  return s + v * s * (1 - s);
};

auto pieces_joined(auto const& piece) {
  return piece[1] * piece[5] - piece[0] * piece[3] + piece[2] - piece[4];
}

template<class L>
void compare_all(boost::mpi::communicator const& world) {
  process_mesh<typename L::mesh_type> m{world};
  operand<L, batch, hidden> x{m, "x"};
  operand<L, batch, hidden> y{m, "y"};
  operand<L, batch, hidden> positive{m, "positive"};
  operand<L, hidden> bias{m, "bias"};
  operand<L, batch, length, model> sequence{m, "sequence"};
  operand<L, model, hidden> weight{m, "weight"};
  operand<L, hidden, model> back{m, "back"};
  operand<L, vocab, model> table{m, "table"};
  operand<L, batch, length, vocab> logits{m, "logits"};
  auto const ids = golden().tensor<int, L, batch, length>(m, "ids");

#define MESHTF_COMPARE(f) compare(#f, [](auto const& v) { return f(v); }, x);
#define MESHTF_COMPARE_OF_POSITIVE(f) compare(#f, [](auto const& v) { return f(v); }, positive);
  MESHTF_SMOOTH_FUNCTIONS(MESHTF_COMPARE)
  MESHTF_BENT_FUNCTIONS(MESHTF_COMPARE)
  MESHTF_STEP_FUNCTIONS(MESHTF_COMPARE)
  MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_COMPARE_OF_POSITIVE)
#undef MESHTF_COMPARE
#undef MESHTF_COMPARE_OF_POSITIVE
  compare("elu", [](auto const& v) { return elu(v); }, x);
  compare("leaky_relu", [](auto const& v) { return leaky_relu(v, 0.2); }, x);
  compare("negative", [](auto const& v) { return -v; }, x);
  compare("clamp", [](auto const& v) { return clamp(v, -1, 1.5); }, x);
  compare("pow", [](auto const& v, auto const& w) { return pow(v, w); }, positive, y);
  compare("add", [](auto const& v, auto const& w) { return v + w; }, x, bias);
  compare("subtract", [](auto const& v, auto const& w) { return v - w; }, x, bias);
  compare("multiply", [](auto const& v, auto const& w) { return v * w; }, x, bias);
  compare("divide", [](auto const& v, auto const& w) { return v / w; }, x, positive);
  compare("minimum", [](auto const& v, auto const& w) { return minimum(v, w); }, x, bias);
  compare("maximum", [](auto const& v, auto const& w) { return maximum(v, w); }, x, bias);
  compare("logaddexp", [](auto const& v, auto const& w) { return logaddexp(v, w); }, x, y);
  compare("where", [](auto const& v, auto const& w) { return where(less(v, w), v, w); }, x, y);
  compare(
      "sigmoid_cross_entropy", [](auto const& v, auto const& w) { return sigmoid_cross_entropy(v, w); }, x,
      positive);

  operand<L, batch, hidden> coarse{m, "coarse"};
  operand<L, hidden> coarse_bias{m, "coarse_bias"};
  auto const dividend = golden().tensor<int, L, batch, length>(m, "dividend");
  auto const divisor  = golden().tensor<int, L, length>(m, "divisor");
  compare("silu", [](auto const& v) { return map(swish, swish_slope, v); }, x);
  compare("bias_gelu", [](auto const& v, auto const& w) { return bias_gelu(v, w); }, x, bias);
  compare("maximum_of_ties", [](auto const& v, auto const& w) { return maximum(v, w); }, coarse, coarse_bias);
  compare("less", [](auto const& v, auto const& w) { return less(v, w); }, coarse, coarse_bias);
  compare("less_equal", [](auto const& v, auto const& w) { return less_equal(v, w); }, coarse, coarse_bias);
  compare("greater", [](auto const& v, auto const& w) { return greater(v, w); }, coarse, coarse_bias);
  compare(
      "greater_equal", [](auto const& v, auto const& w) { return greater_equal(v, w); }, coarse, coarse_bias);
  compare("equal", [](auto const& v, auto const& w) { return equal(v, w); }, coarse, coarse_bias);
  compare("not_equal", [](auto const& v, auto const& w) { return not_equal(v, w); }, coarse, coarse_bias);
  compare("logical_and", [](auto const& v, auto const& w) { return logical_and(v, w); }, coarse, coarse_bias);
  compare("logical_or", [](auto const& v, auto const& w) { return logical_or(v, w); }, coarse, coarse_bias);
  compare("logical_not", [](auto const& v) { return logical_not(v); }, coarse);
  compare("is_nan", [](auto const& v) { return is_nan(sqrt(v)); }, coarse);
  compare("floor_divide", [&] { return floor_divide(dividend, divisor); });
  compare("modulo", [&] { return modulo(dividend, divisor); });
  compare("cast_to_int", [](auto const& v) { return cast<int>(v); }, x);
  compare("cast_to_float", [](auto const& v) { return cast<double>(cast<float>(v * (1.0 / 3))); }, x);
  compare("cast_to_bfloat16", [](auto const& v) { return cast<double>(cast<bfloat16>(v * (1.0 / 3))); }, x);
  operand<L, batch, length, key> queries{m, "queries"};
  compare("rotary", [&](auto const& v) { return rotary<key>(v, ids); }, queries);

  compare("min", [](auto const& v) { return min<hidden>(v); }, x);
  compare(
      "weighted_mean", [](auto const& v, auto const& w) { return weighted_mean<hidden>(v, w); }, x, positive);
  compare("product", [](auto const& v) { return product<hidden>(v); }, x);
  compare("logsumexp", [](auto const& v) { return logsumexp<hidden>(v); }, x);
  compare("variance", [](auto const& v) { return variance<hidden>(v); }, x);
  compare("l2_norm", [](auto const& v) { return l2_norm<hidden>(v); }, x);
  compare("softmax", [](auto const& v) { return softmax<hidden>(v); }, x);
  compare("log_softmax", [](auto const& v) { return log_softmax<hidden>(v); }, x);
  compare("softmax_with_extra_logit", [](auto const& v) { return softmax<hidden>(v, 0.5); }, x);
  compare("argmax", [](auto const& v) { return argmax<hidden>(v); }, x);

  operand<L, batch> extra{m, "extra"};
  compare("logsumexp_with_extra_logit", [](auto const& v) { return logsumexp<hidden>(v, 0.5); }, x);
  compare("log_softmax_with_extra_logit", [](auto const& v) { return log_softmax<hidden>(v, 0.5); }, x);
  compare(
      "logsumexp_with_extra_logits", [](auto const& v, auto const& w) { return logsumexp<hidden>(v, w); }, x,
      extra);
  compare(
      "log_softmax_with_extra_logits", [](auto const& v, auto const& w) { return log_softmax<hidden>(v, w); },
      x, extra);
  compare(
      "softmax_with_extra_logits", [](auto const& v, auto const& w) { return softmax<hidden>(v, w); }, x,
      extra);
  compare("max_of_ties", [](auto const& v) { return max<hidden>(v); }, coarse);
  compare("min_of_ties", [](auto const& v) { return min<hidden>(v); }, coarse);
  compare("product_of_zeros", [](auto const& v) { return product<hidden>(v); }, coarse);
  compare("max_and_argmax", [](auto const& v) { return max_and_argmax<hidden>(v).value; }, coarse);
  compare("min_and_argmin", [](auto const& v) { return min_and_argmin<hidden>(v).value; }, coarse);
  compare("argmax_of_ties", [](auto const& v) { return argmax<hidden>(v); }, coarse);
  compare("argmax_of_ties", [](auto const& v) { return max_and_argmax<hidden>(v).index; }, coarse);
  compare("argmin_of_ties", [](auto const& v) { return min_and_argmin<hidden>(v).index; }, coarse);
  compare("nth_element", [](auto const& v) { return nth_element<hidden, 2>(v).value; }, x);
  compare(
      "nth_element_descending",
      [](auto const& v) { return nth_element<hidden, 1>(v, {.descending = true}).value; }, x);
  compare("nth_element_index", [](auto const& v) { return nth_element<hidden, 5>(v).index; }, coarse);
  compare("cumprod_of_zeros", [](auto const& v) { return cumprod<hidden>(v); }, coarse);
  compare("exclusive_cumprod", [](auto const& v) { return cumprod<hidden>(v, {.exclusive = true}); }, coarse);
  compare("reverse_cumprod", [](auto const& v) { return cumprod<hidden>(v, {.reverse = true}); }, coarse);
  compare(
      "exclusive_reverse_cumprod",
      [](auto const& v) { return cumprod<hidden>(v, {.exclusive = true, .reverse = true}); }, coarse);
  auto const ones = tensor<double, L, hidden>{m} + 1;
  compare(
      "layer_norm", [&](auto const& v, auto const& w) { return layer_norm<hidden>(v, ones, w); }, x, bias);
  compare("rms_norm", [](auto const& v, auto const& w) { return rms_norm<hidden>(v, w); }, x, bias);
  compare(
      "residual_layer_norm",
      [](auto const& u, auto const& v, auto const& w, auto const& b) {
        auto const [h, normed] = residual_layer_norm<hidden>(u, v, w, b);
        return h * normed;
      },
      x, y, bias, coarse_bias);
  compare(
      "batch_norm",
      [](auto const& v, auto const& w, auto const& b) { return batch_norm<hidden>(v, w, b).norm; }, x, bias,
      coarse_bias);

  compare(
      "argsort_of_ties", [](auto const& v) { return top_k<hidden, eight>(v, {.descending = false}).index; },
      coarse);
  if constexpr (std::is_same_v<L, whole>)
    compare("argsort_of_ties", [](auto const& v) { return argsort<hidden>(v); }, coarse);
  compare("sort", [](auto const& v) { return sort_and_argsort<length>(v).value; }, sequence);
  compare("sort", [](auto const& v) { return sort<length>(v); }, sequence);
  compare(
      "argsort_descending", [](auto const& v) { return argsort<length>(v, {.descending = true}); }, sequence);
  compare("top_k", [](auto const& v) { return top_k<hidden, three>(v).value; }, x);
  compare("top_k_indices", [](auto const& v) { return top_k<hidden, three>(v).index; }, x);

  compare(
      "einsum", [](auto const& v, auto const& w) { return einsum<batch, length, hidden>(v, w); }, sequence,
      weight);
  compare(
      "einsum_of_three",
      [](auto const& u, auto const& v, auto const& w) { return einsum<batch, length>(u, v, w); }, sequence,
      weight, back);
  compare(
      "einsum",
      [](auto const& v, auto const& w) { return finish(partial_einsum<batch, length, hidden>(v, w)); },
      sequence, weight);
  compare("matmul", [](auto const& v, auto const& w) { return matmul<hidden>(v, w); }, x, weight);
  operand<L, model> centre{m, "centre"};
  compare("outer_product", [](auto const& v, auto const& w) { return outer_product(v, w); }, bias, centre);

  compare(
      "searchsorted", [](auto const& v, auto const& w) { return searchsorted<model>(sort<model>(v), w); },
      centre, x);
  compare(
      "searchsorted_right",
      [](auto const& v, auto const& w) {
        return searchsorted<model>(sort<model>(round(2 * v)), round(2 * w), {.right = true});
      },
      centre, x);

  compare("slice", [](auto const& v) { return slice<length, span>(v, 2); }, sequence);
  compare("pad_with_value", [](auto const& v) { return pad<length, nine>(v, 1, 0.5); }, sequence);
  compare("pad", [](auto const& v) { return pad<length, nine>(v, 1); }, sequence);
  compare("tile", [](auto const& v) { return tile<length, twelve>(v); }, sequence);
  compare("concat", [](auto const& v) { return concat<twelve>(v, rename<length, memory>(v)); }, sequence);
  compare("gather", [&](auto const& v) { return gather<vocab>(v, ids); }, table);
  compare(
      "scatter_add",
      [&](auto const& v) { return scatter_add<vocab>(tensor<double, L, vocab, model>{m}, ids, v); },
      sequence);
  compare("unstack", [](auto const& v) { return pieces_joined(unstack<length>(v)); }, sequence);
  compare(
      "split_into",
      [](auto const& v) {
        auto const [first, rest] = split_into<length, two, four>(v);
        return concat<length>(rest, first);
      },
      sequence);
  auto const picked = golden().tensor<int, L, pick>(m, "picked");
  operand<L, pick, model> new_rows{m, "new_rows"};
  compare(
      "scatter", [&](auto const& v, auto const& w) { return scatter<vocab>(v, picked, w); }, table, new_rows);
  compare(
      "scatter_add_to_table", [&](auto const& v, auto const& w) { return scatter_add<vocab>(v, ids, w); },
      table, sequence);
  compare("windows", [](auto const& v) { return windows<window<hidden, three>>(v); }, x);
  compare("one_hot", [&] { return one_hot<vocab, double>(ids); });
  compare(
      "smoothed_cross_entropy",
      [&](auto const& v) { return softmax_cross_entropy<vocab>(v, ids, {.label_smoothing = 0.1}); }, logits);
  compare(
      "softmax_cross_entropy",
      [&](auto const& v) { return softmax_cross_entropy<vocab>(v, ids, {.z_loss = 1e-2}); }, logits);
}

/// What works along length, or moves its elements, and is legal where length is split.
template<class L>
void compare_along_length(boost::mpi::communicator const& world) {
  process_mesh<typename L::mesh_type> m{world};
  INFO("under " << name_of<L>());
  operand<L, batch, length, model> sequence{m, "sequence"};
  operand<L, batch, pick, model> some{m, "rows"};
  operand<L, batch, hidden> x{m, "x"};
  operand<L, batch, hidden> y{m, "y"};
  operand<L, model> centre{m, "centre"};
  operand<L, model> offset{m, "offset"};
  auto const ids    = golden().tensor<int, L, batch, length>(m, "ids");
  auto const places = golden().tensor<int, L, batch, pick>(m, "places");

  compare("sum", [](auto const& v) { return sum<length>(v); }, sequence);
  compare("mean", [](auto const& v) { return mean<batch, length>(v); }, sequence);
  compare("max", [](auto const& v) { return max<length>(v); }, sequence);
  compare("any", [](auto const& v) { return any<length>(greater(v, 1.5)); }, sequence);
  compare("all", [](auto const& v) { return all<length>(greater(v, -1.5)); }, sequence);
  compare("max", [](auto const& v) { return max_and_argmax<length>(v).value; }, sequence);
  compare("argmax_of_length", [](auto const& v) { return argmax<length>(v); }, sequence);
  compare("cumsum", [](auto const& v) { return cumsum<length>(v); }, sequence);
  compare("exclusive_cumsum", [](auto const& v) { return cumsum<length>(v, {.exclusive = true}); }, sequence);
  compare("reverse_cumsum", [](auto const& v) { return cumsum<length>(v, {.reverse = true}); }, sequence);
  compare(
      "exclusive_reverse_cumsum",
      [](auto const& v) { return cumsum<length>(v, {.exclusive = true, .reverse = true}); }, sequence);
  compare("cumprod", [](auto const& v) { return cumprod<length>(v); }, sequence);
  compare(
      "group_norm",
      [](auto const& v, auto const& w, auto const& b) { return group_norm<length, model>(v, w, b); },
      sequence, centre, offset);

  compare("transpose", [](auto const& v) { return transpose<length, batch, model>(v); }, sequence);
  compare("shift", [](auto const& v) { return shift<length>(v, 1); }, sequence);
  compare("shift_back", [](auto const& v) { return shift<length>(v, -2); }, sequence);
  compare("shift_with_value", [](auto const& v) { return shift<length>(v, 2, 0.5); }, sequence);
  compare("slice_of_five", [](auto const& v) { return slice<length, five>(v, 1); }, sequence);
  compare("pad_model", [](auto const& v) { return pad<model, wider>(v, 0); }, sequence);
  compare("stack", [](auto const& v, auto const& w) { return stack<two>(v, w); }, x, y);
  compare("rename", [](auto const& v) { return rename<length, memory>(v); }, sequence);
  compare("broadcast", [](auto const& v) { return broadcast<batch, model, length>(v); }, centre);
  compare("write", [](auto const& v, auto const& w) { return write<length>(v, w, 1); }, sequence, some);
  compare("iota", [&] { return ids + iota<int, L, length>(m); });
  compare("batched_gather", [&](auto const& v) { return gather<length>(v, places); }, sequence);
  compare(
      "batched_scatter", [&](auto const& v, auto const& w) { return scatter<length>(v, places, w); },
      sequence, some);
  compare(
      "batched_scatter_add", [&](auto const& v, auto const& w) { return scatter_add<length>(v, places, w); },
      sequence, some);

  constexpr auto parts = placed_under<L, length>.parts;
  if constexpr (length::size % parts == 0) {
    compare("flip", [](auto const& v) { return flip<length>(v); }, sequence);
    compare("roll", [](auto const& v) { return roll<length>(v, 2); }, sequence);
    compare("split_dim", [](auto const& v) { return split_dim<length, two, three>(v); }, sequence);
    compare("merge_dims", [](auto const& v) { return merge_dims<batch, length, all_places>(v); }, sequence);
    // what it gives depends on them
    compare(
        parts == 1 ? "halo_in_1" : "halo_in_2", [](auto const& v) { return halo<length, 1, 1>(v); },
        sequence);
  }
}

}  // namespace

TEST_CASE("operations compute what Mesh TensorFlow and PyTorch do") {
  boost::mpi::communicator const world;
  if (world.size() == 1) compare_all<whole>(world);
  if (world.size() == 3) compare_all<uneven>(world);
  if (world.size() == 4) compare_all<mixed>(world);
}

TEST_CASE("operations along a dimension do, whether it is whole or split") {
  boost::mpi::communicator const world;
  if (world.size() == 1) compare_along_length<whole>(world);
  if (world.size() == 3) compare_along_length<uneven>(world);
  if (world.size() == 4)
    compare_along_length<mixed>(world), compare_along_length<by_length>(world),
        compare_along_length<by_uneven_length>(world);
}

#endif
