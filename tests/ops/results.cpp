// If it compiles, it passes: an operation returns a tensor, whatever its operands are made of, so that
// repeated layers have one type.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<4> {};
struct hidden : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};

struct whole : layout<grid> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<heads, cols>, split<in, lone>> {};

using L = dry<mixed>;
template<class... D>
using value = tensor<float, L, D...>;

// every operation below is given these
using X = value<batch, hidden> const&;
using W = parameter<float, L, hidden, in> const&;
using B = parameter<float, L, hidden> const&;
using P = partial<value<batch, in>, axes<cols>> const&;

template<class Result, class F>
consteval bool returns(F const&) {
  return std::same_as<std::invoke_result_t<F const&, X, W, B, P>, Result>;
}

// einsum: the dimensions that are named, in that order; a parameter is a tensor
static_assert(returns<value<batch, in>>([](X x, W w, B, P) { return einsum<batch, in>(x, w); }));
static_assert(returns<value<in, batch>>([](X x, W w, B, P) { return einsum<in, batch>(x, w); }));
static_assert(returns<value<>>([](X x, W, B b, P) { return einsum<>(x, b); }));
static_assert(returns<value<batch, hidden>>([](X x, W w, B b, P) {
  return tanh(einsum<batch, hidden>(einsum<batch, in>(x, w), w) + b) * x;
}));

// elementwise: the order of the operand that has all dimensions; of two that share none, the left's and then
// the right's
static_assert(returns<value<batch, hidden>>([](X x, W, B b, P) { return x + b; }) &&
              returns<value<batch, hidden>>([](X x, W, B b, P) { return b * x; }));
static_assert(returns<value<in, batch, hidden>>([](X x, W w, B, P) {
  return broadcast<in, batch, hidden>(x) - w;
}));
static_assert(returns<value<hidden, in, batch>>([](X x, W w, B, P) {
  return w / broadcast<hidden, in, batch>(x);
}));
static_assert(returns<value<batch, hidden>>([](X x, W, B, P) { return x * transpose<hidden, batch>(x); }) &&
              returns<value<hidden, batch>>([](X x, W, B, P) { return transpose<hidden, batch>(x) * x; }));
static_assert(returns<value<hidden, batch>>([](X x, W, B b, P) { return b - sum<hidden>(x); }) &&
              returns<value<batch, hidden>>([](X x, W, B b, P) { return less(sum<hidden>(x), b); }));
static_assert(returns<value<batch, hidden>>([](X x, W, B b, P) { return where(sum<hidden>(x), x, b); }) &&
              returns<value<batch, hidden>>([](X x, W, B b, P) { return where(sum<hidden>(x), b, 0); }) &&
              returns<value<hidden, batch>>([](X x, W, B b, P) {
                return where(transpose<hidden, batch>(x), b, x);
              }));
static_assert(returns<value<batch, hidden>>([](X x, W, B, P) { return 1 - 2 * -x / 3.0 + 4; }));
static_assert(returns<value<batch, hidden>>([](X x, W, B b, P) {
  return map([](auto u, auto v) { return u * v; }, [](auto u, auto v) { return std::array{v, u}; }, x, b);
}));

// functions: the operand's type, a parameter's as a tensor
static_assert(returns<value<batch, hidden>>([](X x, W, B, P) { return gelu(relu(sqrt(exp(x)))); }));
static_assert(returns<value<hidden, in>>([](X, W w, B, P) { return sigmoid(w); }));
static_assert(returns<tensor<double, L, batch, hidden>>([](X x, W, B, P) { return cast<double>(x); }));

// reductions: what is left, in the order of the operand
static_assert(returns<value<batch>>([](X x, W, B, P) { return sum<hidden>(x); }) &&
              returns<value<hidden>>([](X x, W, B, P) { return max<batch>(x); }));
static_assert(returns<value<>>([](X x, W, B, P) { return mean(x); }) &&
              returns<value<>>([](X x, W, B, P) { return sum<hidden, batch>(x); }));
static_assert(returns<tensor<int, L, batch>>([](X x, W, B, P) { return argmax<hidden>(x); }));
static_assert(returns<value<batch, hidden>>([](X x, W, B, P) {
  return log_softmax<hidden>(softmax<batch, hidden>(x));
}));
static_assert(returns<value<batch>>([](X x, W, B, P) {
  return softmax_cross_entropy<hidden>(x, tensor<int, L, batch>{x.machine()});
}));

// broadcast: the dimensions that are named, in that order; of numbers of any type
static_assert(returns<value<hidden, in, batch>>([](X, W w, B, P) {
  return broadcast<hidden, in, batch>(w);
}));
static_assert(returns<tensor<int, L, in, batch>>([](X x, W, B, P) {
  return broadcast<in, batch>(argmax<hidden>(x));
}));

// moves: the new dimensions in the place of the old, the new layout, dry as the old one
static_assert(returns<value<hidden, batch>>([](X x, W, B, P) { return transpose<hidden, batch>(x); }));
static_assert(returns<value<batch, heads, key>>([](X x, W, B, P) {
  return split_dim<hidden, heads, key>(x);
}));
static_assert(returns<value<batch, hidden>>([](X x, W, B, P) {
  return merge_dims<heads, key, hidden>(split_dim<hidden, heads, key>(x));
}));
static_assert(returns<value<hidden, key>>([](X, W w, B, P) { return rename<in, key>(w); }));
static_assert(returns<tensor<float, dry<whole>, batch, hidden>>([](X x, W, B, P) {
  return reshard<whole>(x);
}));
static_assert(returns<tensor<float, dry<whole>, batch, hidden>>([](X x, W, B, P) {
  return reshard<dry<whole>>(x);
}));
static_assert(returns<value<hidden, in>>([](X, W w, B, P) { return stop_gradient(w); }) &&
              returns<value<hidden, in>>([](X, W w, B, P) { return copy(w); }));

// random tensors
static_assert(returns<value<batch, in>>([](X x, W, B, P) {
  return random_uniform<float, L, batch, in>(x.machine(), {.seed = 1});
}));
static_assert(returns<tensor<double, L>>([](X x, W, B, P) {
  return random_normal<double, L>(x.machine(), {.seed = 1});
}));

// a partial sum says over which axes: those of the summed dimensions that do not split the result
static_assert(returns<partial<value<batch, in>, axes<cols>>>([](X x, W w, B, P) {
  return partial_einsum<batch, in>(x, w);
}));
static_assert(returns<partial<value<>, axes<rows, cols>>>([](X x, W, B, P) {
  return partial_einsum<>(x, x);
}));
static_assert(returns<partial<value<batch, hidden>, axes<>>>([](X x, W, B b, P) {
  return partial_einsum<batch, hidden>(x, b);
}));

// linear operations hand it through
static_assert(returns<partial<value<batch, in>, axes<cols>>>([](X, W, B, P p) {
  return -(2 * p) / 3 + p * 4 - p;
}));
static_assert(returns<partial<value<batch, in>, axes<cols>>>([](X, W, B, P p) {
  return p * value<batch>{p.machine()};
}));
static_assert(returns<partial<value<batch, in>, axes<cols>>>([](X, W, B, P p) {
  return p + as_partial<cols>(value<batch, in>{p.machine()});
}));

// finished, or placed otherwise, it is a tensor
static_assert(returns<value<batch, in>>([](X, W, B, P p) { return finish(p); }));
static_assert(returns<tensor<float, dry<whole>, batch, in>>([](X, W, B, P p) { return reshard<whole>(p); }));

// what is only done returns nothing
static_assert(returns<void>([](X x, W, B, P) { return backward(sum(x)); }));

}  // namespace
