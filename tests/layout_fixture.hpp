// The layout fixture: runs a program under eleven layouts, some with sizes that do not divide, and compares
// each run with one process. (A short run takes two or three of them for each file: see tried_here.)
//
// A complete test of an operation:
//
//   #include "../layout_fixture.hpp"
//   using namespace fixture;
//
//   TEST_CASE("the product of two tensors") {
//     check_operation<shape<batch, in>, shape<in, hidden>>(
//         [](auto const& x, auto const& w) { return einsum<batch, hidden>(x, w); });
//   }
//
// The operands are parameters with normal values. Under each layout that has as many processes as the test
// runs on, the result and the gradients must be those of one process, and under one layout of each
// kind (in long runs: under all) the counted cost must be the promised one. On one process the gradients are
// compared with finite differences too. `check_program(f)` does the same for a program
// `f.operator()<L>(machine, see)`, which shows its values by `see(x)`. Each process computes the truth
// itself, on a mesh of its own with one process, and compares its local elements.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/meshtf.hpp>

#include "catch.hpp"

namespace fixture {

using namespace meshtf;

// ---- dimensions. `in` and `out` are whole everywhere; hidden = heads x key = group x member = plain_group x
// plain_member

struct batch : dim<8> {};
struct length : dim<4> {};
struct memory : dim<4> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct out : dim<8> {};
struct vocab : dim<8> {};
struct heads : dim<8> {};
struct key : dim<2> {};
struct group : dim<4> {};
struct member : dim<4> {};
struct plain_group : dim<4> {};
struct plain_member : dim<4> {};
struct left : dim<8> {};  // left, right and even are renamed to one another
struct right : dim<8> {};
struct even : dim<8> {};

// ---- meshes and layouts

struct solo : axis<1> {};
struct line : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct wide : axis<4> {};
struct planes : axis<2> {};

struct single : mesh<solo> {};
struct pair : mesh<line> {};
struct two_by_two : mesh<rows, cols> {};
struct two_by_four : mesh<rows, wide> {};
struct two_cubed : mesh<planes, rows, cols> {};

struct alone : layout<single> {};
struct data : layout<pair, split<batch, line>, split<right, line>> {};
struct model : layout<pair, split<hidden, line>, split<vocab, line>, split<heads, line>, split<member, line>,
                      split<left, line>, split<even, line>> {};
struct mixed
    : layout<two_by_two, split<batch, rows>, split<hidden, cols>, split<vocab, cols>, split<heads, cols>,
             split<member, cols>, split<left, rows>, split<even, rows>, split<right, cols>> {};
struct tall
    : layout<two_by_two, split<hidden, cols, rows>, split<vocab, cols, rows>, split<heads, cols, rows>,
             split<member, rows>, split<left, cols, rows>, split<even, cols, rows>, split<right, cols>> {};
struct mixed8
    : layout<two_by_four, split<batch, rows>, split<hidden, wide>, split<vocab, wide>, split<heads, wide>,
             split<member, wide>, split<left, wide>, split<even, wide>, split<right, rows>> {};
struct spread : layout<two_by_four, split<batch, rows, wide>, split<left, rows, wide>,
                       split<even, rows, wide>, split<right, rows>> {};
struct solid : layout<two_cubed, split<batch, planes>, split<length, rows>, split<hidden, cols>,
                      split<vocab, cols>, split<heads, cols>, split<member, cols>, split<left, planes>,
                      split<even, planes>, split<right, rows, cols>> {};

// Sizes that do not divide: processes hold unequally much, or nothing. On ten processes 8 elements are in
// parts of one, and two processes have none.
struct third : axis<3> {};
struct fifth : axis<5> {};
struct by_three : mesh<third> {};
struct by_five : mesh<fifth> {};
struct by_six : mesh<rows, third> {};
struct by_ten : mesh<rows, fifth> {};

struct thirds : layout<by_three, padded<batch, third>, padded<right, third>> {};
struct crossed : layout<by_six, split<batch, rows>, padded<heads, third>, padded<vocab, third>,
                        padded<left, rows, third>, padded<even, third>> {};
struct sparse_batch
    : layout<by_ten, padded<batch, rows, fifth>, padded<left, fifth, rows>, padded<right, rows>> {};
struct sparse_heads : layout<by_ten, padded<hidden, fifth>, padded<heads, fifth>, padded<vocab, fifth, rows>,
                             padded<left, rows, fifth>, padded<even, rows, fifth>> {};

// With MESHTF_LONG_ZOO: mixed8, axes in another order, and sizes that do not divide next to others that do;
// processes with none of parts of several elements.
struct fifths : layout<by_five, padded<hidden, fifth>, padded<vocab, fifth>, padded<heads, fifth>,
                       padded<left, fifth>, padded<even, fifth>> {};
struct sixths : layout<by_six, padded<batch, rows, third>, padded<left, third, rows>, padded<right, rows>> {};
struct mixed_across
    : layout<two_by_two, split<batch, cols>, split<hidden, rows>, split<vocab, rows>, split<heads, rows>,
             split<member, rows>, split<left, cols>, split<even, cols>, split<right, rows>> {};
struct mixed8_across
    : layout<two_by_four, split<batch, wide>, split<hidden, rows>, split<vocab, rows>, split<heads, rows>,
             split<member, rows>, split<left, rows>, split<even, rows>, split<right, wide>> {};
struct batch_by_five : layout<by_five, padded<batch, fifth>, padded<right, fifth>> {};

// Where values are resharded to.
struct whole1 : layout<single> {};
struct whole2 : layout<pair> {};
struct whole4 : layout<two_by_two> {};
struct whole8 : layout<two_by_four> {};
struct wholec : layout<two_cubed> {};
struct out2 : layout<pair, split<out, line>> {};
struct out4 : layout<two_by_two, split<batch, rows>, split<out, cols>> {};
struct tall4 : layout<two_by_two, split<out, cols, rows>> {};
struct out8 : layout<two_by_four, split<batch, rows>, split<out, wide>> {};
struct outc : layout<two_cubed, split<batch, planes>, split<out, rows>> {};
struct whole3 : layout<by_three> {};
struct whole5 : layout<by_five> {};
struct whole6 : layout<by_six> {};
struct out3 : layout<by_three, padded<out, third>> {};
struct out5 : layout<by_five, padded<out, fifth>> {};
struct out6 : layout<by_six, padded<out, third>, split<batch, rows>> {};
struct whole10 : layout<by_ten> {};
struct out10 : layout<by_ten, padded<out, fifth>, split<batch, rows>> {};
struct out4_across : layout<two_by_two, split<batch, cols>, split<out, rows>> {};
struct out8_across : layout<two_by_four, split<batch, wide>, split<out, rows>> {};
struct turnc : layout<two_cubed, split<batch, planes, cols>, split<length, rows>> {};

/// `whole`: nothing is split. `exchanged`: batch and hidden are split otherwise. `scattered`: out is split
/// over axes that split hidden in L.
template<class Whole, class Exchanged, class Scattered>
struct targets {
  using whole     = Whole;
  using exchanged = Exchanged;
  using scattered = Scattered;
};
template<class L>
struct targets_of;
template<> struct targets_of<alone> : targets<whole1, whole1, whole1> {};
template<> struct targets_of<data> : targets<whole2, model, out2> {};
template<> struct targets_of<model> : targets<whole2, data, out2> {};
template<> struct targets_of<mixed> : targets<whole4, tall, out4> {};
template<> struct targets_of<tall> : targets<whole4, mixed, tall4> {};
template<> struct targets_of<mixed8> : targets<whole8, spread, out8> {};
template<> struct targets_of<spread> : targets<whole8, mixed8, out8> {};
template<> struct targets_of<solid> : targets<wholec, turnc, outc> {};
template<> struct targets_of<thirds> : targets<whole3, out3, out3> {};
template<> struct targets_of<fifths> : targets<whole5, out5, out5> {};
template<> struct targets_of<sixths> : targets<whole6, crossed, out6> {};
template<> struct targets_of<crossed> : targets<whole6, sixths, out6> {};
template<> struct targets_of<sparse_batch> : targets<whole10, sparse_heads, out10> {};
template<> struct targets_of<sparse_heads> : targets<whole10, sparse_batch, out10> {};
template<> struct targets_of<mixed_across> : targets<whole4, mixed, out4_across> {};
template<> struct targets_of<mixed8_across> : targets<whole8, mixed8, out8_across> {};
template<> struct targets_of<batch_by_five> : targets<whole5, out5, out5> {};

/// The layout of a tensor, without its dryness.
template<class X>
using layout_of = actual<typename X::layout_type>;

// ---- what a program shows

/// Elements of a tensor by their global index. A process knows its local elements.
struct recorded_value {
  std::vector<double> value;
  std::vector<char> known;
};

class recorded_values {
public:
  std::vector<recorded_value> all;

