// Over which axes each gradient is unreduced, and what is sent for it: the rows of the table of gradients, on
// the compiler's machine.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct out : dim<8> {};
struct parts : dim<8> {};
struct vocab : dim<8> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<parts, rows>, split<vocab, cols>> {
};
struct rest : layout<grid, split<batch, rows>> {};
struct sharded : layout<grid, split<in, rows>> {};

using L = dry<mixed>;
template<class... D>
using value = tensor<float, L, D...>;

constexpr axis_set nothing   = 0;
constexpr axis_set over_rows = 1;
constexpr axis_set over_cols = 2;

/// What a use of a parameter leaves behind: its gradient's unreduced axes, and the collectives of forward
/// and backward.
struct traces {
  axis_set unreduced                                             = 0;
  extent sums                                                    = 0;
  extent gathers                                                 = 0;
  extent scatters                                                = 0;
  extent others                                                  = 0;
  extent bytes                                                   = 0;
  friend constexpr bool operator==(traces const&, traces const&) = default;
};

template<class Rules, class... D, class F>
consteval traces under(F const& use) {
  ledger<grid> m;
  traces t;
  {
    parameter<float, dry<Rules>, D...> w{m};
    auto const y    = use(m, w);
    auto const loss = sum(y);
    m.start_over();  // the price of backward alone
    backward(loss);
    t.unreduced = gradient(w).owed();
  }
  auto const cost = m.noted();
  t.sums          = cost.calls<collective::all_reduce>();
  t.gathers       = cost.calls<collective::all_gather>();
  t.scatters      = cost.calls<collective::reduce_scatter>();
  t.others        = cost.calls() - t.sums - t.gathers - t.scatters;
  t.bytes         = cost.bytes_sent();
  return t;
}
template<class... D, class F>
consteval traces of(F const& use) {
  return under<mixed, D...>(use);
}

constexpr traces unreduced_over(axis_set axes) { return {.unreduced = axes}; }

// a sum to a scalar: the seed is whole everywhere
static_assert(of<batch, hidden>([](auto&, auto const& w) { return sum(w); }) == unreduced_over(nothing));
static_assert(of<in>([](auto&, auto const& w) { return mean(w); }) == unreduced_over(nothing));

// a value used twice
static_assert(of<batch, in>([](auto&, auto const& w) { return w * w; }) == unreduced_over(nothing));

// a sum over a dimension that is split, and over one that is not
static_assert(of<batch, hidden>([](auto&, auto const& w) { return sum<hidden>(w); }) ==
              unreduced_over(nothing));
static_assert(of<batch, hidden>([](auto&, auto const& w) { return max<batch>(w); }) ==
              unreduced_over(nothing));

// functions of each element; softmax sends one number a row for its own inner sum
static_assert(of<batch, hidden>([](auto&, auto const& w) { return gelu(w); }) == unreduced_over(nothing));
static_assert(of<batch, hidden>([](auto&, auto const& w) { return softmax<hidden>(w); }) ==
              traces{.unreduced = nothing, .sums = 1, .bytes = 4 * 4});
static_assert(of<batch, vocab>([](auto& m, auto const& w) {
                return softmax_cross_entropy<vocab>(w, tensor<int, L, batch>{m});
              }) == unreduced_over(nothing));

// a bias and a scale: the axes of the dimensions that they lack
static_assert(of<hidden>([](auto& m, auto const& w) { return value<batch, hidden>{m} + w; }) ==
              unreduced_over(over_rows));
static_assert(of<>([](auto& m, auto const& w) { return w * value<batch, in>{m}; }) ==
              unreduced_over(over_rows));
static_assert(of<>([](auto& m, auto const& w) { return w * value<batch, hidden>{m}; }) ==
              unreduced_over(over_rows | over_cols));
static_assert(of<>([](auto& m, auto const& w) { return w * value<in, out>{m}; }) == unreduced_over(nothing));
static_assert(of<batch, hidden>([](auto& m, auto const& w) { return w / value<hidden>{m}; }) ==
              unreduced_over(nothing));

// einsum: x is unreduced over the axes of y's free dimensions, a weight those of the batch, neither those of
// its own
static_assert(of<batch, in>([](auto& m, auto const& x) {
                return einsum<batch, hidden>(x, value<in, hidden>{m});
              }) == unreduced_over(over_cols));
static_assert(of<batch, hidden>([](auto& m, auto const& x) {
                return einsum<batch, out>(x, value<hidden, out>{m});
              }) == unreduced_over(nothing));
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                return einsum<batch, hidden>(value<batch, in>{m}, w);
              }) == unreduced_over(over_rows));
static_assert(of<hidden, out>([](auto& m, auto const& w) {
                return einsum<batch, out>(value<batch, hidden>{m}, w);
              }) == unreduced_over(over_rows));

