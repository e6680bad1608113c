// The programs of docs/control_flow.md: a long recurrence with most of its tape computed again, a loop that
// ends when all examples have stopped, and beam search, on 1, 2 or 4 processes.
// Run:    examples/processes 4 build/release/examples/control_flow
// Prints: for each the peak of memory, the operations or iterations, and whether gradients have the bits of
// those of the plain loop. A step that costs other than promised, or has other bits, ends with status 70.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

namespace {

using namespace meshtf;

struct batch : dim<64> {};
struct units : dim<64> {};
struct before : dim<64> {};  // the units that an iteration reads
struct vocab : dim<8> {};
struct beam : dim<4> {};
struct next : dim<4> {};      // the hypotheses that go on
struct choices : dim<32> {};  // each hypothesis with each id
struct position : dim<32> {};
struct one : dim<1> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct one_process : mesh<> {};
struct pair : mesh<rows> {};
struct grid : mesh<rows, cols> {};

struct whole : layout<one_process> {};
struct halves : layout<pair, split<batch, rows>> {};
struct quarters : layout<grid, split<batch, rows, cols>> {};
struct mixed : layout<grid, split<batch, rows>, split<units, cols>> {};

// ---- a long recurrence

/// How many iterations, in pieces that are computed again in the backward pass, and in pieces of pieces; 0:
/// all is kept.
struct iterations {
  int number = 2000;
  int piece  = 0;
  int outer  = 0;
};

template<Layout L>
struct recurrence {
  using state = tensor<float, L, batch, units>;

  parameter<float, L, before, units> w;
  parameter<float, L, units> b;
  state x;
  iterations how;

  constexpr explicit recurrence(machine<L>& m, iterations n)
      : w{m, normal{1, 0.1}},
        b{m, normal{2, 0.1}},
        x{random_uniform<float, L, batch, units>(m, {.seed = 5}, -1, 1)},
        how{n} {}

  constexpr state some(state h, int n) const {
    for (int t = 0; t < n; ++t) {
      auto const z = einsum<batch, units>(rename<units, before>(h), w);
      h            = tanh(z + b);
    }
    return h;
  }

  constexpr state in_pieces(state h, int n) const {
    for (int t = 0; t < n; t += how.piece) {
      int const length = n - t < how.piece ? n - t : how.piece;
      h                = recompute([this, length](auto const& start) { return some(start, length); }, h);
    }
    return h;
  }

  constexpr state in_pieces_of_pieces(state h) const {
    for (int t = 0; t < how.number; t += how.outer)
      h = recompute([this](auto const& start) { return in_pieces(start, how.outer); }, h);
    return h;
  }

  constexpr state last() const {
    if (how.outer > 0) return in_pieces_of_pieces(copy(x));
    if (how.piece > 0) return in_pieces(copy(x), how.number);
    return some(copy(x), how.number);
  }

  constexpr auto step() {
    auto const loss = mean(square(last()));
    backward(loss);
    return loss;
  }
};

// ---- a loop that ends when all examples have stopped

template<Layout L>
struct halting {
  static constexpr int most   = 40;
  static constexpr int priced = 14;  // the iterations that the price is for

  parameter<float, L, before, units> w;
  tensor<float, L, batch, units> x;
  bool all_iterations;
  int made = 0;

  constexpr explicit halting(machine<L>& m, bool every_one = false)
      : w{m, normal{1, 0.01}},
        x{random_uniform<float, L, batch, units>(m, {.seed = 5}, -1, 1) *
          random_uniform<float, L, batch>(m, {.seed = 6}, 0, 4)},
        all_iterations{every_one} {}

  constexpr auto step() {
    auto h = copy(x);
    for (made = 0; made < most; ++made) {
      auto const active = greater(l2_norm<units>(stop_gradient(h)), 0.5f);
      if (!all_iterations && !same_on_all(any(cast<bool>(active)), made < priced)) break;
      auto const z = einsum<batch, units>(rename<units, before>(h), w);
      h            = where(active, z + h * 0.7f, h);  // those that have stopped keep their value
    }
    auto const loss = mean(square(h));
    backward(loss);
    return loss;
  }
};

// ---- beam search

template<Layout L>
struct searching {
  static constexpr int end       = 0;
  static constexpr float nothing = -std::numeric_limits<float>::infinity();

  parameter<float, L, before, units> w;
  parameter<float, L, vocab, units> heard;
  parameter<float, L, units, vocab> said;
  tensor<float, L, batch, units> start;
  tensor<int, L, batch, beam, position> ids;
  tensor<float, L, batch, beam> scores;
  int made = 0;

  constexpr explicit searching(machine<L>& m)
      : w{m, normal{1, 0.1}},
        heard{m, normal{2, 1}},
        said{m, normal{3, 0.2}},
        start{random_normal<float, L, batch, units>(m, {.seed = 4})},
        ids{m},
        scores{m} {}

  /// Of each hypothesis and each id the logarithm of its probability; one that has ended goes on with `end`.
  constexpr auto log_probabilities(auto const& h, auto const& last) const {
    auto const id        = iota<float, L, vocab>(h.machine());
    auto const after_end = where(equal(id, end), 0 * id, nothing);
    auto const ended     = broadcast<batch, beam, vocab>(equal(last, end));
    auto const free      = log_softmax<vocab>(einsum<batch, beam, vocab>(h, said));
    return where(ended, broadcast<batch, beam, vocab>(after_end), free);
  }