  template<class T>
  void add(T const* shard, std::span<placed const> dims, std::span<extent const> coordinates,
           std::span<extent const> axis_sizes) {
    extent size = 1;
    for (placed const& d : dims) size *= d.size;
    recorded_value s{std::vector<double>(static_cast<std::size_t>(size)),
                     std::vector<char>(static_cast<std::size_t>(size))};
    for_each_run(dims, first_indices(dims, {coordinates, axis_sizes}),
                 [&](extent local, extent at, extent n) {
                   for (extent i = 0; i < n; ++i) {
                     s.value[static_cast<std::size_t>(at + i)] = static_cast<double>(shard[local + i]);
                     s.known[static_cast<std::size_t>(at + i)] = 1;
                   }
                 });
    all.push_back(std::move(s));
  }
};

/// Records the values that a program shows; in the compiler, and while the cost is counted, it records
/// nothing.
struct value_recorder {
  recorded_values* seen = nullptr;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...> const& x) const {
    if constexpr (!is_dry<L>)
      if (seen != nullptr)
        seen->add(x.data(), placed_dims<L, shape<D...>>, x.machine().coordinates(),
                  axis_sizes<typename L::mesh_type>);
  }
  template<class... X>
  constexpr void operator()(std::tuple<X...> const& x) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((*this)(std::get<I>(x)), ...);
    }(std::index_sequence_for<X...>{});
  }
};

