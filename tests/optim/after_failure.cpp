// A step of Adam that fails before it has updated anything leaves nothing behind that the next one would trip over.
#include <algorithm>

#include "../accounting/pmpi.hpp"
#include "model.hpp"

using namespace optim;

namespace {

/// A weight that the layout splits and a bias that it does not; both owe sums over rows.
struct two_parameters {
  parameter<double, mixed, in, hidden> w;
  parameter<double, mixed, in> b;

  explicit two_parameters(process_mesh<two_by_two>& m) : w{m, normal{1}}, b{m, normal{2}} {}

  auto parameters() { return meshtf::parameters(w, b); }
  void add_gradients(tensor<double, mixed, batch, in> const& x) const { backward(sum(square(einsum<batch, hidden>(x + b, w)))); }

  bool operator==(two_parameters const& other) const {
    return std::equal(w.data(), w.data() + w.size, other.w.data()) && std::equal(b.data(), b.data() + b.size, other.b.data());
  }
};

/// Without memory of earlier steps, so that one that failed does not count, and with an epsilon that lets the size of a gradient count.
adam without_memory(double max_norm, bool sharded) {
  adam opt{0.05, 0, 0, 1};
  opt.max_norm    = max_norm;
  opt.shard_state = sharded;
  return opt;
}

int calls_of_a_step(double max_norm, bool sharded) {
  auto& m = processes<two_by_two>();
  two_parameters net{m};
  auto opt = without_memory(max_norm, sharded);
  net.add_gradients(data_of<double, mixed>(m));
  pmpi::start();
  opt.step(net.parameters());
  return static_cast<int>(pmpi::stop().size());
}

void check_step_after_failure(int calls_before_failure, double max_norm, bool sharded) {
  auto& m      = processes<two_by_two>();
  auto const x = data_of<double, mixed>(m);
  two_parameters net{m}, fresh{m};
  auto opt = without_memory(max_norm, sharded), other = without_memory(max_norm, sharded);
  INFO("failed after " << calls_before_failure << " calls, max_norm " << max_norm << ", sharded: " << sharded);

  net.add_gradients(x);
  pmpi::fail_after(calls_before_failure);
  CHECK_THROWS_AS(opt.step(net.parameters()), unavailable);
  CHECK(net == fresh);
  zero_gradients(net.parameters());

  for (int step = 0; step < 2; ++step) {
    net.add_gradients(x);
    opt.step(net.parameters());
    fresh.add_gradients(x);
    other.step(fresh.parameters());
    CHECK(net == fresh);
  }
}

}  // namespace

TEST_CASE("after a step that failed the next is what it would have been", "[4]") {
  for (double max_norm : {0.0, 0.5}) {
    int const calls = calls_of_a_step(max_norm, false);   // all of them before the first update
    REQUIRE(calls == (max_norm > 0 ? 2 : 1));
    for (int before = 0; before < calls; ++before) check_step_after_failure(before, max_norm, false);
    check_step_after_failure(0, max_norm, true);
  }
}
