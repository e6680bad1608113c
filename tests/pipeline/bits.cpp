// The same bits for every number of stages: loss, gradients, parameters after clipped steps, checkpoints; and
// what is counted is what was promised.
// test: program pipeline
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../layout_fixture.hpp"
#include "program.hpp"

namespace {

using namespace pipelines;
using boost::mpi::communicator;

/// The shards of all arrays of this process, by name.
using shards = std::map<std::string, std::vector<float>>;

/// A process mesh that lives until the end: MPI is down when static objects die.
template<Mesh M>
process_mesh<M>& processes(communicator const& world) {
  static auto* const made = new process_mesh<M>{world};
  return *made;
}

template<Layout L, class Training>
void take_data(Training& t) {
  xt::xarray<int> ids    = xt::zeros<int>({32, 6});
  xt::xarray<int> labels = ids;
  for (int b = 0; b < 32; ++b)
    for (int l = 0; l < 6; ++l) {
      ids(b, l)    = (b * 7 + l * 5) % 48;
      labels(b, l) = (b * 11 + l * 3 + 1) % 48;
    }
  t.ids     = from_global<int, L, batch, length>(*t.m, ids);
  t.targets = from_global<int, L, batch, length>(*t.m, labels);
}

/// What training leaves: a loss, gradients, and the parameters after two clipped steps of AdamW.
struct outcome {
  std::vector<float> losses;
  shards gradients;
  shards weights;
};

template<class X>
std::vector<float> elements(X const& x) {
  return {x.handle()->data(), x.handle()->data() + x.size};
}

template<Layout L, int M, class Schedule, bool Recomputes>
outcome outcome_on(process_mesh<typename L::mesh_type>& m) {
  training<L, M, Schedule, Recomputes> t{m};
  take_data<L>(t);
  outcome seen;
  {
    auto const loss = t.gradients();
    seen.losses.push_back(loss.value());
  }
  auto const list = parameters(t.model_);
  list.for_each_named([&](std::string const& name, auto& w) {
    if (!w.handle()->is_absent()) seen.gradients[name] = elements(finish(gradient(w)));
  });
  zero_gradients(list);
  for (int i = 0; i < 2; ++i) {
    auto const loss = t.step();
    seen.losses.push_back(loss.value());
  }
  list.for_each_named([&](std::string const& name, auto& w) {
    if (!w.handle()->is_absent()) seen.weights[name] = elements(w);
  });
  return seen;
}

void expect_part_of(shards const& own, shards const& all) {
  CHECK(!own.empty());
  for (auto const& [name, x] : own) {
    INFO(name);
    auto const& truth = all.at(name);
    REQUIRE(x.size() == truth.size());
    CHECK(std::memcmp(x.data(), truth.data(), x.size() * sizeof(float)) == 0);
  }
}

/// A program whose cost is compared.
template<int M, class Schedule, bool Recomputes>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, M, Schedule, Recomputes> t{m};
    auto const loss = t.step();
  }
};
template<class L, class F>
constexpr auto promised = [] {
  auto const all = dry_run<L>(F{});
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::array{fixture::cost_summary{all.stage(int{K})}...};
  }(std::make_index_sequence<std::size_t{stage_count<L>}>{});
}();

/// K stages of R x C processes against one stage of as many.
template<int K, int R, int C, int M, class Schedule = one_forward_one_backward, bool Recomputes = false>
void check() {
  using L                         = piped<K, R, C>;
  using One                       = piped<1, R, C>;
  auto& m                         = processes<grid<K, R, C>>(communicator{});
  int stage                       = static_cast<int>(m.template coordinate<stages<K>>());
  static auto const comm_of_stage = communicator{}.split(stage);
  INFO(K << " stages of " << R << " x " << C << ", " << M << " micro-batches, this is stage " << stage);
  auto const truth =
      outcome_on<One, M, one_forward_one_backward, false>(processes<grid<1, R, C>>(comm_of_stage));
  auto const own = outcome_on<L, M, Schedule, Recomputes>(m);
  CHECK(own.losses == truth.losses);
  expect_part_of(own.gradients, truth.gradients);
  expect_part_of(own.weights, truth.weights);
  using program = step_of<M, Schedule, Recomputes>;
  fixture::compare(
      promised<L, program>[static_cast<std::size_t>(stage)],
      fixture::cost_summary { recorded<L>(m, program{}) }, "the layout of stages");
}

}  // namespace

TEST_CASE("bits do not depend on the number of stages, of micro-batches, or on the schedule") {
  switch (communicator{}.size()) {
    case 1: check<1, 1, 1, 4>(); break;
    case 2:
      check<2, 1, 1, 1>();
      check<2, 1, 1, 4>();
      check<2, 1, 1, 8>();
      check<2, 1, 1, 4, gpipe>();
      break;
    case 4:
      check<4, 1, 1, 1>();
      check<4, 1, 1, 4>();
      check<4, 1, 1, 8>();
      check<4, 1, 1, 4, one_forward_one_backward, true>();
      check<2, 2, 1, 4>();
      break;
    case 8:
      check<8, 1, 1, 4>();
      check<2, 2, 2, 2>();
      break;
    default: break;
  }
}

TEST_CASE("without a rule for stages, the same program accumulates gradients with the same bits", "[1]") {
  if (communicator{}.size() != 1) return;
  auto const with =
      outcome_on<piped<1>, 4, one_forward_one_backward, false>(processes<grid<1, 1, 1>>(communicator{}));
  auto const without =
      outcome_on<plain, 4, one_forward_one_backward, false>(processes<grid<1, 1, 1>>(communicator{}));
  CHECK(with.losses[0] == without.losses[0]);
  expect_part_of(with.gradients, without.gradients);
}

TEST_CASE("a checkpoint of several stages is that of one, and any number of stages goes on from it") {
  if (communicator{}.size() != 4) return;
  auto const folder       = [](char const* name) { return "pipeline_" + std::string{name}; };
  auto& m                 = processes<grid<4, 1, 1>>(communicator{});
  static auto const alone = communicator{}.split(m.rank());
  auto& solo              = processes<grid<1, 1, 1>>(alone);
  training<piped<4>, 4> four{m};
  training<piped<1>, 4> one{solo};
  take_data<piped<4>>(four);
  take_data<piped<1>>(one);
  for (int i = 0; i < 2; ++i) {
    auto const a = four.step();
    auto const b = one.step();
    CHECK(a.value() == b.value());
  }
  auto const by_four = folder("four");
  auto const by_one  = folder("one") + std::to_string(m.rank());
  save(parameters(four.model_), four.opt, {2, 1}, by_four);
  save(parameters(one.model_), one.opt, {2, 1}, by_one);
  communicator{}.barrier();
  auto const bytes = [](std::string const& path) {
    std::ifstream file{path + "/step-00000002.safetensors", std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  CHECK(!bytes(by_one).empty());
  CHECK(bytes(by_four) == bytes(by_one));
  training<piped<4>, 4> again{m};
  training<piped<1>, 4> again_alone{solo};
  take_data<piped<4>>(again);
  take_data<piped<1>>(again_alone);
  load(parameters(again.model_), again.opt, by_one);
  load(parameters(again_alone.model_), again_alone.opt, by_four);
  auto const a = again.step();
  auto const b = again_alone.step();
  auto const c = one.step();
  CHECK(a.value() == c.value());
  CHECK(b.value() == c.value());
  m.agree(parameters(again.model_));
}