inline double largest(std::vector<double> const& v) {
  double found = 0;
  for (double x : v)
    found = std::isfinite(x) ? std::max(found, std::abs(x)) : std::numeric_limits<double>::infinity();
  return found;
}

/// Are the elements that we know those of the truth, within `tolerance` of its largest?
inline void compare(recorded_values const& ours, recorded_values const& truth, double tolerance,
                    std::string const& where) {
  INFO("under " << where);
  REQUIRE(ours.all.size() == truth.all.size());
  for (std::size_t n = 0; n < truth.all.size(); ++n) {
    auto const& x = ours.all[n];
    auto const& t = truth.all[n];
    INFO("value number " << n << " that the program shows, of " << t.value.size() << " elements");
    REQUIRE(x.value.size() == t.value.size());
    double const scale = largest(t.value);
    REQUIRE(std::isfinite(scale));
    double worst   = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.value.size(); ++i)
      if (double const error = std::abs(x.value[i] - t.value[i]); x.known[i] != 0 && !(error <= worst)) {
        worst = error;
        at    = i;
      }
    INFO("element " << at << ": got " << x.value[at] << ", one process has " << t.value[at]);
    CHECK(worst <= tolerance * scale);
  }
}

// ---- prices

/// A cost with few calls: a constant that the compiler hands to the test is written into the program, and
/// `cost` has thousands of entries.
struct cost_summary {
  static constexpr std::size_t max_calls = 240;
  struct call_summary {
    collective kind{};
    reduction op{};
    element type{};
    axis_set over                                                              = 0;
    extent count                                                               = 0;
    extent payload                                                             = 0;
    extent sent                                                                = 0;
    friend constexpr bool operator==(call_summary const&, call_summary const&) = default;
  };
  std::array<call_summary, max_calls> calls{};
  std::size_t count  = 0;
  extent flops       = 0;
  extent elementwise = 0;
  extent touched     = 0;
  extent parameters  = 0;
  extent peak        = 0;
  extent live        = 0;
  extent spilled     = 0;

