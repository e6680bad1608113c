// Steps whose gradients are not finite are skipped, on all processes, and a row of them ends the job.
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../io/said.hpp"
#include "model.hpp"

using namespace optim;

namespace {

struct over_batch : layout<two_by_two, split<batch, rows, cols>> {};
struct over_hidden : layout<two_by_two, split<hidden, rows, cols>> {};

/// What an optimizer changes: weights, and the arrays of `w`, which every layout of the fixture shares
/// otherwise.
template<Layout L>
std::vector<double> values(model_of<double, L>& net, auto const& opt) {
  std::vector<double> all;
  net.parameters().for_each([&all](auto& p) { all.insert(all.end(), p.data(), p.data() + p.size); });
  opt.for_each_array(net.w, [&all](char const*, auto const& array, auto const& parts, auto const&...) {
    all.insert(all.end(), array->data(), array->data() + parts.part());
  });
  return all;
}

enum class place { nowhere, in_whole, in_split };

/// The gradients of three micro-batches; in one of them process 2 of 4 has an element that is not finite.
template<Layout L>
void add_gradients(model_of<double, L>& net, place where, int micro_batch) {
  auto& m      = net.w.machine();
  auto const x = data_of<double, L>(m);
  for (int i = 0; i < 3; ++i) {
    backward(net.loss(x) * (1. / 3));
    if (i != micro_batch || m.rank() != 2) continue;
    if (where == place::in_whole) net.c.slot().sum->data()[1] = std::numeric_limits<double>::quiet_NaN();
    if (where == place::in_split) net.w.slot().sum->data()[3] = -std::numeric_limits<double>::infinity();
  }
}

template<class Optimizer>
Optimizer made(bool clips, bool sharded, int at_most) {
  Optimizer opt{0.05};
  opt.skip_if_not_finite = at_most;
  if constexpr (requires { opt.max_norm; }) {
    opt.max_norm    = clips ? 0.5 : 0;
    opt.shard_state = sharded;
  }
  if constexpr (requires { opt.least_factored; }) opt.least_factored = 2;
  return opt;
}

/// A good step, a bad one, a good one: as two good ones.
template<class Optimizer, Layout L>
void check_skipped(place where, int micro_batch, bool clips, bool sharded) {
  auto& m = processes<typename L::mesh_type>();
  model_of<double, L> net{m};
  model_of<double, L> other_net{m};
  auto opt   = made<Optimizer>(clips, sharded, 2);
  auto other = made<Optimizer>(clips, sharded, 2);
  for (int step = 0; step < 2; ++step) {
    add_gradients(net, place::nowhere, 0);
    opt.step(net.parameters());
    add_gradients(other_net, place::nowhere, 0);
    other.step(other_net.parameters());
    if (step > 0) break;
    auto const before = values(net, opt);
    add_gradients(net, where, micro_batch);
    opt.step(net.parameters());
    CHECK(values(net, opt) == before);
    CHECK(!net.w.slot().sum);
    CHECK(!net.v.slot().sum);
  }
  CHECK(values(net, opt) == values(other_net, other));
  CHECK(opt.skipped() == 1);
  CHECK(other.skipped() == 0);
}

/// What two bad steps in a row end with.
template<class Optimizer, Layout L>
std::string end_of_row(place where) {
  model_of<double, L> net{processes<typename L::mesh_type>()};
  auto opt        = made<Optimizer>(false, false, 2);
  auto const list = parameters(named("net", net));
  add_gradients(net, where, 0);
  opt.step(list);
  add_gradients(net, where, 2);
  try {
    opt.step(list);
  } catch (data_error const& e) {
    CHECK(e.exit_status() == 65);
    CHECK(opt.skipped() == 2);
    return e.what();
  }
  return "";
}

template<class Optimizer, Layout L>
void check_under() {
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    check_skipped<Optimizer, L>(place::in_whole, micro_batch, false, false);
    check_skipped<Optimizer, L>(place::in_split, micro_batch, true, true);
  }
  std::string const end = end_of_row<Optimizer, L>(place::in_split);
  INFO(end);
  CHECK(end.starts_with(
      "expected gradients that are finite, got 2 steps in a row in which they are not, to step "));
  CHECK(end.find(": process 2 has -inf in element 3 of its part of the gradient of net.0: ") != end.npos);
  CHECK(end_of_row<Optimizer, L>(place::in_whole)
            .find("nan in element 1 of its part of the gradient of net.2: ") != end.npos);
}

template<class Optimizer>
void check_all_layouts() {
  check_under<Optimizer, over_batch>();
  check_under<Optimizer, over_hidden>();
  check_under<Optimizer, mixed>();
}

}  // namespace

TEST_CASE("a step whose gradient is not finite on one process is skipped on all", "[4]") {
  files::folder const here;
  auto const said = files::said(here, [] { check_all_layouts<adamw>(); });
  INFO(said);
  bool const is_first = boost::mpi::communicator{}.rank() == 0;
  CHECK(said.starts_with("meshtf: step ") == is_first);
  CHECK((said.find(" is skipped (adamw::step, ") != said.npos) == is_first);
}
TEST_CASE("so is one of an optimizer without arrays", "[4]") { check_all_layouts<sgd>(); }
TEST_CASE("so is one of an optimizer that keeps factors", "[4]") { check_all_layouts<adafactor>(); }
