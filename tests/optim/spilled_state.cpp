// spill_state: the same steps, to the bit, with the arrays of one parameter in memory and those of the others
// in the file.
#include "model.hpp"

using namespace optim;

namespace {

template<class Optimizer, bool Spills>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    m.spill_from(1);
    model_of<double, L> net{m};
    Optimizer opt{0.05};
    opt.shard_state = true;
    opt.max_norm    = 0.5;
    opt.spill_state = Spills;
    opt.prepare(net.parameters());
    auto const x = data_of<double, L>(m);
    for (int i = 0; i < 3; ++i) {
      backward(net.loss(x));
      opt.step(net.parameters());
    }
    net.parameters().for_each([&see](auto& w) { see(w); });
  }
};

template<class Optimizer, Layout L>
void check_same_bits() {
  compare(run<L>(three_steps<Optimizer, true>{}), run<L>(three_steps<Optimizer, false>{}), 0,
          std::string{name_of<L>()} + ", against state in memory");
}

template<class L, bool Spills>
inline constexpr cost_summary bill{dry_run<L>(shown_to<three_steps<adamw, Spills>>{})};
static_assert(bill<alone, true>.peak < bill<alone, false>.peak);
static_assert(bill<alone, true>.flops == bill<alone, false>.flops);

struct single_parameter {
  process_mesh<single>& m = processes<single>();
  parameter<double, alone, batch, hidden> w{m, normal{1}};
  parameter<double, alone, hidden, out> v{m, normal{2}};
  adamw opt{0.05};

  explicit single_parameter(bool spills = true) {
    m.spill_from(1);
    opt.spill_state = spills;
  }
  auto list() { return parameters(w, v); }
  auto loss() { return sum(square(einsum<batch, out>(w, v))); }
  void step() {
    backward(loss());
    opt.step(list());
  }
  /// v is updated before the gradient of w is computed, which fails if it shall.
  void step_in_backward(bool fails) {
    auto const curved = [fails](auto const& x) {
      if (fails && x.machine().recomputes()) throw software_error("in the backward pass");
      return tanh(x);
    };
    backward(sum(square(einsum<batch, out>(recompute(curved, w), v))), opt, list());
  }
};

/// Float weights and bfloat16 activations. With `adafactor`, whose arrays do not leave, after the backward
/// pass; else in it.
template<class Optimizer, bool Spills>
struct mixed_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    m.spill_from(1);
    nn::linear<float, L, in, hidden> up{m, normal{1, 0.4}};
    nn::linear<float, L, hidden, out> down{m, normal{2, 0.3}};
    auto const list = parameters(up, down);
    Optimizer opt{0.05};
    if constexpr (requires { opt.spill_state; }) opt.spill_state = Spills;
    opt.prepare(list);
    auto const x = random_normal<bfloat16, L, batch, in>(m, {.seed = 21});
    for (int i = 0; i < 3; ++i) {
      auto const wide = called([&up](auto const& a) { return tanh(up(a)); }, x);
      auto const loss =
          mean(square(cast<float>(called([&down](auto const& a) { return down(square(a)); }, wide))));
      see(loss);
      if constexpr (requires { opt.spill_state; }) {
        backward(loss, opt, list);
      } else {
        backward(loss);
        opt.step(list);
      }
    }
    list.for_each([&see](auto& w) { see(w); });
  }
  static constexpr auto called(auto const& f, auto const& x) {
    if constexpr (Spills) return spill(f, x);
    else return f(x);
  }
};

template<class Optimizer, Layout L>
void check_mixed() {
  using program = mixed_steps<Optimizer, true>;
  std::string const name{name_of<L>()};
  compare(run<L>(program{}), run<L>(mixed_steps<Optimizer, false>{}), 0, name);
  static constexpr cost_summary promised{dry_run<L>(shown_to<program>{})};
  static_assert(promised.spilled > 0);
  compare(promised, cost_summary{recorded<L>(processes<typename L::mesh_type>(), shown_to<program>{})}, name);
}

/// Arrays that are long enough for several threads.
struct wide : dim<768> {};
struct rows_of_wide : dim<512> {};

template<bool Spills>
constexpr auto wide_steps = []<Layout L>(machine<L>& m) {
  parameter<float, L, rows_of_wide, wide> w{m, normal{1, 0.1}};
  adamw opt{0.05};
  opt.spill_state = Spills;
  opt.prepare(parameters(w));
  auto const x  = random_normal<float, L, rows_of_wide, wide>(m, {.seed = 21});
  auto const in = [&](auto const& y) {
    auto const f = [](auto const& a) { return tanh(gelu(a)); };
    if constexpr (Spills) return spill(f, y);
    else return f(y);
  };
  for (int i = 0; i < 3; ++i) backward(mean(square(in(in(x * w)))), opt, parameters(w));
  if constexpr (machine<L>::computes) return std::vector<float>{w.data(), w.data() + w.size};
};

