// 10 and 3 elements over 2 x 2 processes: parts of 3, 3, 3 and 1, in both orders of the axes, and of 1, 1, 1
// and none. Cuts whose blocks differ.
// test: processes 4
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct ten : dim<10> {};
struct three : dim<3> {};
struct seven : dim<7> {};

struct tens : layout<two_by_two, padded<ten, rows, cols>> {};
struct turned : layout<two_by_two, padded<ten, cols, rows>> {};
struct threes : layout<two_by_two, padded<three, cols, rows>> {};
struct two_cuts : layout<two_by_two, padded<seven, rows>, padded<three, cols>> {};
struct halves : layout<two_by_two, split<ten, rows>> {};

template<class... S, class F>
void check_each(F const& f) {
  using program               = operation<double, F, drawn{}, S...>;
  recorded_values const truth = run<alone>(program{});
  auto const under = [&]<class L>(std::type_identity<L>) { check_under<L>(program{}, truth, 1e-12); };
  under(std::type_identity<tens>{});
  under(std::type_identity<turned>{});
  under(std::type_identity<threes>{});
  under(std::type_identity<two_cuts>{});
  (void)f;
}

/// To a layout and back to whole; from 5 and 5 to 3, 3, 3 and 1 the dimension is whole in between.
template<class To>
struct there {
  template<class X>
  constexpr auto operator()(X const& x) const {
    if constexpr (std::is_same_v<layout_of<X>, alone>) return x * 2;
    else return reshard<To>(x) * 2;
  }
};

}  // namespace

TEST_CASE("products and sums over 10 and 3 elements") {
  check_each<shape<ten, seven>, shape<seven, three>>(
      [](auto const& x, auto const& w) { return einsum<ten, three>(x, w); });
  check_each<shape<ten, three>, shape<ten, seven>>(
      [](auto const& x, auto const& y) { return einsum<three, seven>(x, y); });
  check_each<shape<seven, ten, three>>(
      [](auto const& x) { return std::tuple{sum<ten>(x), mean<three>(x), softmax<ten>(x), sum<seven>(x)}; });
}

TEST_CASE("norms, look-ups and classes along 10 and 3 elements") {
  check_each<shape<seven, ten>, shape<ten>, shape<ten>>(
      [](auto const& x, auto const& s, auto const& b) { return layer_norm<ten>(x, s, b); });
  check_each<shape<three, seven>, shape<three>, shape<three>>(
      [](auto const& x, auto const& s, auto const& b) { return layer_norm<three>(x, s, b); });
  check_each<shape<ten, seven>>([](auto const& table) {
    using L        = typename std::remove_cvref_t<decltype(table)>::layout_type;
    auto const ids = iota<std::int32_t, L, three>(table.machine()) * 4;
    return gather<ten>(table, ids);
  });
  check_each<shape<seven, ten>>([](auto const& logits) {
    using L          = typename std::remove_cvref_t<decltype(logits)>::layout_type;
    auto const which = iota<std::int32_t, L, seven>(logits.machine()) + 3;
    return softmax_cross_entropy<ten>(logits, which);
  });
}

TEST_CASE("a dimension is cut into blocks of other sizes, and back") {
  using way  = operation<double, there<tens>, drawn{}, shape<ten, seven>>;
  using back = operation<double, there<halves>, drawn{}, shape<seven, ten>>;
  check_under<halves>(way{}, run<alone>(way{}), 1e-12);
  check_under<tens>(back{}, run<alone>(back{}), 1e-12);
  check_under<turned>(back{}, run<alone>(back{}), 1e-12);
  using around = operation<double, there<turned>, drawn{}, shape<ten, seven>>;
  check_under<tens>(around{}, run<alone>(around{}), 1e-12);
}