  template<class Cost>
  constexpr explicit cost_summary(Cost const& cost)
      : flops(cost.flops()),
        elementwise(cost.elementwise_flops()),
        touched(cost.bytes_touched()),
        parameters(cost.parameter_bytes()),
        peak(cost.peak_bytes()),
        live(cost.live_bytes()),
        spilled(cost.bytes_spilled()) {
    // not `collectives()`: with -D_GLIBCXX_DEBUG g++ makes no span of a temporary's array
    cost.for_each_collective([this](auto const& c, extent) {
      calls[count++] = {c.kind, c.op, c.type, c.over, c.count, c.payload, c.sent};
    });
  }
};

inline void compare(cost_summary const& promised, cost_summary const& counted, std::string const& where) {
  INFO("the price under " << where);
  CHECK(promised.count == counted.count);
  for (std::size_t i = 0; i < std::min(promised.count, counted.count); ++i) {
    INFO("call " << i << ": promised " << to_string(promised.calls[i].kind) << " of "
                 << promised.calls[i].count << " over " << promised.calls[i].over << ", counted "
                 << to_string(counted.calls[i].kind) << " of " << counted.calls[i].count << " over "
                 << counted.calls[i].over);
    CHECK(promised.calls[i] == counted.calls[i]);
  }
  CHECK(promised.flops == counted.flops);
  CHECK(promised.elementwise == counted.elementwise);
  CHECK(promised.touched == counted.touched);
  CHECK(promised.parameters == counted.parameters);
  CHECK(promised.peak == counted.peak);
  CHECK(promised.live == counted.live);
  CHECK(promised.spilled == counted.spilled);
}

// ---- running a program

/// It is never destroyed: MPI is down when static objects die.
template<Mesh M>
process_mesh<M>& processes() {
  static auto* const m = new process_mesh<M>{M::size == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD};
  return *m;
}

template<class F>
struct shown_to {
  F f;
  value_recorder see{};

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    f.template operator()<L>(m, see);
  }
};

template<Layout L, class F>
recorded_values run(F const& f) {
  recorded_values seen;
  f.template operator()<L>(processes<typename L::mesh_type>(), value_recorder{&seen});
  return seen;
}

/// What the compiler promises. It is no consteval function: clang, which sees in a template the value of a
/// consteval function as a variable's initializer, evaluates it twice.
template<Layout L, class F>
constexpr cost_summary promised_cost() {
  return cost_summary{dry_run<L>(shown_to<F>{F{}})};
}

/// The layouts under which the promised price is compared: a dry run takes the compiler nearly half of the
/// time, so unless tests are long, a file has one of them.
template<class L>
inline constexpr bool is_priced = true;
#ifndef MESHTF_LONG_ZOO
template<> inline constexpr bool is_priced<alone>  = false;
template<> inline constexpr bool is_priced<data>   = false;
template<> inline constexpr bool is_priced<model>  = false;
template<> inline constexpr bool is_priced<thirds> = false;
template<> inline constexpr bool is_priced<spread> = false;
#endif

template<Layout L, class F>
void check_under(F const& f, recorded_values const& truth, double tolerance) {
  std::string const name{name_of<L>()};
  compare(run<L>(f), truth, tolerance, name);
  if constexpr (is_priced<L>) {
    static constexpr cost_summary promised = promised_cost<L, F>();
    compare(promised, cost_summary{recorded<L>(processes<typename L::mesh_type>(), shown_to<F>{f})}, name);
  }
}

