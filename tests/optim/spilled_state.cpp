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

  single_parameter() {
    m.spill_from(1);
    opt.spill_state = true;
  }
  auto list() { return parameters(w, v); }
  auto loss() { return sum(square(einsum<batch, out>(w, v))); }
  void step() {
    backward(loss());
    opt.step(list());
  }
};

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
