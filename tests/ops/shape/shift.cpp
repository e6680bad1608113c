// shift and roll along whole and split dimensions, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct rest : up_to<5> {};
struct some : up_to<11> {};
struct by_some : layout<two_by_two, padded<some, rows, cols>> {};

/// f(x), where `D` is whole if the layout cuts it into unequal parts.
template<class D, class X, class F>
constexpr auto along(X const& x, F const& f) {
  using L = layout_of<X>;
  if constexpr (is_uneven<L, shape<D>>) return reshard<L>(f(reshard<typename targets_of<L>::whole>(x)));
  else return f(x);
}

}  // namespace

TEST_CASE("shift and roll of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = shift<quartet>(x, 1);
  backward(sum(z));
  CHECK(numbers_of(z) == list{0, 1, 2, 3});
  CHECK(slopes_of(x) == list{1, 1, 1, 0});
  CHECK(numbers_of(shift<quartet>(x, -2, 9.)) == list{3, 4, 9, 9});
  CHECK(numbers_of(roll<quartet>(x, 1)) == list{4, 1, 2, 3});
}

TEST_CASE("shift and roll of whole dimensions, by any distance") {
  check_operation<shape<in, hidden>, shape<batch, in>>([](auto const& x, auto const& y) {
    return std::tuple{shift<in>(x, 2), shift<in>(y, -5), shift<in>(y, 7), shift<in>(x, 1, 2.5),
                      roll<in>(x, 1),  roll<in>(y, -8),  shift<in>(y, 0)};
  });
}

TEST_CASE("shift of split dimensions: the edges go to the processes next to them") {
  check_operation<shape<in, hidden, length>, shape<batch, in>>([](auto const& x, auto const& y) {
    return std::tuple{shift<hidden>(x, 2), shift<hidden>(x, -1, 1.5), shift<length>(x, 1),
                      shift<batch>(y, -1), shift<batch>(y, 1, 2.0)};
  });
}

TEST_CASE("shift of unequal parts, by as much as they have room for", "[3][10]") {
  constexpr auto by_hidden = [](auto const& x) {
    return std::tuple{shift<hidden>(x, 2), shift<hidden>(x, -2, 1.5), shift<hidden>(x, -1)};
  };
  constexpr auto by_batch = [](auto const& x) {
    return std::tuple{shift<batch>(x, -3), shift<batch>(x, 3), shift<batch>(x, -2, 2)};
  };
  using over_hidden = operation<double, std::remove_const_t<decltype(by_hidden)>, drawn{}, shape<in, hidden>>;
  using over_batch  = operation<double, std::remove_const_t<decltype(by_batch)>, drawn{}, shape<batch, in>>;
  if (boost::mpi::communicator{}.size() == 10)
    check_under<sparse_heads>(over_hidden{}, run<alone>(over_hidden{}), 1e-12);
  else check_under<thirds>(over_batch{}, run<alone>(over_batch{}), 1e-12);
}

TEST_CASE("shift of what is counted, over 4 processes", "[4]") {
  auto& m = processes<two_by_two>();
  for (extent there : {11, 9, 6, 5, 1}) {
    counted<some> const now{m, there};
    auto const x = from_global<double, by_some, some>(
        m, xt::xarray<double>(xt::arange<double>(1, static_cast<double>(there + 1))));
    for (extent by : {1, 3, -1, -2, -3}) {
      INFO(there << " elements by " << by);
      auto const z = to_global(shift<some>(x, by, -1));
      for (extent i = 0; i < there; ++i)
        CHECK(z(static_cast<std::size_t>(i)) ==
              (i - by >= 0 && i - by < there ? static_cast<double>(i - by + 1) : -1.0));
    }
  }
}

TEST_CASE("roll of split dimensions, also by whole parts, and the shorter way around") {
  check_operation<shape<in, hidden>, shape<left, in>>([](auto const& x, auto const& y) {
    auto const over_hidden = [](auto const& v) {
      // named: compilers choose which operand of * comes first
      auto const forward = roll<hidden>(v, 4);
      auto const back    = roll<hidden>(v, 15);
      return forward * back;
    };
    return std::tuple{along<hidden>(x, over_hidden),
                      along<left>(tanh(y), [](auto const& v) { return roll<left>(v, -9); })};
  });
}

TEST_CASE("shift in single precision, of integers, and of partial sums") {
  check_operation_in_float<shape<in, hidden>>([](auto const& x) { return shift<hidden>(x, 3); });
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(shift<length>(iota<int, L, length>(m), 1, -1));
    auto const x = random_normal<double, L, length, hidden>(m, {.seed = 1});
    auto const y = random_normal<double, L, hidden, in>(m, {.seed = 2});
    see(finish(shift<length>(partial_einsum<length, in>(x, y), 1)));
  });
}

TEST_CASE("one row to the process next to it is one message, and one for the gradient", "[1]") {
  constexpr cost_summary sends{dry_run<fixture::data>([]<Layout L>(machine<L>& m) {
    parameter<double, L, batch, in> x{m};
    auto const y    = tanh(shift<batch>(tanh(x), 1));
    auto const loss = sum<batch, in>(y);
    backward(loss);
  })};
  REQUIRE(sends.count == 3);
  CHECK(sends.calls[0].kind == collective::neighbours);
  CHECK(sends.calls[0].payload == 6 * 8);
  CHECK(sends.calls[0].sent == 6 * 8);
  CHECK(sends.calls[1].kind == collective::all_reduce);
  CHECK(sends.calls[2].kind == collective::neighbours);
}

TEST_CASE("a roll of what is counted goes around those that there are", "[1]") {
  auto& m = processes<single>();
  counted<rest> const three{m, 3};
  auto const z = roll<rest>(iota<int, alone, rest>(m), 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(z.local()(i) == static_cast<int>(i + 2) % 3);
}