/// Which layouts a translation unit tries: all of them in long runs. Otherwise one process and a sixth of the
/// others, and the next files of tests have the rest (tests/CMakeLists.txt). Each sixth has a mesh of two
/// axes or more, and over all of them each layout is tried by every sixth file.
enum class layouts_tried { all, first, second, third, fourth, fifth, sixth };
#if defined MESHTF_LONG_ZOO || !defined MESHTF_LAYOUT_SIXTH
inline constexpr layouts_tried tried_here = layouts_tried::all;
#else  // not inline: translation units differ
constexpr layouts_tried tried_here = static_cast<layouts_tried>(MESHTF_LAYOUT_SIXTH);
#endif

/// f.operator()<L>() under the layouts of `Tried` that have as many processes as run this test.
template<layouts_tried Tried = tried_here, class F>
void under_each_layout(F const& f) {
#ifdef MESHTF_LONG_ZOO
  switch (boost::mpi::communicator{}.size()) {
    case 4: f.template operator()<mixed_across>(); break;
    case 5:
      f.template operator()<batch_by_five>();
      f.template operator()<fifths>();
      return;
    case 6: f.template operator()<sixths>(); break;
    case 8:
      f.template operator()<mixed8>();
      f.template operator()<mixed8_across>();
      break;
    default: break;
  }
#endif
  auto const under = [&]<Layout L, layouts_tried Sixth> {
    if constexpr (Tried == Sixth || Tried == layouts_tried::all) f.template operator()<L>();
  };
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(); break;
    case 2:
      under.template operator()<data, layouts_tried::first>();
      under.template operator()<model, layouts_tried::second>();
      break;
    case 3: under.template operator()<thirds, layouts_tried::third>(); break;
    case 4:
      under.template operator()<tall, layouts_tried::fourth>();
      under.template operator()<mixed, layouts_tried::fifth>();
      break;
    case 6: under.template operator()<crossed, layouts_tried::second>(); break;
    case 8:
      under.template operator()<solid, layouts_tried::third>();
      under.template operator()<spread, layouts_tried::sixth>();
      break;
    case 10:
      under.template operator()<sparse_batch, layouts_tried::first>();
      under.template operator()<sparse_heads, layouts_tried::sixth>();
      break;
    default:
      FAIL("the layout fixture has layouts of 1 to 4, 6, 8 and 10 processes; with MESHTF_LONG_TESTS also 5");
  }
}

/// `f.operator()<L>(machine, see)` under the same layouts.
template<class F>
void check_program(F const& f, double tolerance = 1e-12) {
  recorded_values const truth = run<alone>(f);
  under_each_layout([&]<Layout L> {
    if constexpr (!requires { F::template tried<L>(); }) check_under<L>(f, truth, tolerance);
    else if constexpr (F::template tried<L>()) check_under<L>(f, truth, tolerance);
  });
}

/// The same under two layouts only, for further element types.
template<class F>
void check_program_under_two(F const& f, double tolerance) {
  recorded_values const truth = run<alone>(f);
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_under<alone>(f, truth, tolerance); break;
    case 2: check_under<model>(f, truth, tolerance); break;
    case 4: check_under<mixed>(f, truth, tolerance); break;
    default: break;
  }
}

// ---- operations

template<class T, class L, class S>
struct parameter_of_shape;
template<class T, class L, class... D>
struct parameter_of_shape<T, L, shape<D...>> : std::type_identity<parameter<T, L, D...>> {};

template<class T, class L, class... D>
tensor<T, L, D...> tensor_of(parameter<T, L, D...>);
template<class T, class L, class S>
using tensor_of_shape = decltype(tensor_of(std::declval<typename parameter_of_shape<T, L, S>::type>()));

/// A fixed pseudo-random number for each element.
template<class T, class L, class... D>
constexpr auto probe_sum(tensor<T, L, D...> const& z, std::uint64_t stream) {
  auto const probe = random_normal<T, L, D...>(z.machine(), {.seed = 99, .stream = stream});
  return sum(z * probe);
}
template<class First, class... Rest>
constexpr auto probe_sum(std::tuple<First, Rest...> const& z, std::uint64_t) {
  auto total = probe_sum(std::get<0>(z), 1);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const add = [&](auto const& more) {
      auto sum = total + more;
      total    = std::move(sum);
    };
    (add(probe_sum(std::get<I + 1>(z), I + 2)), ...);
  }(std::index_sequence_for<Rest...>{});
  return total;
}