template<int Threads>
void check_threads(std::vector<float> const& expected) {
  kernel::use_threads(Threads);
  process_mesh<single> m{boost::mpi::communicator{}};
  bool const same = wide_steps<true>.template operator()<alone>(m) == expected;
  kernel::use_threads(1);
  INFO(Threads << " threads");
  CHECK(same);
}

}  // namespace

TEST_CASE("steps with their state in the file have the bits of steps without, at the promised price") {
  check_program(three_steps<adamw, true>{});
  under_each_layout([]<Layout L> { check_same_bits<adamw, L>(); });
}

TEST_CASE("so have steps that are scaled by norms, and those of one array") {
  if (boost::mpi::communicator{}.size() != 1) return;
  check_same_bits<lamb, alone>();
  check_same_bits<lion, alone>();
}

TEST_CASE("between two steps the state takes no memory, and what is read of it comes back") {
  if (boost::mpi::communicator{}.size() != 1) return;
  single_parameter p;
  extent const before = p.m.live_bytes();
  extent const bytes  = 2 * (p.w.size + p.v.size) * extent{sizeof(double)};
  p.step();
  CHECK(p.m.live_bytes() == before);
  extent const file = p.m.spill_file_bytes();
  int const blocks  = p.m.memory().blocks();
  for (int i = 0; i < 3; ++i) p.step();
  CHECK(p.m.live_bytes() == before);
  CHECK(p.m.spill_file_bytes() == file);
  CHECK(p.m.memory().blocks() == blocks);
  CHECK(p.m.optimizer_bytes() >= bytes);

  p.opt.bring_state(p.w);
  CHECK(p.m.live_bytes() == before + 2 * p.w.size * extent{sizeof(double)});
  double largest = 0;
  p.opt.for_each_array(p.v, [&](char const*, auto const& array, auto const&) {
    for (extent i = 0; i < array->size(); ++i) largest = std::max(largest, std::abs(array->data()[i]));
  });
  CHECK(largest > 0);
  CHECK(p.m.live_bytes() == before + bytes);
  p.step();
  CHECK(p.m.live_bytes() == before);

  // a step without a gradient of v: what was read ahead leaves again
  backward(sum(square(p.w)));
  p.opt.step(p.list());
  CHECK(p.m.live_bytes() == before);
}

TEST_CASE("a step in the backward pass sends away what it has used, and has the same bits") {
  if (boost::mpi::communicator{}.size() != 1) return;
  single_parameter p;
  single_parameter afterwards;
  extent const before = p.m.live_bytes();
  for (int i = 0; i < 3; ++i) {
    backward(p.loss(), p.opt, p.list());
    CHECK(p.m.live_bytes() == before);
    afterwards.step();
  }
  CHECK((to_global(p.w) == to_global(afterwards.w)));
  CHECK((to_global(p.v) == to_global(afterwards.v)));
}

TEST_CASE(
    "spilled activations and state in mixed precision, and activations with adafactor, have the same bits") {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_mixed<adamw, alone>(); break;
    case 4:
      check_mixed<adamw, mixed>();
      check_mixed<adafactor, mixed>();
      break;
    default: break;
  }
}

TEST_CASE("what several threads compute is spilled with the same bits", "[1]") {
  process_mesh<single> m{boost::mpi::communicator{}};
  auto const expected = wide_steps<false>.operator()<alone>(m);
  check_threads<1>(expected);
  check_threads<2>(expected);
}

TEST_CASE("a step in the backward pass that fails leaves what it leaves with state in memory", "[1]") {
  single_parameter p;
  single_parameter in_memory{false};
  auto const expect_equal = [&] {
    CHECK((to_global(p.w) == to_global(in_memory.w)));
    CHECK((to_global(p.v) == to_global(in_memory.v)));
  };
  p.step_in_backward(false);
  in_memory.step_in_backward(false);
  extent const before = p.m.live_bytes();
  extent const file   = p.m.spill_file_bytes();
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(p.step_in_backward(true), software_error);
    CHECK_THROWS_AS(in_memory.step_in_backward(true), software_error);
    CHECK(p.m.live_bytes() == before);
    expect_equal();
    p.step_in_backward(false);
    in_memory.step_in_backward(false);
    CHECK(p.m.live_bytes() == before);
    CHECK(p.m.spill_file_bytes() == file);
    expect_equal();
  }
}
