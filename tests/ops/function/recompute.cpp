// recompute: the values and gradients of the function, bit for bit, with less memory and the function's price
// once more.
// test: processes 1 2 3 4
#include <vector>

#include "../../literal.hpp"
#include "called_somehow.hpp"

using namespace fixture;

namespace {

struct again {
  static constexpr void prepare(auto&) {}
  template<class F, class... X>
  static constexpr auto call(F&& f, X const&... x) {
    return recompute(std::forward<F>(f), x...);
  }
};

// ---- prices: less memory, the forward pass of the four blocks once more

template<class How, class L>
inline constexpr cost_summary bill_of{dry_run<L>(shown_to<training<How>>{})};

template<class L>
constexpr bool dearer_and_smaller() {
  constexpr auto const& less = bill_of<again, L>;
  constexpr auto const& more = bill_of<plain, L>;
  return less.peak < more.peak * 3 / 4 && less.flops == more.flops * 4 / 3 && less.live == more.live;
}
static_assert(dearer_and_smaller<alone>());
static_assert(dearer_and_smaller<mixed>());
static_assert(dearer_and_smaller<thirds>());
// nothing is sent forward, so nothing is sent again
static_assert(bill_of<again, data>.count == bill_of<plain, data>.count);
static_assert(bill_of<again, mixed>.count == bill_of<plain, mixed>.count + 4);

}  // namespace

TEST_CASE("recompute of literal numbers: the function, and its gradient") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = recompute([](auto const& a) { return square(a) + a; }, x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{2, 6, 12});
  CHECK(slopes_of(x) == list{3, 5, 7});
}

TEST_CASE("recompute of four blocks has the bits of the blocks") { check_same_bits<training, again>(); }

TEST_CASE("recompute of tuples, partial sums, images of parameters, models, and within itself") {
  check_same_bits<corners, again>();
}

TEST_CASE("recompute as an operation") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    return recompute([](auto const& a, auto const& b) { return tanh(einsum<batch, out>(exp(a), b)); }, x, w);
  });
}

TEST_CASE("recompute keeps nothing where no gradient is wanted, and finds its arguments written") {
  auto& m = processes<single>();
  if (boost::mpi::communicator{}.size() != 1) return;
  parameter<double, alone, out> w{m, normal{1}};
  int calls    = 0;
  auto const f = [&calls](auto const& x) {
    ++calls;
    CHECK(x.machine().recomputes() == (calls == 4));
    return tanh(x);
  };
  {
    no_gradient const guard{m};
    CHECK(!recompute(f, w).needs_gradient());
  }
  CHECK(!recompute(f, stop_gradient(w)).needs_gradient());
  CHECK(m.tape_is_empty());
  auto const z = sum(recompute(f, w));
  CHECK(calls == 3);
  backward(z);
  CHECK(calls == 4);
  CHECK(!m.recomputes());
  CHECK(m.tape_is_empty());

  auto const late = sum(recompute([](auto const& x) { return exp(x); }, w));
  w.local()(0)    = 1;
  CHECK_THROWS_AS(backward(late), stale_value);
  CHECK(m.tape_is_empty());

  auto const twice = recompute([](auto const& x) { return exp(x); }, w);
  backward(sum(twice));
  CHECK_THROWS_AS(backward(sum(twice)), software_error);

  std::vector<tensor<double, alone>> aside;
  auto const returned = recompute(
      [&aside](auto const& x) {
        aside.push_back(sum(square(x)));
        return exp(x);
      },
      w);
  // the gradient of what left in another way would be lost
  CHECK_THROWS_AS(backward(sum(returned) + aside.front()), software_error);
  CHECK_THROWS_AS(backward(aside.front()), software_error);
  aside.clear();
  CHECK(m.tape_is_empty());

  auto const thrown = sum(recompute(
      [&](auto const& x) {
        if (x.machine().recomputes()) throw software_error("in the backward pass");
        return exp(x);
      },
      w));
  CHECK_THROWS_AS(backward(thrown), software_error);
  CHECK((m.tape_is_empty() && m.records_gradients() && m.keeps_tape() && !m.recomputes()));
}
