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

template<FloatingElement T, FloatingElement Activation>
struct program {
  template<Layout L>
  constexpr auto operator()(machine<L>& m) const {
    block<L, T> b{m};
    return loss(b, m);
  }
  template<Layout L>
  static constexpr auto loss(block<L, T> const& b, machine<L>& m) {
    auto const x = random_normal<Activation, L, batch, in>(m, {.seed = 3});
    auto l       = mean(square(cast<float>(with_gathered_weights(b, x))));
    if (m.records_gradients()) backward(l);
    return l;
  }
};

struct seen {
  double loss                        = 0;
  double evaluated                   = 0;
  double norm                        = 0;
  bool operator==(seen const&) const = default;
};

template<Layout L, FloatingElement T, FloatingElement Activation>
seen seen_under(process_mesh<pair_of>& m) {
  using run = program<T, Activation>;
  block<L, T> const b{m};
  seen s;
  s.loss = static_cast<double>(run::template loss<L>(b, m).value());
  s.norm = static_cast<double>(sum(square(finish(gradient(b.up.weight)))).value());
  no_gradient const guard{m};
  s.evaluated = static_cast<double>(run::template loss<L>(b, m).value());
  return s;
}

template<FloatingElement T, FloatingElement Activation>
void check(process_mesh<pair_of>& m) {
  seen const one = seen_under<alone, T, Activation>(m);
  CHECK((one == seen_under<together, T, Activation>(m)));
  CHECK((one.loss > 0 && one.norm > 0 && one.evaluated == one.loss));

  static constexpr auto promised = dry_run<together>(program<T, Activation>{});
  static constexpr auto of_one   = dry_run<alone>(program<T, Activation>{});
  auto const counted             = recorded<together>(m, program<T, Activation>{});
  CHECK((counted.bytes_sent() == promised.bytes_sent() && counted.calls() == promised.calls()));
  CHECK(counted.peak_bytes() == promised.peak_bytes());
  // two weights and the second once more, two gradients, and the loss; biases are short and stay whole
  static_assert(of_one.calls() == 3 + 2 + 1 && promised.calls() == 2 + 1 + 1);
  // the first multiplies data, so the backward pass does not gather it
  static_assert(of_one.bytes_sent() == promised.bytes_sent());
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
