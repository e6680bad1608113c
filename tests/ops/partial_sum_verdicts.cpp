// What may be done with a partial sum, in the words of the program; the prices in these words are those of a
// dry run. Nothing that is handed through sends anything.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct out : dim<4> {};
struct hidden : dim<16> {};
struct twin : dim<6> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};

using L = dry<mixed>;
template<class... D>
using value = tensor<float, L, D...>;
using open  = partial<value<batch, in>, axes<cols>>;

// ---- the rules of plan/pending.hpp under the program's names

// a ring of four processes, each with half of the batch
constexpr extent finishing = 2 * (8 / 2 * 6 * 4) * 3 / 4;
using refused              = still_a_sum_over<axes<cols>, finish_sends<finishing>>;

template<algebra::use How>
using used = detail::use_verdict<How, open>;
static_assert(is_legal<used<algebra::use::layout_only>> && is_legal<used<algebra::use::exact_cast>> &&
              is_legal<used<algebra::use::summed>> && is_legal<used<algebra::use::scaled>> &&
              is_legal<used<algebra::use::negated>>);
static_assert(std::same_as<used<algebra::use::rounding_cast>, refused> &&
              std::same_as<used<algebra::use::shifted>, refused> &&
              std::same_as<used<algebra::use::monotone>, refused> &&
              std::same_as<used<algebra::use::nonlinear>, refused> &&
              std::same_as<used<algebra::use::maximum>, refused> &&
              std::same_as<used<algebra::use::normalised>, refused> &&
              std::same_as<used<algebra::use::compared>, refused> &&
              std::same_as<used<algebra::use::update>, refused>);

template<algebra::meeting How, class X, class Y>
using met = detail::meeting_verdict<How, X, Y>;
static_assert(is_legal<met<algebra::meeting::plus, open, open>> &&
              is_legal<met<algebra::meeting::times, open, value<in>>> &&
              is_legal<met<algebra::meeting::over, open, value<in>>>);
static_assert(std::same_as<met<algebra::meeting::plus, open, value<in>>, refused> &&
              std::same_as<met<algebra::meeting::minus, value<in>, open>, refused>);
static_assert(std::same_as<met<algebra::meeting::times, open, open>, refused> &&
              std::same_as<met<algebra::meeting::over, value<in>, open>, refused>);

// A finished value may be used in every way.
static_assert(is_legal<detail::use_verdict<algebra::use::nonlinear, value<in>>> &&
              is_legal<met<algebra::meeting::over, value<in>, value<in>>>);

// A dimension that an unreduced axis splits can't stand next to the local terms; along an axis of one process
// nothing is unreduced or split.
static_assert(is_legal<detail::partial_sum_verdict<L, shape<batch, in>, axes<cols>>>);
static_assert(std::same_as<detail::partial_sum_verdict<L, shape<batch, hidden>, axes<cols>>,
                           unreduced_axis_splits_dim<cols, hidden>>);

// ---- types and prices of what is handed through

struct result {
  axis_set unreduced;
  extent calls;
  extent sent;
  friend constexpr bool operator==(result const&, result const&) = default;
};

template<class Expected, class F>
consteval result of(F const& f) {
  ledger<grid> m;
  result r{};
  {
    auto const p = partial_einsum<batch, in>(value<batch, hidden>{m}, value<hidden, in>{m});
    static_assert(std::same_as<std::remove_cvref_t<decltype(p)>, open>);
    m.start_over();
    auto const q = f(m, p);
    static_assert(std::same_as<std::remove_cvref_t<decltype(q)>, Expected>);
    if constexpr (requires { q.owed(); }) r.unreduced = q.owed();
  }
  auto const cost = m.noted();
  r.calls         = cost.calls();
  r.sent          = cost.bytes_sent();
  return r;
}

template<class... D>
using over_cols = partial<value<D...>, axes<cols>>;
template<class... D>
using over_both        = partial<value<D...>, axes<rows, cols>>;
constexpr result quiet = {2, 0, 0};
constexpr result both  = {3, 0, 0};

// the price in the words above
static_assert(of<value<batch, in>>([](auto&, auto const& p) { return finish(p); }) ==
              result{0, 1, finishing});
static_assert(of<over_cols<in, batch>>([](auto&, auto const& p) { return transpose<in, batch>(p); }) ==
              quiet);
static_assert(of<over_cols<batch, twin>>([](auto&, auto const& p) { return rename<in, twin>(p); }) == quiet);
static_assert(of<over_cols<batch>>([](auto&, auto const& p) { return sum<in>(p); }) == quiet);
static_assert(of<over_both<in>>([](auto&, auto const& p) { return sum<batch>(p); }) == both);
static_assert(of<over_cols<batch, in>>([](auto&, auto const& p) { return stop_gradient(p) - p / 2; }) ==
              quiet);
static_assert(of<partial<tensor<double, L, batch, in>, axes<cols>>>([](auto&, auto const& p) {
                return cast<double>(p);
              }) == quiet);
static_assert(of<over_cols<batch, out>>([](auto& m, auto const& p) {
                return einsum<batch, out>(p, value<in, out>{m});
              }) == quiet);
static_assert(of<over_both<in>>([](auto& m, auto const& p) { return einsum<in>(value<batch>{m}, p); }) ==
              both);
static_assert(of<over_cols<batch, in, out>>([](auto& m, auto const& p) { return p * value<out>{m}; }) ==
              quiet);
static_assert(of<over_cols<out, in, batch>>([](auto&, auto const& p) {
                return broadcast<out, in, batch>(p);
              }) == quiet);
static_assert(of<over_cols<batch, in>>([](auto& m, auto const& p) {
                return p + as_partial<cols>(value<in>{m});
              }) == quiet);
static_assert(of<over_cols<batch, in>>([](auto& m, auto const& p) { return where(value<in>{m}, p, 0); }) ==
              quiet);
static_assert(of<over_cols<out, in, batch>>([](auto& m, auto const& p) {
                // the condition has all dimensions
                return where(value<out, in, batch>{m}, p, as_partial<cols>(value<batch, out>{m}));
              }) == quiet);
// as two tensors: neither partial sum has all dimensions of the other; and no dimension that an unreduced
// axis splits
static_assert(std::same_as<detail::meeting_of<algebra::meeting::plus, open,
                                              partial<value<batch, out>, axes<cols>>>::verdict,
                           no_operand_has_all_dims<write_broadcast<batch, in, out>>>);
static_assert(std::same_as<detail::meeting_of<algebra::meeting::times, open, value<batch, out>>::verdict,
                           no_operand_has_all_dims<write_broadcast<batch, in, out>>>);
static_assert(is_legal<detail::partial_sum_verdict<L, shape<out, in, batch>, axes<cols>>>);
static_assert(std::same_as<detail::partial_sum_verdict<L, shape<batch, in, hidden>, axes<cols>>,
                           unreduced_axis_splits_dim<cols, hidden>>);
