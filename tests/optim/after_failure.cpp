// What an optimizer's step that fails leaves behind: nothing that the next one would trip over.
#include <algorithm>
#include <string_view>
#include <vector>

#include "../accounting/pmpi.hpp"
#include "model.hpp"

using namespace optim;

namespace {

/// A weight that the layout splits and a bias that it does not; both are unreduced over rows.
struct two_parameters {
  parameter<double, mixed, in, hidden> w;
  parameter<double, mixed, in> b;

  explicit two_parameters(process_mesh<two_by_two>& m) : w{m, normal{1}}, b{m, normal{2}} {}

  auto parameters() { return meshtf::parameters(w, b); }
  void add_gradients(tensor<double, mixed, batch, in> const& x) const {
    backward(sum(square(einsum<batch, hidden>(x + b, w))));
  }

  auto values() const {
    std::vector<double> all{w.data(), w.data() + w.size};
    all.insert(all.end(), b.data(), b.data() + b.size);
    return all;
  }
};

/// With an epsilon that lets the size of a gradient count.
adam made(double max_norm, bool sharded) {
  adam opt{0.05, 0.9, 0.99, 1};
  opt.max_norm    = max_norm;
  opt.shard_state = sharded;
  return opt;
}

/// What a process has of the means.
std::vector<double> means(adam const& opt, two_parameters const& net) {
  std::vector<double> all;
  auto const append = [&all](char const*, auto const& array, auto const& parts) {
    all.insert(all.end(), array->data(), array->data() + parts.part());
  };
  opt.for_each_array(net.w, append);
  opt.for_each_array(net.b, append);
  return all;
}

struct counted_calls {
  int all            = 0;
  int before_updates = 0;  // before the first of those in which new weights are exchanged
};

counted_calls calls_of_a_step(double max_norm, bool sharded) {
  auto& m = processes<two_by_two>();
  two_parameters net{m};
  auto opt = made(max_norm, sharded);
  net.add_gradients(data_of<double, mixed>(m));
  pmpi::start();
  opt.step(net.parameters());
  auto const calls   = pmpi::stop();
  auto const gathers = [](pmpi::call const& c) {
    return std::string_view{c.function}.starts_with("Allgather");
  };
  return {static_cast<int>(calls.size()),
          static_cast<int>(std::find_if(calls.begin(), calls.end(), gathers) - calls.begin())};
}

/// Whether the step that fails is the first or the second, all are those of an optimizer that has not seen
/// it.
void check_steps_around_failure(int calls_before_failure, double max_norm, bool sharded) {
  auto& m      = processes<two_by_two>();
  auto const x = data_of<double, mixed>(m);
  two_parameters net{m};
  two_parameters other_net{m};
  auto opt   = made(max_norm, sharded);
  auto other = made(max_norm, sharded);
  INFO("failed after " << calls_before_failure << " calls, max_norm " << max_norm
                       << ", sharded: " << sharded);
  for (int step = 0; step < 3; ++step) {
    if (step < 2) {
      net.add_gradients(x);
      pmpi::fail_after(calls_before_failure);
      CHECK_THROWS_AS(opt.step(net.parameters()), unavailable);
      CHECK(net.values() == other_net.values());
    }
    net.add_gradients(x);
    opt.step(net.parameters());
    other_net.add_gradients(x);
    other.step(other_net.parameters());
    CHECK(net.values() == other_net.values());
    CHECK(means(opt, net) == means(other, other_net));
  }
}

}  // namespace

TEST_CASE("a step of Adam that failed before its first update does not count", "[4]") {
  for (bool sharded : {false, true})
    for (double max_norm : {0.0, 0.5}) {
      int const calls = calls_of_a_step(max_norm, sharded).before_updates;
      REQUIRE(calls >= (max_norm > 0 ? 2 : 1));
      for (int before = 0; before < calls; ++before) check_steps_around_failure(before, max_norm, sharded);
    }
}

TEST_CASE("a step of Adam that failed in the exchange of new weights leaves no gradients either", "[4]") {
  auto& m          = processes<two_by_two>();
  auto const calls = calls_of_a_step(0, true);
  REQUIRE(calls.before_updates < calls.all);
  for (int before = calls.before_updates; before < calls.all; ++before) {
    two_parameters net{m};
    auto opt = made(0, true);
    net.add_gradients(data_of<double, mixed>(m));
    pmpi::fail_after(before);
    CHECK_THROWS_AS(opt.step(net.parameters()), unavailable);
    CHECK(!net.w.slot().sum);
    CHECK(!net.b.slot().sum);
  }
}

TEST_CASE("a step of SGD that failed leaves no gradients, and the next is what it would have been", "[4]") {
  auto& m      = processes<two_by_two>();
  auto const x = data_of<double, mixed>(m);
  two_parameters net{m};
  two_parameters other{m};
  sgd opt{0.05};
  net.add_gradients(x);
  pmpi::fail_after(0);
  CHECK_THROWS_AS(opt.step(net.parameters()), unavailable);
  CHECK(!net.w.slot().sum);
  CHECK(!net.b.slot().sum);
  net.add_gradients(x);
  opt.step(net.parameters());
  other.add_gradients(x);
  opt.step(other.parameters());
  CHECK(net.values() == other.values());
}

TEST_CASE("gradients of which the sums failed are gone, and those of which the norm failed are whole",
          "[4]") {
  auto& m      = processes<two_by_two>();
  auto const x = data_of<double, mixed>(m);
  two_parameters net{m};
  net.add_gradients(x);
  double const norm = global_norm(net.parameters()).value();
  zero_gradients(net.parameters());

  net.add_gradients(x);
  pmpi::fail_after(0);
  CHECK_THROWS_AS(clip_by_global_norm(net.parameters(), 0.5), unavailable);
  net.add_gradients(x);
  CHECK(global_norm(net.parameters()).value() == norm);

  pmpi::fail_after(0);  // of finished gradients the norm alone is sent
  CHECK_THROWS_AS(global_norm(net.parameters()), unavailable);
  CHECK(global_norm(net.parameters()).value() == norm);
}
