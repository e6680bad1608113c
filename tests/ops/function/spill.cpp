// spill: the values and gradients of the function, bit for bit, with less memory; what leaves comes back.
// test: program recompute
#include <array>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "../../literal.hpp"
#include "called_somehow.hpp"

using namespace fixture;

namespace {

/// Every array leaves, however short.
struct spilled {
  static constexpr void prepare(auto& m) { m.spill_from(1); }
  template<class F, class... X>
  static constexpr auto call(F&& f, X const&... x) {
    return spill(std::forward<F>(f), x...);
  }
};
/// What a recomputed function is given leaves.
struct spilled_arguments : spilled {
  template<class F, class... X>
  static constexpr auto call(F&& f, X const&... x) {
    return spill([&f](X const&... y) { return recompute(f, y...); }, x...);
  }
};
/// A spilled function is computed again.
struct recomputed : spilled {
  template<class F, class... X>
  static constexpr auto call(F&& f, X const&... x) {
    return recompute([f](X const&... y) { return spill(f, y...); }, x...);
  }
};

template<class How, class L, template<class> class Program = training>
inline constexpr cost_summary bill_of{dry_run<L>(shown_to<Program<How>>{})};

// all three values of a block leave, and those of the first three come back
template<class L>
constexpr bool same_work_in_less_memory() {
  constexpr auto const& less = bill_of<spilled, L>;
  constexpr auto const& more = bill_of<plain, L>;
  return less.peak < more.peak * 5 / 6 && less.flops == more.flops && less.elementwise == more.elementwise &&
         less.touched == more.touched && less.count == more.count && less.live == more.live &&
         less.spilled > more.peak && more.spilled == 0;
}
static_assert(same_work_in_less_memory<alone>());
static_assert(same_work_in_less_memory<mixed>());
static_assert(same_work_in_less_memory<thirds>());
static_assert(bill_of<spilled_arguments, alone>.spilled > 0);

/// Functions one after the other, of which each keeps a result, which the next one does not.
template<Layout L>
struct deep {
  parameter<double, L, batch, hidden> w;
  int functions;
  constexpr deep(machine<L>& m, int n) : w{m, normal{1}}, functions{n} { m.spill_from(1); }
  constexpr void step() {
    auto h    = w + w;
    auto loss = sum(h);
    for (int i = 0; i < functions; ++i) {
      auto const [twice, squares] = spill(
          [](auto const& x) {
            auto const doubled = x + x;
            return std::tuple{doubled, square(doubled)};
          },
          h);
      loss = loss + sum(squares);
      h    = twice;
    }
    backward(loss);
  }
};

// so results leave as well, if later than the rest: the peak does not grow with the number of functions
static_assert(dry_run<deep, alone>(9).peak_bytes() == dry_run<deep, alone>(5).peak_bytes());
static_assert(dry_run<deep, alone>(9).bytes_spilled() > dry_run<deep, alone>(5).bytes_spilled());

/// Functions of several values that are recomputed inside of spilled ones: what the tape keeps of them are
/// their arguments, in a tuple, in a struct that names its values, and as a partial sum.
template<class X>
struct two_values {
  X first;
  X second;
  constexpr auto values() const { return std::tuple{first, second}; }
};

template<class How>
struct of_several {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    How::prepare(m);
    parameter<double, L, batch, hidden> x{m, normal{1}};
    parameter<double, L, hidden, out> w{m, normal{2}};
    auto const named = How::call(
        [](auto const& a) {
          auto const y = square(a);
          return two_values<std::remove_cvref_t<decltype(y)>>{y, tanh(y)};
        },
        tanh(x));
    auto const several = How::call(
        [&w](auto const& two) {
          return std::tuple{two.first * two.second, partial_einsum<batch, out>(exp(two.second), w)};
        },
        named);
    auto const z = How::call([](auto const& a) { return square(std::get<0>(a)); }, several);
    auto const p = How::call([](auto const& a, double b) { return b * a; }, std::get<1>(several), 2.0);
    auto const q = How::call([](auto const& a) { return exp(a); }, finish(p));
    see(z);
    backward(sum(z) + sum(q));
    see(finish(gradient(x)));
    see(finish(gradient(w)));
  }
};

// each of these arguments leaves, and all but that of the last function, which is still leaving, come back
static_assert(bill_of<spilled_arguments, alone, of_several>.spilled ==
              extent{sizeof(double)} * (2 * 4 * batch::size * hidden::size + 3 * batch::size * out::size));

}  // namespace

TEST_CASE("spill of literal numbers: the function, and its gradient") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  x.machine().spill_from(1);
  auto const y = spill([](auto const& a) { return square(a) + a; }, x);
  auto const z = spill([](auto const& a) { return square(square(a)) + a; }, y);
  backward(sum(z));
  CHECK(numbers_of(z) == list{18, 1302, 20748});
  CHECK(slopes_of(x) == list{33 * 3, 865 * 5, 6913 * 7});
}

TEST_CASE("spill of four blocks has the bits of the blocks") { check_same_bits<training, spilled>(); }

