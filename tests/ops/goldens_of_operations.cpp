// Operations beside Mesh TensorFlow and PyTorch: the same results and gradients, whatever the layout. See tests/golden/README.md.
// test: processes 1 3 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct length : dim<6> {};
struct hidden : dim<8> {};
struct model : dim<5> {};
struct vocab : dim<10> {};
struct memory : dim<6> {};

struct solo : axis<1> {};
struct third : axis<3> {};
struct rows : axis<2> {};
struct cols : axis<2> {};

struct alone : mesh<solo> {};
struct by_three : mesh<third> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct uneven : layout<by_three, padded<hidden, third>, padded<vocab, third>> {};
struct mixed : layout<by_four, split<batch, rows>, split<hidden, cols>, split<vocab, cols>> {};

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

  operand(machine<L>& m, std::string n) : name{std::move(n)}, value{m, zeros{}} { value = golden().tensor<double, L, D...>(m, name); }
};

/// f(operands...) has the result and the gradients that the file has under `name`.
template<class F, class... X>
void compare(std::string const& name, F const& f, X&... x) {
  auto const z = f(x.value...);
  if constexpr (FloatingElement<typename decltype(f(x.value...))::element_type>)
    if (z.needs_gradient()) return check_case(golden(), name, z, close, x...);
  CAPTURE(name);
  CHECK(golden().distance(z, name + ".result") <= close);  // integers, or a function that jumps: the file has zeros
}

