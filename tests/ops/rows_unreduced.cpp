// What gradients of gather, slice and where are still unreduced over, and how many messages backward sends
// for them: on the compiler's machine.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct out : dim<10> {};
struct vocab : dim<8> {};
struct whole : dim<4> {};
struct parts : dim<4> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct mixed : layout<grid, split<batch, rows>, split<vocab, cols>, split<parts, cols>> {};
using L = dry<mixed>;

constexpr axis_set nothing   = 0;
constexpr axis_set over_rows = 1;
constexpr axis_set over_cols = 2;

struct traces {
  axis_set unreduced                                             = 0;
  extent sums                                                    = 0;
  extent gathers                                                 = 0;
  friend constexpr bool operator==(traces const&, traces const&) = default;
};

/// What a use of a parameter leaves behind.
template<class... D, class F>
consteval traces of(F const& use) {
  ledger<grid> m;
  traces t;
  {
    parameter<float, L, D...> w{m};
    auto const y    = use(m, w);
    auto const loss = sum(y);
    m.start_over();  // the price of backward alone
    backward(loss);
    t.unreduced = gradient(w).owed();
  }
  auto const cost = m.noted();
  t.sums          = cost.calls<collective::all_reduce>();
  t.gathers       = cost.calls<collective::all_gather>();
  return cost.calls() == t.sums + t.gathers ? t : traces{.unreduced = ~nothing};
}

template<class... D>
using ids = tensor<int, L, D...>;
template<class... D>
using value = tensor<float, L, D...>;

// a table is unreduced over the axes of the ids, whether its rows are split or not
static_assert(of<vocab, in>([](auto& m, auto const& w) { return gather<vocab>(w, ids<batch>{m}); }) ==
              traces{.unreduced = over_rows});
static_assert(of<out, in>([](auto& m, auto const& w) { return gather<out>(w, ids<batch>{m}); }) ==
              traces{.unreduced = over_rows});
static_assert(of<out, in>([](auto& m, auto const& w) { return gather<out>(w, ids<parts>{m}); }) ==
              traces{.unreduced = over_cols});
static_assert(of<vocab, in>([](auto& m, auto const& w) { return gather<vocab>(w, ids<whole>{m}); }) ==
              traces{.unreduced = nothing});

// used for logits too, it has no more unreduced axes; the one sum is that of the rows, which einsum leaves
// unreduced over the vocabulary
static_assert(of<vocab, in>([](auto& m, auto const& w) {
                auto const x = gather<vocab>(w, ids<batch>{m});
                return einsum<batch, vocab>(x, w);
              }) == traces{.unreduced = over_rows, .sums = 1});

// a parameter's slice stays unreduced: nothing is sent before its owner asks
static_assert(of<out, in>([](auto& m, auto const& w) {
                auto const p = slice<out, whole>(w, 3);
                return einsum<batch, whole>(value<batch, in>{m}, p);
              }) == traces{.unreduced = over_rows});
// where the slice is split, the padding is unreduced over its axes
static_assert(of<out, in>([](auto&, auto const& w) { return slice<out, parts>(w, 3); }) ==
              traces{.unreduced = over_cols});
// another value's gradient is gathered
static_assert(of<out, in>([](auto&, auto const& w) { return slice<out, parts>(tanh(w), 3); }) ==
              traces{.unreduced = nothing, .gathers = 1});

// a choice is unreduced as a sum is: the axes of the dimensions that the operand lacks, those of the
// condition included
static_assert(of<in>([](auto& m, auto const& w) { return where(value<batch, in>{m}, w, 0); }) ==
              traces{.unreduced = over_rows});
static_assert(of<in>([](auto& m, auto const& w) {
                return where(less(value<in>{m}, 0), value<batch, in>{m}, w);
              }) == traces{.unreduced = over_rows});
static_assert(of<batch, vocab>([](auto& m, auto const& w) {
                return where(ids<vocab>{m}, w, value<batch>{m});
              }) == traces{.unreduced = nothing});
static_assert(of<batch>([](auto&, auto const& w) { return where(less(w, 0), w, -w); }) ==
              traces{.unreduced = nothing});

// what they are refused for
struct clash : layout<grid, split<batch, rows>, split<in, rows>> {};
static_assert(is_legal<detail::choice_verdict<mixed, mixed, shape<batch, in>>>);
static_assert(std::same_as<detail::choice_verdict<clash, mixed, shape<batch>>,
                           operands_have_different_layouts<mixed, clash>>);
static_assert(std::same_as<detail::choice_verdict<clash, clash, shape<batch, in>>,
                           one_axis_splits_two_dims<rows, batch, in>>);
