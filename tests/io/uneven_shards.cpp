// What processes hold unequally much of, as the outside sees it: views, text and whole arrays have held elements only.
//
// test: processes 3 6
#ifndef MESHTF_POISON
#define MESHTF_POISON  // padding is NaN, or -1
#endif
#include <meshtf/meshtf.hpp>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

// clang-format off
struct four  : dim<4> {};
struct five  : dim<5> {};
struct six   : dim<6> {};
struct seven : dim<7> {};

struct rows   : axis<2> {};
struct thirds : axis<3> {};
struct by_three : mesh<thirds> {};
struct by_six   : mesh<rows, thirds> {};

struct parts  : layout<by_three, padded<seven, thirds>, padded<four, thirds>> {};                       // 3 + 3 + 1, 2 + 2 + 0
struct both   : layout<by_six, padded<seven, thirds>, padded<five, rows>, padded<four, thirds, rows>> {};  // 3 + 2, and one each for four of six
struct copies : layout<by_six, padded<five, thirds>, padded<four, thirds>> {};                          // 2 + 2 + 1, on each row
struct joined : layout<by_six, padded<seven, thirds, rows>> {};                                         // 2 + 2 + 2 + 1 + 0 + 0
struct even   : layout<by_three, split<six, thirds>> {};
// clang-format on

/// The processes in groups of the size of the mesh; every group does the same.
template<Mesh M>
process_mesh<M>& group_of() {
  static auto* const m = [] {
    boost::mpi::communicator const world;
    return new process_mesh<M>{world.split(world.rank() / int{M::size})};
  }();
  return *m;
}

/// 0, 1, 2 ... in the order of the whole.
template<class T, Dimension... D>
xt::xarray<T> whole_of() {
  auto whole = xt::xarray<T>::from_shape({static_cast<std::size_t>(D::size)...});
  std::iota(whole.begin(), whole.end(), T{});
  return whole;
}
template<class T, class L, class... D>
tensor<T, L, D...> counted_up() {
  return from_global<T, L, D...>(group_of<typename L::mesh_type>(), whole_of<T, D...>());
}

template<class X>
std::string shown(X const& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

/// Everything that may be done with a view, against the whole array.
template<class L, class... D>
void check_view() {
  INFO(name_of<L>() << " " << placement_text(counted_up<double, L, D...>()));
  auto& m             = group_of<typename L::mesh_type>();
  auto const whole    = whole_of<double, D...>();
  auto x              = counted_up<double, L, D...>();
  constexpr auto dims = placed_dims<L, shape<D...>>;
  auto const held     = held_extents(dims, m.place());
  CHECK((to_global(x) == whole));

  std::vector<double> mine;
  for_each_run(dims, m.place(), [&](extent, extent at, extent n) { mine.insert(mine.end(), whole.begin() + at, whole.begin() + at + n); });
  auto const seen = std::as_const(x).local();
  REQUIRE(
      std::equal(seen.shape().begin(), seen.shape().end(), held.begin(), held.end(), [](auto a, extent b) { return static_cast<extent>(a) == b; }));
  CHECK(seen.size() == mine.size());
  CHECK(std::vector<double>(seen.begin(), seen.end()) == mine);
  CHECK(xt::sum(seen)() == std::accumulate(mine.begin(), mine.end(), 0.0));
  xt::xarray<double> const kept = seen;
  CHECK(std::vector<double>(kept.begin(), kept.end()) == mine);
  if (!mine.empty()) {
    auto shape = seen.shape();
    shape[0]   = 3;  // a dimension of one index is repeated, as of any array
    if (held[0] == 1 || held[0] == 3) {
      xt::xarray<double> const spread = xt::zeros<double>(shape) + seen;
      for (std::size_t i = 0; i < spread.size(); ++i) CHECK(spread.flat(i) == mine[i % mine.size()]);
    }
  }

  auto const version = x.handle()->version();
  for (double& e : x.local()) e += 1;
  CHECK(x.handle()->version() != version);
  CHECK((to_global(x) == whole + 1));
  x.local() *= 2;
  CHECK((to_global(x) == 2 * whole + 2));
  x.local() = kept;
  CHECK((to_global(x) == whole));
  x.local().fill(7);
  CHECK((to_global(x) == xt::full_like(whole, 7)));
  // integers, and two tensors that are alike
  CHECK((to_global(counted_up<std::int32_t, L, D...>()) == whole_of<std::int32_t, D...>()));
  auto const y = counted_up<double, L, D...>();
  x.local()    = y.local() + y.local();
  CHECK((to_global(x) == 2 * whole));
}

}  // namespace

TEST_CASE("local() shows what a process holds, and steps over padding") {
  check_view<parts, seven>();
  check_view<parts, four>();
  check_view<parts, six, seven>();
  check_view<parts, seven, six>();
  check_view<parts, six, four, five>();
  if (boost::mpi::communicator{}.size() == 6) {
    check_view<both, seven, five>();
    check_view<both, five, six, seven>();
    check_view<both, four, six>();
    check_view<copies, six, five>();
    check_view<joined, six, seven>();
  }
  // where all hold the same, the view is what it always was
  using view = decltype(kernel::xtensor_view(static_cast<double*>(nullptr), std::array<extent, 2>{}));
  static_assert(std::is_same_v<decltype(counted_up<double, even, six, five>().local()), view>);
}

TEST_CASE("<< shows what a process holds") {
  auto const x           = counted_up<float, parts, six, seven>();
  auto const y           = counted_up<int, parts, four, five>();
  auto const z           = counted_up<int, parts, four>();
  std::string const type = "tensor<float, parts, six, seven> six 0-5 of 6, seven ";
  switch (group_of<by_three>().rank()) {
    case 0:
      CHECK(shown(x) == type + "0-2 of 7: {{0, 1, 2}, {7, 8, 9}, {14, 15, 16}, {21, 22, 23}, {28, 29, 30}, {35, 36, 37}}");
      CHECK(shown(z) == "tensor<int32, parts, four> four 0-1 of 4: {0, 1}");
      break;
    case 1: CHECK(shown(y) == "tensor<int32, parts, four, five> four 2-3 of 4, five 0-4 of 5: {{10, 11, 12, 13, 14}, {15, 16, 17, 18, 19}}"); break;
    default:
      CHECK(shown(x) == type + "6 of 7: {{6}, {13}, {20}, {27}, {34}, {41}}");
      CHECK(shown(y) == "tensor<int32, parts, four, five> four none of 4, five 0-4 of 5: {}");
      CHECK(shown(z) == "tensor<int32, parts, four> four none of 4: {}");
  }
  struct many : dim<20> {};
  auto const w = counted_up<int, parts, many, seven>();
  if (group_of<by_three>().rank() == 1) CHECK(shown(w).ends_with(": 3, 4, 5, 10, 11, 12, 17, 18 ... (60 elements)"));
}

TEST_CASE("print shows the whole, without padding") {
  std::ostringstream out;
  print(counted_up<int, parts, seven>(), out);
  if (group_of<by_three>().rank() == 0) CHECK(out.str() == "int32 [seven=7 over thirds]\n{0, 1, 2, 3, 4, 5, 6}\n");
}
