// Two runs from the same values: equal where random values, state and earlier gradients are in them, and
// found where they are not.
// test: program ops2
#include <cstdint>
#include <string>
#include <vector>

#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

template<Layout L>
struct net_with_state {
  parameter<double, L, in, hidden> w;
  parameter<double, L, hidden> b;
  state<double, L, hidden> running;

  constexpr explicit net_with_state(machine<L>& m) : w{m, normal{1}}, b{m, normal{2}}, running{m} {}
  constexpr auto parameters() {
    return meshtf::parameters(named("w", w), named("b", b), named("running", running));
  }
  /// Reads the state that it writes.
  constexpr auto loss(tensor<double, L, batch, in> const& x, std::uint64_t seed = 7) {
    auto const h = tanh(einsum<batch, hidden>(x, w) + b);
    running.update(running * 0.5 + mean<batch>(stop_gradient(h)));
    return mean(square(dropout(h, 0.25, {.seed = seed}) + copy(running)));
  }
};

template<Layout L>
std::vector<double> values(net_with_state<L>& net) {
  std::vector<double> all{net.running.data(), net.running.data() + net.running.size};
  net.parameters().for_each([&all](auto& w) {
    auto const& g = *w.slot().sum;
    all.insert(all.end(), g.data(), g.data() + w.size);
  });
  return all;
}

/// A step that was preceded by another micro-batch.
template<bool Twice>
struct two_micro_batches {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    net_with_state<L> net{m};
    run(net);
  }
  template<Layout L>
  constexpr double run(net_with_state<L>& net) const {
    auto& m      = net.w.machine();
    auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
    backward(net.loss(x));
    auto const f    = [&net](auto const& a) { return net.loss(a); };
    auto const loss = [&] {
      if constexpr (Twice) {
        return twice(net.parameters(), f, x);
      } else {
        auto one = f(x);
        backward(one);
        return stop_gradient(one);
      }
    }();
    if constexpr (detail::holds_values<L>) return loss.value();
    else return 0;
  }
};

template<Layout L>
void check_twice() {
  auto& m = processes<typename L::mesh_type>();
  net_with_state<L> net{m};
  net_with_state<L> other{m};
  CHECK(two_micro_batches<true>{}.run(net) == two_micro_batches<false>{}.run(other));
  CHECK(values(net) == values(other));

  constexpr auto promised = dry_run<L>(two_micro_batches<true>{});
  constexpr auto of_once  = dry_run<L>(two_micro_batches<false>{});
  auto const counted      = recorded<L>(m, two_micro_batches<true>{});
  CHECK(counted.calls() == promised.calls());
  CHECK(counted.flops() == promised.flops());
  CHECK(promised.flops() > of_once.flops() * 5 / 4);  // three passes instead of two
}

/// What is said if one process draws other values the second time.
template<Layout L>
std::string said_of_another_seed() {
  auto& m = processes<typename L::mesh_type>();
  net_with_state<L> net{m};
  auto const x       = random_normal<double, L, batch, in>(m, {.seed = 3});
  std::uint64_t seed = 1;
  try {
    twice(net.parameters(), [&](auto const& a) { return net.loss(a, m.rank() == 2 ? ++seed : seed); }, x);
  } catch (software_error const& e) {
    return e.what();
  }
  return "";
}

struct over_batch : layout<two_by_two, split<batch, rows, cols>> {};

}  // namespace

TEST_CASE("a function gives the same bits twice, and is priced twice", "[4]") {
  check_twice<over_batch>();
  check_twice<mixed>();
}

TEST_CASE("a function that gives other bits the second time is found on all processes", "[4]") {
  std::string const said = said_of_another_seed<over_batch>();
  INFO(said);
  CHECK(said.starts_with(
      "expected two runs from the same values to leave the same bits, got others on process "));
  CHECK(said.find(" of its part of ") != said.npos);
  CHECK(said.find("the second: a function that reads a counter") != said.npos);
}