enum class operand { parameter, intermediate, data };

template<class T, class L, class... D>
constexpr tensor<T, L, D...> given_as(operand kind, parameter<T, L, D...> const& w) {
  if (kind == operand::intermediate) return tanh(w);
  if (kind == operand::data) return stop_gradient(w);
  return w;
}

/// Values of several types, which takes the compiler less than std::tuple.
template<std::size_t I, class T>
struct operand_pack_element {
  T value;
};
template<class Places, class... T>
struct operand_pack_of;
template<std::size_t... I, class... T>
struct operand_pack_of<std::index_sequence<I...>, T...> : operand_pack_element<I, T>... {
  template<class F>
  constexpr auto with(F const& f) {
    return f(static_cast<operand_pack_element<I, T>&>(*this).value...);
  }
  template<class F>
  constexpr auto with(F const& f) const {
    return f(static_cast<operand_pack_element<I, T> const&>(*this).value...);
  }
};
template<class... T>
using operand_pack = operand_pack_of<std::index_sequence_for<T...>, T...>;

/// Where the operands come from.
struct drawn {
  double mean   = 0;
  double stddev = 1;
};

/// Whether `L` splits a dimension of this shape, or of these results.
template<Layout L, class X>
constexpr bool splits = false;
template<Layout L, class... D>
constexpr bool splits<L, shape<D...>> = [] {
  bool any = false;
  for (placed const& d : placed_dims<L, shape<D...>>) any = any || d.parts > 1;
  return any;
}();
template<Layout L, class T, class M, class... D>
constexpr bool splits<L, tensor<T, M, D...>> = splits<L, shape<D...>>;
template<Layout L, class... X>
constexpr bool splits<L, std::tuple<X...>> = (splits<L, X> || ...);

/// f(x...) and its gradients, first of parameters, then of intermediate values in a second micro-batch; then
/// with each operand in turn as data.
template<class T, class F, drawn How, class... S>
struct operation {
  template<Layout L>
  using inputs = operand_pack<typename parameter_of_shape<T, L, S>::type...>;
  using every  = std::index_sequence_for<S...>;

  template<Layout L, std::size_t... I>
  static constexpr auto made(machine<L>& m, std::index_sequence<I...>) {
    return inputs<L>{{typename parameter_of_shape<T, L, S>::type{m, normal{I + 1, How.stddev, How.mean}}}...};
  }

  template<class Inputs, std::size_t... I>
  static constexpr auto loss_of(Inputs const& w, std::array<operand, sizeof...(S)> const& kinds,
                                value_recorder const& see, std::index_sequence<I...>) {
    return w.with([&]<class... P>(P const&... p) {
      operand_pack<decltype(given_as({}, p))...> const x{{given_as(kinds[I], p)}...};
      auto const z = x.with(F{});
      see(z);  // not the loss: where its local terms cancel, its error says nothing
      return probe_sum(z, 0);
    });
  }

  template<class Inputs>
  static constexpr void turn(Inputs& w, std::array<operand, sizeof...(S)> const& kinds,
                             value_recorder const& see) {
    auto const loss = loss_of(w, kinds, see, every{});
    backward(loss);
  }

  template<class Inputs>
  static constexpr void show_gradients(Inputs& w, value_recorder const& see) {
    w.with([&](auto const&... p) { (see(finish(gradient(p))), ...); });
  }

