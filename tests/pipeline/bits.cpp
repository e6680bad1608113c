// The same bits for every number of stages: loss, gradients, parameters after clipped steps, checkpoints; and
// what is counted is what was promised. With MESHTF_LONG_ZOO of more numbers, each with both schedules and
// with recomputation.
// test: program pipeline
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "on_stages.hpp"
#include "program.hpp"

namespace {

using namespace pipelines;

constexpr meshtf::checkpoint_options as_file{.in_parts = false};

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
  seen.weights = elements_of(list);
  return seen;
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

/// K stages of R x C processes against one stage of as many.
template<int K, int R, int C, int M, class Schedule = one_forward_one_backward, bool Recomputes = false>
void check() {
  using L                         = piped<K, R, C>;
  using One                       = piped<1, R, C>;
  auto& m                         = processes<grid<K, R, C>>();
  int stage                       = static_cast<int>(m.template coordinate<stages<K>>());
  static auto const comm_of_stage = communicator{}.split(stage);
  INFO(K << " stages of " << R << " x " << C << ", " << M << " micro-batches, this is stage " << stage);
  auto const truth =
      outcome_on<One, M, one_forward_one_backward, false>(processes<grid<1, R, C>>(comm_of_stage));
  auto const own = outcome_on<L, M, Schedule, Recomputes>(m);
  CHECK(own.losses == truth.losses);
  expect_part_of(own.gradients, truth.gradients);
  expect_part_of(own.weights, truth.weights);
  expect_price<L, step_of<M, Schedule, Recomputes>>(m);
}

}  // namespace

TEST_CASE("bits do not depend on the number of stages, of micro-batches, or on the schedule") {
  switch (communicator{}.size()) {
    case 1: check<1, 1, 1, 4>(); break;
    case 2:
#ifdef MESHTF_LONG_ZOO
      check<2, 1, 1, 1>();
      check<2, 1, 1, 8>();
#endif
      check<2, 1, 1, 4>();
      check<2, 1, 1, 4, gpipe>();
      break;
    case 4:
#ifdef MESHTF_LONG_ZOO
      check<4, 1, 1, 1>();
      check<4, 1, 1, 4>();
#endif
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

#ifdef MESHTF_LONG_ZOO
namespace {

/// K stages and M micro-batches, on K of the processes.
template<int K, int M, class Schedule, bool Recomputes>
void check_bits(communicator const& taking_part, outcome const& truth) {
  INFO(K << " stages, " << M << " micro-batches, " << (std::is_same_v<Schedule, gpipe> ? "gpipe" : "1F1B")
         << (Recomputes ? ", recomputes" : ""));
  auto const own = outcome_on<piped<K>, M, Schedule, Recomputes>(processes<grid<K, 1, 1>>(taking_part));
  CHECK(own.losses == truth.losses);
  expect_part_of(own.gradients, truth.gradients);
  expect_part_of(own.weights, truth.weights);
}
template<int K, int... M>
void check_numbers(std::integer_sequence<int, M...>) {
  static auto const taking_part = communicator{}.split(communicator{}.rank() < K ? 0 : 1);
  if (communicator{}.rank() >= K) return;
  auto const each = [&]<int N>(std::integral_constant<int, N>) {
    auto const truth =
        outcome_on<piped<1>, N, one_forward_one_backward, false>(processes<grid<1, 1, 1>>(alone()));
    check_bits<K, N, one_forward_one_backward, false>(taking_part, truth);
    check_bits<K, N, one_forward_one_backward, true>(taking_part, truth);
    check_bits<K, N, gpipe, false>(taking_part, truth);
    check_bits<K, N, gpipe, true>(taking_part, truth);
  };
  (each(std::integral_constant<int, M>{}), ...);
}

}  // namespace

TEST_CASE("the bits of 1 to 8 stages and of 1 to 16 micro-batches") {
  using numbers = std::integer_sequence<int, 1, 2, 4, 8, 16>;
  switch (communicator{}.size()) {
    case 1: check_numbers<1>(numbers{}); break;
    case 2: check_numbers<2>(numbers{}); break;
    case 4:
      check_numbers<3>(numbers{});
      check_numbers<4>(numbers{});
      break;
    case 8: check_numbers<8>(numbers{}); break;
    default: break;
  }
}
#endif

TEST_CASE("without a rule for stages, the same program accumulates gradients with the same bits", "[1]") {
  if (communicator{}.size() != 1) return;
  auto const with    = outcome_on<piped<1>, 4, one_forward_one_backward, false>(processes<grid<1, 1, 1>>());
  auto const without = outcome_on<plain, 4, one_forward_one_backward, false>(processes<grid<1, 1, 1>>());
  CHECK(with.losses[0] == without.losses[0]);
  expect_part_of(with.gradients, without.gradients);
}

TEST_CASE("a checkpoint of several stages is that of one, and any number of stages goes on from it") {
  if (communicator{}.size() != 4) return;
  auto const folder = [](char const* name) { return "pipeline_" + std::string{name}; };
  auto& m           = processes<grid<4, 1, 1>>();
  auto& solo        = processes<grid<1, 1, 1>>(alone());
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
  save(parameters(four.model_), four.opt, {2, 1}, by_four, as_file);
  save(parameters(one.model_), one.opt, {2, 1}, by_one, as_file);
  communicator{}.barrier();
  auto const bytes = [](std::string const& path) {
    std::ifstream file{path + "/step-00000002.safetensors", std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  CHECK(!bytes(by_one).empty());
  // in parts, the four stages write what each has, and one process reads all
  auto const in_parts = folder("in_parts");
  save(parameters(four.model_), four.opt, {2, 1}, in_parts);
  CHECK(std::filesystem::exists(in_parts + "/step-00000002/part-00003-of-00004.safetensors"));
  CHECK(bytes(by_four) == bytes(by_one));
  training<piped<4>, 4> again{m};
  training<piped<1>, 4> again_alone{solo};
  take_data<piped<4>>(again);
  take_data<piped<1>>(again_alone);
  load(parameters(again.model_), again.opt, by_one);
  load(parameters(again_alone.model_), again_alone.opt, in_parts);
  auto const a = again.step();
  auto const b = again_alone.step();
  auto const c = one.step();
  CHECK(a.value() == c.value());
  CHECK(b.value() == c.value());
  m.agree(parameters(again.model_));
}
