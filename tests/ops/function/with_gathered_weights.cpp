// A block that is called with its weights gathered computes what it computes otherwise: results, in elements
// of both types, and gradients, with a compiled library too.
// test: program compiled
#include "../../catch.hpp"

#include <meshtf/meshtf.hpp>

namespace {

using namespace meshtf;

struct batch : dim<4> {};
struct in : dim<24> {};
struct out : dim<33> {};
struct rows : axis<2> {};
struct pair_of : mesh<rows> {};
struct together : layout<pair_of, split<batch, rows>, kept_over<rows>> {};
struct alone : layout<pair_of, split<batch, rows>, kept_over<rows>, one_message_a_weight> {};

template<Layout L, FloatingElement T>
struct block {
  nn::linear<T, L, in, out> up;
  nn::linear<T, L, out, in> down;

  constexpr explicit block(machine<L>& m) : up{m, normal{1}}, down{m, normal{2}} {}
  constexpr auto operator()(auto const& x) const { return down(tanh(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

struct seen {
  double loss   = 0;
  double result = 0;
  double norm   = 0;
  extent calls  = 0;
};

template<Layout L, FloatingElement T, FloatingElement Activation>
seen seen_under(process_mesh<pair_of>& m) {
  block<L, T> const b{m};
  auto const x = random_normal<Activation, L, batch, in>(m, {.seed = 3});
  seen s;
  auto const cost = recorded<L>(m, [&]<class>(auto&) {
    auto const loss = mean(square(cast<float>(with_gathered_weights(b, x))));
    backward(loss);
    s.loss = static_cast<double>(loss.value());
  });
  s.calls         = cost.calls();
  s.norm          = static_cast<double>(sum(square(finish(gradient(b.up.weight)))).value());
  no_gradient const guard{m};
  s.result = static_cast<double>(sum(square(cast<float>(with_gathered_weights(b, x)))).value());
  return s;
}

template<FloatingElement T, FloatingElement Activation>
void check(process_mesh<pair_of>& m) {
  seen const one  = seen_under<alone, T, Activation>(m);
  seen const some = seen_under<together, T, Activation>(m);
  CHECK((one.loss == some.loss && one.result == some.result && one.norm == some.norm));
  CHECK((one.loss > 0 && one.norm > 0));
  // two weights and the second once more, two gradients, and the loss; biases are short and stay whole
  CHECK((one.calls == 3 + 2 + 1 && some.calls == 2 + 1 + 1));
}

/// As a program calls a block of its own; without `kept_over` it is an ordinary call.
static_assert(!detail::packs_weights<alone> && detail::packs_weights<together>);

}  // namespace

TEST_CASE("a block computes the same with its weights gathered together") {
  if (boost::mpi::communicator{}.size() != 2) return;
  process_mesh<pair_of> m{boost::mpi::communicator{}};
  check<float, float>(m);
  check<double, double>(m);
  check<float, bfloat16>(m);
}
