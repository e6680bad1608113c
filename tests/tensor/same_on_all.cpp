// A number by which all processes decide alike: what the first process has, wherever it comes from.
// test: program ops2
#include <array>
#include <csignal>
#include <cstdint>
#include <limits>

#include <meshtf/runtime/stop_on_signal.hpp>

#include "../layout_fixture.hpp"

using namespace fixture;

TEST_CASE(
    "a loop ends on all processes after the same iteration, and the price is that of the iterations that "
    "are named") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> w{m, constant{1}};
    auto x = w * 1;
    // 128, 32, 8, 2, 1/2
    for (int turn = 0; same_on_all(sum(square(x)), turn < 4 ? 2 : 0) > 1; ++turn) x = x * 0.5;
    see(x);
    auto const loss = sum(x);
    backward(loss);
    see(finish(gradient(w)));
    see(loss * same_on_all(m, 3));
  });
}

// also where the search for layouts is included, whose meshes have axes that it has yet to choose
static_assert(joining_axes<mesh<>> == 0 && joining_axes<mesh<axis<1>>> == 0);

TEST_CASE("a mesh without axes is one process, which asks nobody") {
  process_mesh<mesh<>> m{MPI_COMM_SELF};
  CHECK(same_on_all(m, 3) == 3);
}

TEST_CASE("another number of iterations than the price assumes is seen") {
  if (boost::mpi::communicator{}.size() != 2) return;
  auto& m            = processes<pair>();
  auto const program = []<Layout L>(machine<L>& on, int priced) {
    parameter<double, L, batch, hidden> w{on, constant{1}};
    auto x = w * 1;
    for (int turn = 0; same_on_all(sum(square(x)), turn < priced ? 2 : 0) > 1; ++turn) x = x * 0.5;
  };
  using how = decltype(program);
  constexpr auto promised =
      dry_run<fixture::model>([]<Layout L>(machine<L>& on) { how{}.template operator()<L>(on, 4); }).calls();
  constexpr auto fewer =
      dry_run<fixture::model>([]<Layout L>(machine<L>& on) { how{}.template operator()<L>(on, 3); }).calls();
  auto const counted = recorded<fixture::model>(m, [&]<Layout L>(machine<L>& on) {
                         program.template operator()<L>(on, 0);
                       }).calls();
  CHECK(counted == promised);
  CHECK(counted != fewer);
}

TEST_CASE("all get the number of the first process, to the last bit") {
  under_each_layout([]<Layout L> {
    auto& m        = processes<typename L::mesh_type>();
    auto const own = static_cast<int>(m.rank());
    CHECK(same_on_all(m, own + 5) == 5);
    CHECK(same_on_all(m, std::int64_t{own} << 40) == 0);
    CHECK(same_on_all(m, own == 0));
    CHECK(same_on_all(m, 1 + own * std::numeric_limits<double>::epsilon()) == 1);
    CHECK(same_on_all(m, 0.25F + static_cast<float>(own)) == 0.25F);
    tensor<double, L> x{m};
    *x.data() = 7 + own;
    CHECK(same_on_all(x, 0) == 7);
    tensor<bfloat16, L> narrow{m};
    *narrow.data() = static_cast<bfloat16>(1.5F + static_cast<float>(own));
    CHECK(static_cast<float>(same_on_all(narrow, static_cast<bfloat16>(0.0F))) == 1.5F);
  });
}

namespace {

/// Decides by the largest of the numbers 1 to 8, in the type of the result of `F`.
template<class F>
struct decides {
  template<Layout L>
  constexpr auto operator()(machine<L>& m) const {
    auto const largest = max(iota<std::int32_t, L, batch>(m) + 1);
    return same_on_all(F{}(largest), 1);
  }
};

template<Layout L, class F>
void check_broadcasts(F, double expected, extent broadcasts) {
  constexpr auto promised = [] {
    auto const cost = dry_run<L>(decides<F>{});
    return std::array{cost.calls(), cost.template calls<collective::broadcast>()};
  }();
  auto& m            = processes<typename L::mesh_type>();
  auto const counted = recorded<L>(m, decides<F>{});
  CHECK(promised == std::array{counted.calls(), counted.template calls<collective::broadcast>()});
  CHECK(promised[1] == broadcasts);
  CHECK(static_cast<double>(decides<F>{}.template operator()<L>(m)) == expected);
}

}  // namespace

TEST_CASE("of an integer or a bool that all decide by nothing is sent, of a float one number") {
  under_each_layout([]<Layout L> {
    extent const one = L::mesh_type::size == 1 ? 0 : 1;
    check_broadcasts<L>([](auto const& x) { return x; }, 8, 0);
    check_broadcasts<L>([](auto const& x) { return cast<std::int64_t>(x); }, 8, 0);
    check_broadcasts<L>([](auto const& x) { return greater(x, 7); }, 1, 0);
    check_broadcasts<L>([](auto const& x) { return cast<float>(greater(x, 7)); }, 1, one);
  });
}

TEST_CASE("a signal that one process gets stops all after the same step, for one number in a price") {
  under_each_layout([]<Layout L> {
    using mesh_type = typename L::mesh_type;
    auto& m         = processes<mesh_type>();
    stop_on_signal const stop;
    CHECK_FALSE(stop_wanted(m));  // the answer of the training before is forgotten
    if (m.rank() == m.world().size() - 1) std::raise(SIGUSR1);
    CHECK(stop_wanted(m));
    CHECK(stop_wanted(m));  // asked once, for the rest of the training

    constexpr auto promised = dry_run<L>([]<Layout U>(machine<U>& on) { stop_wanted(on); });
    auto const counted      = recorded<L>(m, []<Layout U>(machine<U>& on) { stop_wanted(on); });
    CHECK(counted.calls() == promised.calls());
    CHECK(promised.calls() == (m.world().size() == 1 ? 0 : 1));
  });
}