template<class L>
void compare_all(boost::mpi::communicator const& world) {
  process_mesh<typename L::mesh_type> m{world};
  operand<L, batch, hidden> x{m, "x"}, y{m, "y"}, positive{m, "positive"};
  operand<L, hidden> bias{m, "bias"};
  operand<L, batch, length, model> sequence{m, "sequence"};
  operand<L, model, hidden> weight{m, "weight"};
  operand<L, hidden, model> back{m, "back"};
  operand<L, vocab, model> table{m, "table"};
  operand<L, batch, length, vocab> logits{m, "logits"};
  auto const ids = golden().tensor<int, L, batch, length>(m, "ids");

  compare("sin", [](auto const& v) { return sin(v); }, x);
  compare("cos", [](auto const& v) { return cos(v); }, x);
  compare("tanh", [](auto const& v) { return tanh(v); }, x);
  compare("square", [](auto const& v) { return square(v); }, x);
  compare("exp", [](auto const& v) { return exp(v); }, x);
  compare("sigmoid", [](auto const& v) { return sigmoid(v); }, x);
  compare("silu", [](auto const& v) { return silu(v); }, x);
  compare("softplus", [](auto const& v) { return softplus(v); }, x);
  compare("relu", [](auto const& v) { return relu(v); }, x);
  compare("elu", [](auto const& v) { return elu(v); }, x);
  compare("selu", [](auto const& v) { return selu(v); }, x);
  compare("abs", [](auto const& v) { return abs(v); }, x);
  compare("leaky_relu", [](auto const& v) { return leaky_relu(v, 0.2); }, x);
  compare("negative", [](auto const& v) { return -v; }, x);
  compare("gelu", [](auto const& v) { return gelu(v); }, x);
  compare("gelu_erf", [](auto const& v) { return gelu_erf(v); }, x);
  compare("erf", [](auto const& v) { return erf(v); }, x);
  compare("expm1", [](auto const& v) { return expm1(v); }, x);
  compare("sign", [](auto const& v) { return sign(v); }, x);
  compare("floor", [](auto const& v) { return floor(v); }, x);
  compare("ceil", [](auto const& v) { return ceil(v); }, x);
  compare("round", [](auto const& v) { return round(v); }, x);
  compare("clamp", [](auto const& v) { return clamp(v, -1, 1.5); }, x);
  compare("sqrt", [](auto const& v) { return sqrt(v); }, positive);
  compare("rsqrt", [](auto const& v) { return rsqrt(v); }, positive);
  compare("log", [](auto const& v) { return log(v); }, positive);
  compare("log1p", [](auto const& v) { return log1p(v); }, positive);
  compare("reciprocal", [](auto const& v) { return reciprocal(v); }, positive);
  compare("pow", [](auto const& v, auto const& w) { return pow(v, w); }, positive, y);
  compare("add", [](auto const& v, auto const& w) { return v + w; }, x, bias);
  compare("subtract", [](auto const& v, auto const& w) { return v - w; }, x, bias);
  compare("multiply", [](auto const& v, auto const& w) { return v * w; }, x, bias);
  compare("divide", [](auto const& v, auto const& w) { return v / w; }, x, positive);
  compare("minimum", [](auto const& v, auto const& w) { return minimum(v, w); }, x, bias);
  compare("maximum", [](auto const& v, auto const& w) { return maximum(v, w); }, x, bias);
  compare("logaddexp", [](auto const& v, auto const& w) { return logaddexp(v, w); }, x, y);
  compare("where", [](auto const& v, auto const& w) { return where(less(v, w), v, w); }, x, y);
  compare("sigmoid_cross_entropy", [](auto const& v, auto const& w) { return sigmoid_cross_entropy(v, w); }, x, positive);

  compare("sum", [](auto const& v) { return sum<length>(v); }, sequence);
  compare("mean", [](auto const& v) { return mean<batch, length>(v); }, sequence);
  compare("max", [](auto const& v) { return max<length>(v); }, sequence);
  compare("min", [](auto const& v) { return min<hidden>(v); }, x);
  compare("product", [](auto const& v) { return product<hidden>(v); }, x);
  compare("logsumexp", [](auto const& v) { return logsumexp<hidden>(v); }, x);
  compare("variance", [](auto const& v) { return variance<hidden>(v); }, x);
  compare("l2_norm", [](auto const& v) { return l2_norm<hidden>(v); }, x);
  compare("softmax", [](auto const& v) { return softmax<hidden>(v); }, x);
  compare("log_softmax", [](auto const& v) { return log_softmax<hidden>(v); }, x);
  compare("softmax_with_extra_logit", [](auto const& v) { return softmax<hidden>(v, 0.5); }, x);
  compare("argmax", [](auto const& v) { return argmax<hidden>(v); }, x);
  compare("cumsum", [](auto const& v) { return cumsum<length>(v); }, sequence);
  compare("exclusive_cumsum", [](auto const& v) { return cumsum<length>(v, {.exclusive = true}); }, sequence);
  compare("reverse_cumsum", [](auto const& v) { return cumsum<length>(v, {.reverse = true}); }, sequence);
  compare("cumprod", [](auto const& v) { return cumprod<length>(v); }, sequence);

  struct three : dim<3> {};
  compare("sort", [](auto const& v) { return sort<length>(v); }, sequence);
  compare("argsort_descending", [](auto const& v) { return argsort<length>(v, {.descending = true}); }, sequence);
  compare("top_k", [](auto const& v) { return top_k<hidden, three>(v).value; }, x);
  compare("top_k_indices", [](auto const& v) { return top_k<hidden, three>(v).index; }, x);

  compare("einsum", [](auto const& v, auto const& w) { return einsum<batch, length, hidden>(v, w); }, sequence, weight);
  compare("einsum_of_three", [](auto const& u, auto const& v, auto const& w) { return einsum<batch, length>(u, v, w); }, sequence, weight, back);

  struct nine : dim<9> {};
  struct twelve : dim<12> {};
  compare("transpose", [](auto const& v) { return transpose<length, batch, model>(v); }, sequence);
  compare("slice", [](auto const& v) { return slice<length, three>(v, 2); }, sequence);
  compare("pad", [](auto const& v) { return pad<length, nine>(v, 1); }, sequence);
  compare("flip", [](auto const& v) { return flip<length>(v); }, sequence);
  struct two : dim<2> {};
  compare("stack", [](auto const& v, auto const& w) { return stack<two>(v, w); }, x, y);
  compare("shift", [](auto const& v) { return shift<length>(v, 1); }, sequence);
  compare("shift_back", [](auto const& v) { return shift<length>(v, -2); }, sequence);
  compare("roll", [](auto const& v) { return roll<length>(v, 2); }, sequence);
  compare("tile", [](auto const& v) { return tile<length, twelve>(v); }, sequence);
  compare("concat", [](auto const& v) { return concat<twelve>(v, rename<length, memory>(v)); }, sequence);
  compare("gather", [&](auto const& v) { return gather<vocab>(v, ids); }, table);
  compare("scatter_add", [&](auto const& v) { return scatter_add<vocab>(tensor<double, L, vocab, model>{m}, ids, v); }, sequence);
  CHECK(golden().distance(one_hot<vocab, double>(ids), "one_hot.result") == 0);
  compare("softmax_cross_entropy", [&](auto const& v) { return softmax_cross_entropy<vocab>(v, ids, {.z_loss = 1e-2}); }, logits);
}

}  // namespace

TEST_CASE("operations compute what Mesh TensorFlow and PyTorch do") {
  boost::mpi::communicator const world;
  if (world.size() == 1) compare_all<whole>(world);
  if (world.size() == 3) compare_all<uneven>(world);
  if (world.size() == 4) compare_all<mixed>(world);
}

#endif
