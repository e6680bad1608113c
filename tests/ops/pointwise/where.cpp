// where: the choice between values, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

constexpr auto choices = [](auto const& x, auto const& b, auto const& s) {
  auto const positive = greater(x, 0);
  auto const wide     = less(b, 1);
  return std::tuple{where(positive, x, b), where(positive, s, b), where(wide, b, s), where(positive, x, -3),
                    where(positive, 4, b)};
};

}  // namespace

TEST_CASE("where of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const y = literal<trio>({10, 20, 30});
  auto const z = where(integers<trio>({1, 0, 1}), x, y);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 20, 3});
  CHECK(slopes_of(x) == list{1, 0, 1});
  CHECK(slopes_of(y) == list{0, 1, 0});
  CHECK(numbers_of(where(greater(x, 1), x, -5)) == list{-5, 2, 3});
}

TEST_CASE("where: tensors broadcast to one another, and numbers") {
  check_operation<shape<batch, hidden>, shape<hidden>, shape<>>(choices);
}

TEST_CASE("where and a comparison in single precision") {
  check_operation_in_float<shape<batch, hidden>, shape<hidden>>(
      [](auto const& x, auto const& b) { return where(greater(x, b), x, b); });
}

TEST_CASE("where with a condition of integers that has dimensions of its own: a causal mask") {
  check_operation<shape<batch, memory>>([](auto const& x) {
    using L            = typename std::remove_cvref_t<decltype(x)>::layout_type;
    auto const visible = less_equal(iota<int, L, memory>(x.machine()), iota<int, L, length>(x.machine()));
    auto const every   = broadcast<batch, length, memory>(x);
    auto const scores  = where(visible, every, -1e9);
    return std::tuple{softmax<memory>(scores), where(visible, 0.5, every)};
  });
}

TEST_CASE("where: what is not chosen may be infinite or no number, forward and in gradients") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1}};
    parameter<double, L, hidden> y{m, normal{2}};
    auto const positive = greater(x, 0);
    auto const a        = where(positive, log(x), y);
    auto const lost     = stop_gradient(log(x));  // NaN where it is not chosen
    auto const b        = where(positive, lost, x * y);
    auto const loss     = sum(a * b);
    backward(loss);
    see(a);
    see(b);
    see(finish(gradient(x)));  // the comparison finds NaN
    see(finish(gradient(y)));
  });
}