// whole to split: a parameter's gradient is padded and is unreduced over the axes of the slice; an
// intermediate value's is gathered and needs no reduction
static_assert(of<out>([](auto&, auto const& w) { return rename<out, parts>(w); }) ==
              unreduced_over(over_rows));
static_assert(of<out>([](auto&, auto const& w) { return rename<out, parts>(tanh(w)); }) ==
              traces{.unreduced = nothing, .gathers = 1, .bytes = 4 * 4});

// split to whole: an unreduced axis that splits the weight is reduce-scattered, others stay unreduced, and
// what is not unreduced is sliced
static_assert(under<sharded, in, out>([](auto& m, auto const& w) {
                return einsum<batch, out>(tensor<float, dry<rest>, batch, in>{m}, reshard<rest>(w));
              }) == traces{.unreduced = nothing, .scatters = 1, .bytes = 4 * 6 * 8 / 2});
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                return einsum<batch, hidden>(tensor<float, dry<rest>, batch, in>{m}, reshard<rest>(w));
              }) == unreduced_over(over_rows));
static_assert(of<in, hidden>([](auto&, auto const& w) { return reshard<rest>(w); }) ==
              unreduced_over(nothing));

// a partial sum: what reaches it is whole
static_assert(of<batch, hidden>([](auto& m, auto const& x) {
                return finish(partial_einsum<batch, out>(x, value<hidden, out>{m}));
              }) == unreduced_over(nothing));
static_assert(of<hidden, out>([](auto& m, auto const& w) {
                return finish(partial_einsum<batch, out>(value<batch, hidden>{m}, w));
              }) == unreduced_over(over_rows));

// a partial sum under another layout: the gradient is gathered, and nothing is left to reduce
struct scattered : layout<grid, split<batch, rows>, split<out, cols>> {};
static_assert(of<batch, hidden>([](auto& m, auto const& x) {
                return reshard<scattered>(partial_einsum<batch, out>(x, value<hidden, out>{m}));
              }) == traces{.unreduced = nothing, .gathers = 1, .bytes = 4 * 4 * 4});

// a partial sum times a tensor: its gradient is computed from local terms, so it is unreduced over the same
// axes
static_assert(of<batch, out>([](auto& m, auto const& c) {
                return finish(partial_einsum<batch, out>(value<batch, hidden>{m}, value<hidden, out>{m}) * c);
              }) == unreduced_over(over_cols));
static_assert(of<out>([](auto& m, auto const& c) {
                return finish(partial_einsum<batch, out>(value<batch, hidden>{m}, value<hidden, out>{m}) * c);
              }) == unreduced_over(over_rows | over_cols));

// a partial sum plus a tensor
static_assert(of<batch, out>([](auto& m, auto const& r) {
                auto const p = partial_einsum<batch, out>(value<batch, hidden>{m}, value<hidden, out>{m});
                return finish(p + as_partial<cols>(r));
              }) == unreduced_over(nothing));

// weight decay needs no reduction, and is added to the data's gradient
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                auto const h = sum(einsum<batch, hidden>(value<batch, in>{m}, w));
                auto const d = sum(square(w));
                return h + d;
              }) == unreduced_over(over_rows));

// three uses of one intermediate value: one all-reduce, when the tape is unwound to it
static_assert(of<batch, in>([](auto& m, auto const& w) {
                auto const x = tanh(w);
                auto const q = einsum<batch, hidden>(x, value<in, hidden>{m});
                auto const k = einsum<batch, hidden>(x, value<in, hidden>{m});
                auto const v = einsum<batch, hidden>(x, value<in, hidden>{m});
                auto const s = q + k;
                return s + v;
              }) == traces{.unreduced = nothing, .sums = 1, .bytes = 4 * 4 * 6});

// linear images of a parameter stay unreduced as it does: nothing is sent before its owner asks
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                return einsum<batch, hidden>(value<batch, in>{m}, -(2 * w) / 3 + 1);
              }) == unreduced_over(over_rows));
static_assert(of<hidden, in>([](auto& m, auto const& w) {
                return einsum<batch, hidden>(value<batch, in>{m}, transpose<in, hidden>(w));
              }) == unreduced_over(over_rows));
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                return einsum<batch, hidden>(tensor<double, L, batch, in>{m}, cast<double>(w));
              }) == unreduced_over(over_rows));

// a sum of a parameter is no image of it: it is reduced when the tape is unwound to it. Data needs no
// gradient, and nothing is sent for it
static_assert(of<in, hidden>([](auto& m, auto const& w) {
                auto const y = einsum<batch, hidden>(value<batch, in>{m}, stop_gradient(w));
                return y + sum<in>(w);
              }) == traces{.unreduced = nothing, .sums = 1, .bytes = 4 * 8});
