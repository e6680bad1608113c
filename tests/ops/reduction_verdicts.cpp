// What functions of elements and reductions refuse, in the words of the program, and what they send, in the
// compiler.
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct memory : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct whole : layout<grid> {};

using L = dry<mixed>;
template<class... D>
using value = tensor<float, L, D...>;
using open  = partial<value<batch, in>, axes<cols>>;

// ---- partial sums: a ring of four processes would finish them, each with half of the batch

using refused = still_a_sum_over<axes<cols>, finish_sends<2 * (8 / 2 * 6 * 4) * 3 / 4>>;

template<class F>
using used = detail::use_verdict<F::used, open>;
static_assert(std::same_as<used<function::sin>, refused> && std::same_as<used<function::abs>, refused> &&
              std::same_as<used<function::silu>, refused> && std::same_as<used<function::floor>, refused> &&
              std::same_as<used<function::is_nan>, refused> &&
              std::same_as<used<function::clamp<float>>, refused> &&
              std::same_as<used<function::logical_not>, refused>);

template<class F, class X, class Y>
using met = detail::of_two_verdict<F, X, Y>;
static_assert(std::same_as<met<function::maximum, open, value<in>>, refused> &&
              std::same_as<met<function::maximum, open, int>, refused> &&
              std::same_as<met<function::minimum, double, open>, refused> &&
              std::same_as<met<function::pow, value<in>, open>, refused> &&
              std::same_as<met<function::logical_and, open, open>, refused> &&
              std::same_as<met<function::modulo, open, int>, refused>);
static_assert(is_legal<met<function::maximum, value<batch, in>, value<in>>> &&
              is_legal<met<function::pow, value<in>, int>>);
static_assert(std::same_as<detail::use_verdict<algebra::use::minimum, open>, refused>);

// A partial maximum or minimum keeps its kind in what joins it or rises with it, and turns around in what
// falls.
using algebra::after, algebra::pending, algebra::pending_after, algebra::use, algebra::meeting;
static_assert(after(use::minimum, pending::min) == pending_after{pending::min} &&
              !after(use::minimum, pending::max).sound());
static_assert(after(use::maximum, pending::max) == pending_after{pending::max} &&
              !after(use::maximum, pending::min).sound());
static_assert(after(function::clamp<float>::used, pending::min) == pending_after{pending::min});
static_assert(after(function::maximum::meets, pending::max, pending::max) == pending_after{pending::max});
static_assert(!after(function::maximum::meets, pending::max, pending::min).sound());
static_assert(!after(meeting::nonlinear, pending::max, pending::nothing).sound() &&
              after(meeting::nonlinear, pending::nothing, pending::nothing).sound());

// ---- which types a function takes

template<class T>
using of_type = tensor<T, L, batch>;
template<class X>
concept has_sin = requires(X const& x) { sin(x); };
static_assert(has_sin<of_type<double>> && has_sin<of_type<bfloat16>> && !has_sin<of_type<int>> &&
              !has_sin<of_type<bool>>);
template<class X, class Y>
concept divides_down = requires(X const& x, Y const& y) { floor_divide(x, y); };
static_assert(divides_down<of_type<int>, int> && divides_down<of_type<std::int64_t>, of_type<std::int64_t>> &&
              !divides_down<of_type<float>, int>);
template<class X>
concept has_extreme = requires(X const& x) { max_and_argmax<batch>(x); };
static_assert(has_extreme<of_type<int>> && has_extreme<of_type<bfloat16>> && !has_extreme<of_type<bool>>);

// ---- what is sent

struct sends {
  extent calls;
  extent bytes;
  friend constexpr bool operator==(sends const&, sends const&) = default;
};
template<class Expected, class F>
consteval sends of(F const& f) {
  ledger<grid> m;
  {
    value<batch, hidden> const x{m};
    m.start_over();
    auto const z = f(x);
    static_assert(std::same_as<std::remove_cvref_t<decltype(z)>, Expected>);
  }
  auto const cost = m.noted();
  return {cost.calls(), cost.bytes_sent()};
}
constexpr sends quiet = {0, 0};
constexpr extent ring = 2 * (8 / 2) * 4 * 3 / 4;  // an all-reduce over cols of one float for each row
static_assert(of<value<batch, hidden>>([](auto const& x) { return maximum(floor(sin(x)), 0); }) == quiet);
static_assert(of<value<hidden>>([](auto const& x) { return min<batch>(x); }) ==
              sends{1, 2 * (16 / 4) * 4 / 2});
static_assert(of<value<batch>>([](auto const& x) { return min<hidden>(x); }) == sends{1, ring});
static_assert(of<value<batch>>([](auto const& x) { return any<hidden>(x); }) == sends{1, ring});
static_assert(of<value<batch>>([](auto const& x) { return product<hidden>(x); }) == sends{1, ring});
static_assert(of<value<batch>>([](auto const& x) { return l2_norm<hidden>(x); }) == sends{1, ring});
static_assert(of<value<batch>>([](auto const& x) { return logsumexp<hidden>(x); }) == sends{2, 2 * ring});
static_assert(of<value<batch>>([](auto const& x) { return variance<hidden>(x); }) == sends{2, 2 * ring});
static_assert(of<value<batch>>([](auto const& x) { return max_and_argmax<hidden>(x).value; }) ==
              sends{2, 2 * ring});
static_assert(of<value<batch, hidden>>([](auto const& x) { return softmax<hidden>(x, 1); }) ==
              sends{2, 2 * ring});