  static constexpr std::array<operand, sizeof...(S)> all(operand kind) {
    std::array<operand, sizeof...(S)> kinds{};
    kinds.fill(kind);
    return kinds;
  }

  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    auto w = made<L>(m, every{});
    turn(w, all(operand::parameter), see);
    show_gradients(w, see);
    turn(w, all(operand::intermediate), see);
    show_gradients(w, see);
    if constexpr (sizeof...(S) > 1)
      for (std::size_t i = 0; i < sizeof...(S); ++i) {
        w.with([](auto&... p) { (p.zero_gradient(), ...); });
        auto kinds = all(i % 2 == 0 ? operand::parameter : operand::intermediate);
        kinds[i]   = operand::data;
        turn(w, kinds, see);
        show_gradients(w, see);
      }
  }

  template<Layout L>
  using result = std::invoke_result_t<F, tensor_of_shape<T, L, S> const&...>;

  /// Whether the operation is to be tried under `L`. Where nothing of the operands and of the result is
  /// split, processes do what one alone does: `model` is enough for that.
  template<Layout L>
  static constexpr bool tried() {
    if constexpr (std::is_same_v<L, alone> || std::is_same_v<L, model> || (splits<L, S> || ...)) return true;
    else return splits<L, result<L>>;
  }

  /// The gradients of the first two turns against central differences: of some elements of each operand one
  /// by one, and of all of them at once in some directions, where each element moves up or down.
  static void check_differences() {
#ifdef MESHTF_LONG_ZOO
    constexpr extent one_by_one = 32;
#else
    constexpr extent one_by_one = 8;  // a wrong element shows in the directions, too
#endif
    constexpr int directions = 4;
    auto& m                  = processes<single>();
    auto w                   = made<alone>(m, every{});
    auto const f             = [&] {
      no_gradient const guard{m};
      double const first = static_cast<double>(loss_of(w, all(operand::parameter), {}, every{}).value());
      return first + static_cast<double>(loss_of(w, all(operand::intermediate), {}, every{}).value());
    };
    turn(w, all(operand::parameter), {});
    turn(w, all(operand::intermediate), {});
    int number = 0;
    std::mt19937 draws{1};
    w.with([&](auto&... p) {
      auto const one = [&](auto& x) {
        std::vector<double> found;
        std::vector<double> expected;
        auto const n    = static_cast<std::size_t>(x.size);
        auto const g    = finish(gradient(x));
        auto const here = std::vector<double>(x.data(), x.data() + n);
        std::vector<double> way(n);
        auto const look = [&] {
          auto const there = [&](double step) {
            for (std::size_t i = 0; i < n; ++i) x.data()[i] = here[i] + step * way[i];
            return f();
          };
          double const step = 1e-5;
          expected.push_back((there(step) - there(-step)) / (2 * step));
          found.push_back(std::inner_product(way.begin(), way.end(), std::as_const(g).data(), 0.0));
        };
        auto const apart = (n + one_by_one - 1) / one_by_one;
        for (std::size_t i = 0; i < n; i += apart) {
          way[i] = 1;
          look();
          way[i] = 0;
        }
        if (apart > 1)
          for (int i = 0; i < directions; ++i) {
            for (double& d : way) d = (draws() % 2 == 0 ? 1 : -1) / std::sqrt(static_cast<double>(n));
            look();
          }
        std::copy(here.begin(), here.end(), x.data());
        check_close(found, expected, number++);
      };
      (one(p), ...);
    });
  }

private:
  static void check_close(std::vector<double> const& found, std::vector<double> const& expected, int number) {
    INFO("the gradient of operand " << number << " against finite differences");
    double worst   = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (double const error = std::abs(found[i] - expected[i]); !(error <= worst)) {
        worst = error;
        at    = i;
      }
    INFO("derivative " << at << ": got " << found[at] << ", differences say " << expected[at]);
    CHECK(worst <= 1e-6 * std::max(largest(expected), 1.0));
  }
};

/// f(x...) of normal tensors of the shapes `S...` under every layout. F is a lambda without captures: the
/// compiler runs it too.
template<drawn How, class... S, class F>
void check_operation(F const&) {
  using program = operation<double, F, How, S...>;
  if (boost::mpi::communicator{}.size() == 1) program::check_differences();
  check_program(program{});
}
template<class... S, class F>
void check_operation(F const& f) {
  check_operation<drawn{}, S...>(f);
}

/// In single precision, under two layouts.
template<class... S, class F>
void check_operation_in_float(F const&) {
  check_program_under_two(operation<float, F, drawn{}, S...>{}, 1e-5);
}

}  // namespace fixture
