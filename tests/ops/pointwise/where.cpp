// where: the choice between values, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

constexpr auto choices = [](auto const& x, auto const& b, auto const& s) {
  auto const positive = greater(x, 0);
  auto const wide     = less(b, 1);
  return std::tuple{where(positive, x, b), where(positive, s, b), where(wide, b, s), where(positive, x, -3),
                    where(positive, 4, b)};
};

}  // namespace

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