TEST_CASE("spill of tuples, partial sums, images of parameters, models, and within itself") {
  check_same_bits<corners, spilled>();
}

TEST_CASE("spill of what is recomputed, and what is recomputed of spill") {
  compare_bits<training, spilled_arguments>();
  compare_bits<training, recomputed>();
  check_same_bits<of_several, spilled_arguments>();
}

namespace {

/// The tape keeps x and the exponential.
constexpr auto grown = [](auto const& x) { return exp(square(x)) * x; };

/// On one process: a machine, and a parameter whose image is computed by spilled functions.
struct one_process {
  process_mesh<single>& m = processes<single>();
  parameter<double, alone, out> w{m, normal{1}};

  one_process() { m.spill_from(1); }
};

std::vector<double> elements(tensor<double, alone, out> const& x) { return {x.data(), x.data() + out::size}; }

}  // namespace

TEST_CASE("a value that is read while it is away comes back, and so does its gradient") {
  if (boost::mpi::communicator{}.size() != 1) return;
  one_process p;
  auto const h  = tanh(p.w);
  auto const in = elements(h);
  auto const z  = spill(grown, h);
  CHECK(h.handle()->is_noted());
  auto const y = spill(grown, z);
  CHECK(!y.handle()->is_noted());
  auto const live = p.m.live_bytes();
  auto const away = 2 * out::size * extent{sizeof(double)};  // h and the exponential
  CHECK(elements(h) == in);
  CHECK(p.m.live_bytes() == live + away / 2);
  CHECK(elements(h + z).size() == in.size());
  backward(sum(y));
  auto const gradient_of_spilled = elements(finish(gradient(p.w)));
  zero_gradients(parameters(p.w));
  backward(sum(grown(grown(tanh(p.w)))));
  CHECK(elements(finish(gradient(p.w))) == gradient_of_spilled);
}

TEST_CASE("a value that is written while it leaves keeps what was written, and is stale") {
  if (boost::mpi::communicator{}.size() != 1) return;
  one_process p;
  auto h       = tanh(p.w);
  auto z       = spill(grown, h);
  h.local()(0) = 7;  // it is leaving
  auto y       = spill(grown, z);
  CHECK(elements(h)[0] == 7);
  z.local()(0) = 8;
  auto const x = spill(grown, tanh(y));
  z.local()(1) = 9;  // it is away
  CHECK((elements(z)[0] == 8 && elements(z)[1] == 9));
  CHECK_THROWS_AS(backward(sum(x)), stale_value);
  CHECK((p.m.tape_is_empty() && p.m.spilled().last == nullptr && p.m.spilled().leaving == nullptr));
}

TEST_CASE("an exception in a spilled function, or in the backward pass, drops its scope") {
  if (boost::mpi::communicator{}.size() != 1) return;
  one_process p;
  extent const before = p.m.live_bytes();
  {
    auto const h     = spill(grown, tanh(p.w));
    auto const fails = [&](auto const& x) {
      auto const inner = spill(grown, x);
      if (inner.needs_gradient()) throw software_error("in the middle");
      return inner;
    };
    CHECK_THROWS_AS(spill(fails, h), software_error);
    CHECK(p.m.spilled().open == nullptr);
    auto const thrown = spill(
        [](auto const& x) {
          auto const again = [](auto const& y) {
            if (y.machine().recomputes()) throw software_error("in the backward pass");
            return exp(y);
          };
          return recompute(again, x);
        },
        h);
    CHECK_THROWS_AS(backward(sum(thrown)), software_error);
  }
  CHECK(p.m.live_bytes() == before);
  CHECK((p.m.tape_is_empty() && p.m.spilled().last == nullptr && p.m.spilled().leaving == nullptr));
  // and again, as if nothing had been
  backward(sum(spill(grown, tanh(p.w))));
  zero_gradients(parameters(p.w));
}

TEST_CASE("spill keeps nothing where no gradient is wanted") {
  if (boost::mpi::communicator{}.size() != 1) return;
  one_process p;
  {
    no_gradient const guard{p.m};
    CHECK(!spill(grown, p.w).needs_gradient());
  }
  CHECK(!spill(grown, stop_gradient(p.w)).needs_gradient());
  CHECK(p.m.tape_is_empty());
}

TEST_CASE("in steady state the file does not grow, and the pool takes no block") {
  if (boost::mpi::communicator{}.size() != 1) return;
  one_process p;
  p.m.spill_from(64 * 1024);
  parameter<double, alone, batch, hidden> w{p.m, normal{1}};
  p.m.spill_from(1);
  auto const step = [&] {
    tensor<double, alone, batch, hidden> h = tanh(w);
    for (int i = 0; i < 50; ++i) {
      auto next = spill(grown, h * 0.1);
      h         = std::move(next);
    }
    backward(sum(h));
    zero_gradients(parameters(w));
  };
  step();
  int const blocks  = p.m.memory().blocks();
  extent const file = p.m.spill_file_bytes();
  for (int i = 0; i < 5; ++i) step();
  CHECK(p.m.memory().blocks() == blocks);
  CHECK(p.m.spill_file_bytes() == file);
  CHECK(file > 0);
}
