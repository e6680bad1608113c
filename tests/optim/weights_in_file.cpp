// weights_in_file: the bits of a model whose weights are in memory, with those of two or three of its parts
// there, and 3 |W| bytes to the file and back.
// test: program optim
#include <array>
#include <vector>

#include "model.hpp"

using namespace optim;

namespace {

template<Layout L>
struct block {
  nn::linear<double, L, in, hidden> up;
  nn::linear<double, L, hidden, in> down;

  constexpr block(machine<L>& m, std::uint64_t seed)
      : up{m, normal{seed, 0.2}}, down{m, normal{seed + 1, 0.2}} {}
  template<class X>
  constexpr auto operator()(X const& x) const {
    return x + down(tanh(up(x)));
  }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
  static constexpr extent bytes =
      extent{sizeof(double)} * (2 * in::size * hidden::size + in::size + hidden::size);
};

enum class calls { as_they_are, from_file, from_file_spilled, from_file_recomputed };

constexpr int blocks = 6;

/// The second step of a program, which knows the order of its parts.
template<Layout L>
struct training {
  std::array<block<L>, blocks> net;
  adamw opt{0.05};
  weights_in_file<machine<L>> file;
  tensor<double, L, batch, in> x;
  calls how;

  constexpr explicit training(machine<L>& m, calls c = calls::as_they_are)
      : net{block<L>{m, 1}, block<L>{m, 3}, block<L>{m, 5}, block<L>{m, 7}, block<L>{m, 9}, block<L>{m, 11}},
        file{m},
        x{random_normal<double, L, batch, in>(m, {.seed = 21})},
        how{c} {
    m.spill_from(1);
    opt.spill_state = how != calls::as_they_are;
    opt.prepare(parameters(net));
    if (how != calls::as_they_are)
      for (auto& b : net) file.send_away(b);
    step();
  }
  constexpr void step() { backward(loss(), opt, parameters(net)); }
  constexpr auto loss() {
    auto h = called(net[0], x);
    for (std::size_t i = 1; i < blocks; ++i) {
      auto next = called(net[i], h);
      h         = std::move(next);
    }
    return mean(square(h));
  }

private:
  constexpr tensor<double, L, batch, in> called(block<L>& b, tensor<double, L, batch, in> const& a) {
    auto const from_file = [this, &b](auto const& y) { return file(b, y); };
    switch (how) {
      case calls::from_file: return file(b, a);
      case calls::from_file_spilled: return spill(from_file, a);
      case calls::from_file_recomputed: return recompute(from_file, a);
      case calls::as_they_are: break;
    }
    return b(a);
  }
};

template<calls How>
struct two_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    training<L> t{m, How};
    t.step();
    parameters(t.net).for_each([&see](auto& w) { see(w); });
  }
};

template<calls How, Layout L>
void check() {
  std::string const name{name_of<L>()};
  compare(run<L>(two_steps<How>{}), run<L>(two_steps<calls::as_they_are>{}), 0, name);
  static constexpr cost_summary promised{dry_run<L>(shown_to<two_steps<How>>{})};
  compare(promised, cost_summary{recorded<L>(processes<typename L::mesh_type>(), shown_to<two_steps<How>>{})},
          name);
}

template<calls How>
inline constexpr auto price = dry_run<training, alone>(How);

constexpr extent weights = blocks * block<alone>::bytes;
// two reads and a write of the weights; a read and a write of the two arrays that adamw keeps of each
static_assert(price<calls::from_file>.bytes_spilled() == 3 * weights + 2 * 2 * weights);
// without that state and with three blocks of six
static_assert(price<calls::from_file>.peak_bytes() < price<calls::as_they_are>.peak_bytes() - 2 * weights);
// what is computed again was dropped after the forward pass, as what is kept is
static_assert(price<calls::from_file_recomputed>.bytes_spilled() == 3 * weights + 2 * 2 * weights);
static_assert(price<calls::from_file>.flops() == price<calls::as_they_are>.flops());

}  // namespace

TEST_CASE("blocks whose weights are in the file have the bits of blocks in memory, at the promised price") {
  switch (boost::mpi::communicator{}.size()) {
    case 1:
      check<calls::from_file, alone>();
      check<calls::from_file_spilled, alone>();
      check<calls::from_file_recomputed, alone>();
      break;
    case 4: check<calls::from_file, mixed>(); break;
    default: break;
  }
}

TEST_CASE("weights that are read or written while they are away come back, and leave again", "[1]") {
  auto& m             = processes<single>();
  extent const before = m.live_bytes();
  {
    training<alone> t{m, calls::from_file};
    training<alone> in_memory{m, calls::as_they_are};
    auto const equal = [&] {
      bool same = true;
      for (std::size_t i = 0; i < blocks; ++i)
        same = same && to_global(t.net[i].up.weight) == to_global(in_memory.net[i].up.weight);
      return same;
    };
    CHECK(equal());
    for (auto* both : {&t, &in_memory}) both->net[2].up.weight.local()(0, 0) += 1;
    for (auto* both : {&t, &in_memory}) both->step();
    CHECK(equal());
    CHECK(t.loss().value() == in_memory.loss().value());  // and no backward pass
    m.unwind_tape(false);
    no_gradient const guard{m};
    CHECK(t.loss().value() == in_memory.loss().value());
  }
  CHECK(m.live_bytes() == before);
}
