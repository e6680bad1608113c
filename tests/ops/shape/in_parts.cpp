// flip, far shifts and rolls, slice and pad along split dimensions, where parts go to other processes.
// test: processes 1 2 3 4 6
#include <meshtf/ops/shape/flip.hpp>
#include <meshtf/ops/shape/pad.hpp>
#include <meshtf/ops/shape/shift.hpp>

#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

// over four processes, all have parts of three; the last part of nine is empty
struct twelve : dim<12> {};
struct eleven : dim<11> {};
struct ten : dim<10> {};
struct nine : dim<9> {};
struct some : up_to<12> {};

template<class M, class... Axes>
struct over : layout<M, split<twelve, Axes...>, padded<eleven, Axes...>, padded<ten, Axes...>,
                     padded<nine, Axes...>, padded<some, Axes...>> {};

struct on_one : over<single, solo> {};
struct on_two : over<pair, line> {};
struct on_three : over<by_three, third> {};
struct on_four : over<two_by_two, cols, rows> {};
struct on_six : over<by_six, rows, third> {};
struct with_batch : layout<two_by_two, split<batch, rows>, split<twelve, cols>, padded<eleven, cols>> {};

constexpr auto flips = [](auto const& x, auto const& y) {
  return std::tuple{flip<twelve>(x), flip<twelve>(tanh(y))};
};
constexpr auto shifts = [](auto const& x, auto const& y) {
  return std::tuple{shift<twelve>(x, 7),       shift<twelve>(x, -4),     shift<twelve>(x, 11, 1.5),
                    shift<twelve>(x, -6, 2.5), shift<twelve>(x, 40),     shift<twelve>(x, -12),
                    roll<twelve>(tanh(x), 5),  roll<twelve>(x, -6),      shift<eleven>(y, 4),
                    shift<eleven>(y, -5),      shift<eleven>(y, 9, 0.5), shift<eleven>(tanh(y), -7, -1.)};
};
// from 12 to 11 and back, the parts of any number of processes correspond
constexpr auto slices = [](auto const& x, auto const& y) {
  return std::tuple{slice<twelve, eleven>(x, 1),    slice<twelve, eleven>(tanh(x), 0),
                    slice<twelve, twelve>(x, 0),    pad<eleven, twelve>(y, 1),
                    pad<eleven, twelve>(y, 0, 1.5), pad<eleven, twelve>(tanh(y), 1, 2.5)};
};
constexpr auto far_slices = [](auto const& x, auto const& y) {
  return std::tuple{slice<twelve, nine>(x, 3), slice<twelve, nine>(x, 2), slice<twelve, ten>(x, 1),
                    pad<nine, twelve>(y, 3), pad<nine, eleven>(y, 1, .5)};
};

template<class L, class F, class... S>
void check_values(F const&) {
  using values = operation<double, std::remove_const_t<F>, drawn{}, S...>;
  check_under<L>(values{}, run<alone>(values{}), 1e-12);
}

template<class F, class... S>
void check(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_values<on_one, F, S...>(f); break;
    case 2: check_values<on_two, F, S...>(f); break;
    case 3: check_values<on_three, F, S...>(f); break;
    case 4: check_values<on_four, F, S...>(f); break;
    case 6: check_values<on_six, F, S...>(f); break;
    default: FAIL("there are no such processes");
  }
}

}  // namespace

TEST_CASE("a flip of equal parts: each goes to the opposite process, and the middle one stays") {
  check<decltype(flips), shape<in, twelve>, shape<twelve, key>>(flips);
}

TEST_CASE("shift and roll by more than a part, of equal and of unequal parts") {
  check<decltype(shifts), shape<in, twelve>, shape<eleven, key>>(shifts);
}

TEST_CASE("slice and pad between dimensions with parts of one size") {
  check<decltype(slices), shape<in, twelve>, shape<eleven, key>>(slices);
}

TEST_CASE("slice and pad by whole parts, one of which is empty", "[4]") {
  check_values<on_four, decltype(far_slices), shape<in, twelve>, shape<nine, key>>(far_slices);
}

TEST_CASE("other dimensions may be split too, and partial sums stay partial", "[4]") {
  check_values<with_batch, decltype(flips), shape<batch, twelve>, shape<twelve, batch>>(flips);
  check_values<with_batch, decltype(slices), shape<batch, twelve>, shape<eleven, batch>>(slices);
  constexpr auto f = []<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, twelve> w{m, normal{1}};
    auto const s = partial_einsum<twelve>(random_normal<double, L, batch>(m, {.seed = 2}), w);
    auto const z = finish(slice<twelve, eleven>(flip<twelve>(shift<twelve>(s, 7)), 1));
    see(z);
    backward(sum(z * z));
    see(finish(gradient(w)));
  };
  check_under<with_batch>(f, run<alone>(f), 1e-12);
}

TEST_CASE("far shifts of what is counted", "[4]") {
  auto& m = processes<two_by_two>();
  for (extent there : {12, 7, 4, 1}) {
    counted<some> const now{m, there};
    auto const x =
        from_global<int, on_four, some>(m, xt::xarray<int>(xt::arange<int>(1, static_cast<int>(there + 1))));
    for (extent by : {4, 6, -5, 30}) {
      INFO(there << " elements by " << by);
      auto const z = to_global(shift<some>(x, by, -1));
      for (extent i = 0; i < there; ++i)
        CHECK(z(static_cast<std::size_t>(i)) == (i - by >= 0 && i - by < there ? i - by + 1 : -1));
    }
  }
}

TEST_CASE("what they send", "[1]") {
  constexpr auto price = []<class F>(F) {
    return cost_summary{dry_run<on_four>([]<Layout L>(machine<L>& m) {
      tensor<float, L, in, twelve> const x{m};
      (void)F{}(x);
    })};
  };
  // a row has 6 elements, a part 3 rows
  constexpr cost_summary flipped = price([](auto const& x) { return flip<twelve>(x); });
  REQUIRE(flipped.count == 1);
  CHECK((flipped.calls[0].kind == collective::permute && flipped.calls[0].payload == 3 * 6 * 4 &&
         flipped.calls[0].sent == 3 * 6 * 4));
  constexpr cost_summary far = price([](auto const& x) { return shift<twelve>(x, 5); });
  REQUIRE(far.count == 2);
  CHECK((far.calls[0].kind == collective::neighbours && far.calls[0].payload == 1 * 6 * 4 &&
         far.calls[1].payload == 2 * 6 * 4));
  constexpr cost_summary by_parts = price([](auto const& x) { return shift<twelve>(x, -6); });
  CHECK((by_parts.count == 1 && by_parts.calls[0].payload == 3 * 6 * 4));
  constexpr cost_summary gone = price([](auto const& x) { return shift<twelve>(x, 12); });
  CHECK(gone.count == 0);
  constexpr cost_summary shorter = price([](auto const& x) { return slice<twelve, eleven>(x, 1); });
  CHECK((shorter.count == 1 && shorter.calls[0].kind == collective::neighbours &&
         shorter.calls[0].payload == 1 * 6 * 4));
  constexpr cost_summary first = price([](auto const& x) { return slice<twelve, eleven>(x, 0); });
  CHECK(first.count == 0);
}