  constexpr auto step() {
    auto& m = start.machine();
    no_gradient const guard{m};
    auto h            = broadcast<batch, beam, units>(start);
    auto last         = broadcast<batch, beam>(0 * iota<int, L, beam>(m) + 1);
    auto const number = iota<float, L, beam>(m);
    scores            = broadcast<batch, beam>(where(equal(number, 0), number, nothing));  // one hypothesis
    for (made = 0; made < static_cast<int>(position::size); ++made) {
      h = tanh(einsum<batch, beam, units>(rename<units, before>(h), w) + gather<vocab>(heard, last));
      auto const all_scores = merge_dims<beam, vocab, choices>(log_probabilities(h, last) + scores);
      auto const best       = top_k<choices, next>(all_scores);
      auto const parent     = floor_divide(best.index, static_cast<int>(vocab::size));
      h                     = rename<next, beam>(gather<beam>(h, parent));
      scores                = rename<next, beam>(best.value);
      last                  = rename<next, beam>(modulo(best.index, static_cast<int>(vocab::size)));
      auto const kept       = rename<next, beam>(gather<beam>(ids, parent));
      ids                   = write<position>(kept, broadcast<batch, beam, one>(last), made);
      if (same_on_all(all(cast<bool>(equal(last, end))), false)) break;
    }
    return scores;
  }
};

// ---- what each costs, and shows

/// The price of a step, by the books of a ledger. It runs here, next to the processes: 2,000 iterations would
/// take a compiler minutes.
template<template<Layout> class Program, Layout L, class... A>
auto promised(A... arguments) {
  using mesh_type = typename L::mesh_type;
  auto const m    = std::make_unique<ledger<mesh_type>>();
  Program<dry<L>> program{*m, arguments...};
  m->start_over();
  {
    [[maybe_unused]] auto const result = program.step();
  }
  m->unwind_tape(false);
  return std::make_unique<cost<mesh_type>>(m->noted());
}

template<class W>
std::vector<float> gradient_of(W& w) {
  auto const g = finish(gradient(w));
  return {g.data(), g.data() + g.size};
}

void expect(bool is_so, char const* sentence) {
  if (!is_so) throw software_error(sentence);
}

template<Layout L>
struct shown {
  process_mesh<typename L::mesh_type>& m;

  template<class... T>
  void say(char const* format, T... values) const {
    if (m.rank() != 0) return;
    std::printf("%s: ", std::string{name_of<L>()}.c_str());
    std::printf(format, values...);
    std::printf("\n");
  }

  template<class Program>
  auto counted(Program& program) const {
    return recorded<L>(m, [&]<class>(auto&) { program.step(); });
  }

  extent in_memory(iterations how, std::vector<float>& bits, extent all_kept) const {
    recurrence<L> program{m, how};
    auto const cost = counted(program);
    check_promise<L>(*promised<recurrence, L>(how), cost);
    auto const found = gradient_of(program.w);
    if (bits.empty()) bits = found;
    expect(found == bits, "expected the bits of the gradient of all iterations, got others");
    double const megabytes = 1e-6 * static_cast<double>(cost.peak_bytes());
    auto const part        = static_cast<double>(all_kept) / static_cast<double>(cost.peak_bytes());
    if (how.piece == 0)
      say("%d iterations: %.3f MB, %ld operations", how.number, megabytes, long{cost.operations()});
    else if (how.outer == 0)
      say("in pieces of %d: %.3f MB, a part of 1/%.1f, %ld operations, the same bits", how.piece, megabytes,
          part, long{cost.operations()});
    else
      say("in pieces of %d in pieces of %d: %.3f MB, 1/%.1f, %ld operations, the same bits", how.piece,
          how.outer, megabytes, part, long{cost.operations()});
    return cost.peak_bytes();
  }

  void long_recurrence() const {
    std::vector<float> bits;
    extent const all_kept  = in_memory({.number = 2000}, bits, 0);
    extent const in_pieces = in_memory({.number = 2000, .piece = 45}, bits, all_kept);
    extent const nested    = in_memory({.number = 2000, .piece = 13, .outer = 200}, bits, all_kept);
    expect(in_pieces * 19 <= all_kept, "expected pieces of 45 to take 1/19 of the memory, got more");
    expect(nested * 38 <= all_kept, "expected pieces in pieces to take 1/38 of the memory, got more");
  }

  void early_exit() const {
    halting<L> ends{m};
    check_promise<L>(dry_run<halting, L>(), counted(ends));
    halting<L> goes_on{m, true};
    goes_on.step();
    expect(gradient_of(ends.w) == gradient_of(goes_on.w), "expected the bits of all iterations, got others");
    say("a loop that ends: %d of %d iterations, the same bits", ends.made, goes_on.made);
  }

  /// All processes find what one process finds.
  void beam_search() const {
    searching<L> search{m};
    auto const cost = counted(search);
    process_mesh<one_process> alone{MPI_COMM_SELF};
    searching<whole> truth{alone};
    truth.step();
    expect(search.made == truth.made, "expected as many positions as one process writes, got others");
    auto const found    = to_global(search.ids);
    auto const expected = to_global(truth.ids);
    expect(found == expected, "expected the hypotheses of one process, got others");
    say("beam search: %d of %ld positions, %ld broadcasts", search.made + 1, long{position::size},
        long{cost.template calls<collective::broadcast>()});
  }

  void everything() const {
    long_recurrence();
    early_exit();
    beam_search();
  }
};

}  // namespace

int main(int argc, char** argv) {
  environment env{argc, argv};
  run_on<one_process, pair, grid>(env, []<class M>(process_mesh<M>& m) {
    if constexpr (M::size == 1) shown<whole>{m}.everything();
    else if constexpr (M::size == 2) shown<halves>{m}.everything();
    else {
      shown<quarters>{m}.long_recurrence();
      shown<mixed>{m}.early_exit();
      shown<mixed>{m}.beam_search();
    }
  });
}
