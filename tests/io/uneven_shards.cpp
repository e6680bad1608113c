// What processes hold unequally much of, as the outside sees it: views, text, whole arrays, agreement and
// checkpoints have local elements only.
//
// test: processes 3 6
#ifndef MESHTF_POISON
#define MESHTF_POISON  // padding is NaN, or -1
#endif
#include <meshtf/meshtf.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include "../catch.hpp"
#include "folder.hpp"

using namespace meshtf;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

// clang-format off
struct four  : dim<4> {};
struct five  : dim<5> {};
struct six   : dim<6> {};
struct seven : dim<7> {};

struct solo   : axis<1> {};
struct line   : axis<2> {};
struct rows   : axis<2> {};
struct thirds : axis<3> {};
struct single   : mesh<solo> {};
struct pair     : mesh<line> {};
struct by_three : mesh<thirds> {};
struct by_six   : mesh<rows, thirds> {};

struct alone  : layout<single> {};
struct halved : layout<pair, split<six, line>> {};
// 3 + 3 + 1, 2 + 2 + 0
struct parts  : layout<by_three, padded<seven, thirds>, padded<four, thirds>> {};
// 3 + 2, and one each for four of six
struct both   : layout<by_six, padded<seven, thirds>, padded<five, rows>, padded<four, thirds, rows>> {};
// 2 + 2 + 1, on each row
struct copies : layout<by_six, padded<five, thirds>, padded<four, thirds>> {};
// 2 + 2 + 2 + 1 + 0 + 0
struct joined : layout<by_six, padded<seven, thirds, rows>> {};
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

/// f.operator()<L>() under the layouts whose processes divide those of this run.
template<class F>
void under_all_layouts(F const& f) {
  int const n = boost::mpi::communicator{}.size();
  f.template operator()<alone>();
  if (n % 2 == 0) f.template operator()<halved>();
  f.template operator()<parts>();
  if (n % 6 == 0) {
    f.template operator()<both>();
    f.template operator()<copies>();
    f.template operator()<joined>();
  }
}

/// Everything that may be done with a view, against the whole array.
template<class L, class... D>
void check_view() {
  INFO(name_of<L>() << " " << placement_text(counted_up<double, L, D...>()));
  auto& m             = group_of<typename L::mesh_type>();
  auto const whole    = whole_of<double, D...>();
  auto x              = counted_up<double, L, D...>();
  constexpr auto dims = placed_dims<L, shape<D...>>;
  auto const local    = local_extents(dims, m.place());
  CHECK((to_global(x) == whole));

  std::vector<double> mine;
  for_each_run(dims, m.place(), [&](extent, extent at, extent n) {
    mine.insert(mine.end(), whole.begin() + at, whole.begin() + at + n);
  });
  auto const seen = std::as_const(x).local();
  REQUIRE(std::equal(seen.shape().begin(), seen.shape().end(), local.begin(), local.end(),
                     [](auto a, extent b) { return static_cast<extent>(a) == b; }));
  CHECK(seen.size() == mine.size());
  CHECK(std::vector<double>(seen.begin(), seen.end()) == mine);
  CHECK(xt::sum(seen)() == std::accumulate(mine.begin(), mine.end(), 0.0));
  xt::xarray<double> const kept = seen;
  CHECK(std::vector<double>(kept.begin(), kept.end()) == mine);
  if (!mine.empty()) {
    auto shape = seen.shape();
    shape[0]   = 3;  // a dimension of one index is repeated, as of any array
    if (local[0] == 1 || local[0] == 3) {
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

/// Whatever is not local becomes NaN, found without the code that is tested.
template<class T, class M>
void spoil_padding(process_mesh<M>& m, detail::kept_array<T, M> const& array, bool all) {
  std::vector<bool> held_here(static_cast<std::size_t>(array.parts.size));
  for_each_run(array.dims, m.place(),
               [&](extent local, extent, extent n) { std::fill_n(held_here.begin() + local, n, !all); });
  extent const first = m.rank_along(array.parts.over) * array.parts.part();
  for (extent i = 0; i < array.parts.part(); ++i)
    if (first + i >= array.parts.size || !held_here[static_cast<std::size_t>(first + i)])
      array.data->data()[i] = std::numeric_limits<T>::quiet_NaN();
}

template<Layout L>
struct model {
  parameter<double, L, seven, five> w;
  parameter<float, L, six, seven> f;
  parameter<double, L, four> b;
  parameter<double, L> t;
  adam opt{0.1};

  explicit model(machine<L>& m, bool sharded)
      : w{m, normal{1}}, f{m, normal{2}}, b{m, normal{3}}, t{m, constant{0.5}} {
    opt.shard_state = sharded;
    opt.prepare(list());
  }
  auto list() { return meshtf::parameters(named("w", w), named("f", f), named("b", b), named("t", t)); }
  void step() {
    backward(sum(square(w)) + sum(square(b)) + square(t));
    backward(sum(square(f)));
    opt.step(list());
  }
  void spoil(bool all) {
    auto const arrays = detail::kept_arrays_of(list(), opt);
    arrays.for_each([&](auto const& array) { spoil_padding(w.machine(), array, all); });
  }
};

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
      CHECK(shown(x) ==
            type +
                "0-2 of 7: {{0, 1, 2}, {7, 8, 9}, {14, 15, 16}, {21, 22, 23}, {28, 29, 30}, {35, 36, 37}}");
      CHECK(shown(z) == "tensor<int32, parts, four> four 0-1 of 4: {0, 1}");
      break;
    case 1:
      CHECK(shown(y) ==
            "tensor<int32, parts, four, five> four 2-3 of 4, five 0-4 of 5: {{10, 11, 12, 13, 14}, {15, 16, "
            "17, 18, 19}}");
      break;
    default:
      CHECK(shown(x) == type + "6 of 7: {{6}, {13}, {20}, {27}, {34}, {41}}");
      CHECK(shown(y) == "tensor<int32, parts, four, five> four none of 4, five 0-4 of 5: {}");
      CHECK(shown(z) == "tensor<int32, parts, four> four none of 4: {}");
  }
  struct many : dim<20> {};
  auto const w = counted_up<int, parts, many, seven>();
  if (group_of<by_three>().rank() == 1)
    CHECK(shown(w).ends_with(": 3, 4, 5, 10, 11, 12, 17, 18 ... (60 elements)"));
}

TEST_CASE("print shows the whole, without padding") {
  std::ostringstream out;
  print(counted_up<int, parts, seven>(), out);
  if (group_of<by_three>().rank() == 0)
    CHECK(out.str() == "int32 [seven=7 over thirds]\n{0, 1, 2, 3, 4, 5, 6}\n");
}

TEST_CASE("replicas agree whatever their padding is, and disagree about held elements", "[6]") {
  auto& m      = group_of<by_six>();
  auto const x = counted_up<double, copies, six, five>();
  auto const y = counted_up<double, copies, four>();
  if (m.coordinate<rows>() == 1) {  // elsewhere it has the bits of another NaN
    detail::kept_array<double, by_six> const array{
        "", placed_dims<copies, shape<six, five>>, 0, x.handle(), {.size = x.size}, 0, nullptr};
    spoil_padding(m, array, false);
  }
  model<copies> net{m, false};
  m.agree("x", x);
  m.agree("y", y);
  m.agree(net.list());
  m.agree(x);

  auto z = counted_up<double, copies, six, five>();
  // the last third holds one of two: element 4 of its part, 8 of its storage
  if (m.rank() == 5) z.local()(4, 0) = -1;
  CHECK_THROWS_WITH(
      m.agree("z", z),
      Catch::Contains(
          "the processes hold the same part of z, and it differs: element 4 of the part is 24 on process 2 "
          "and -1 on process 5"));
}

TEST_CASE("what a padded layout saves any other loads, and saves the same bytes") {
  files::folder const folder;
  std::string const original = folder / "original";
  {  // one process, a model that has been trained
    model<alone> net{group_of<single>(), false};
    for (int i = 0; i < 2; ++i) net.step();
    if (boost::mpi::communicator{}.rank() == 0) save(net.list(), net.opt, {2, 21}, original, as_file);
    boost::mpi::communicator{}.barrier();
  }
  std::string const saved = files::read(original + "/step-00000002.safetensors");
  REQUIRE(saved.size() > 1000);
  CHECK(saved.find("not_finite") == saved.npos);
  safetensors_reader const file{original + "/step-00000002.safetensors"};
  CHECK(file.header().arrays.at("w").extents == std::vector<extent>{7, 5});
  CHECK(file.header().arrays.at("optimizer.second.f").extents == std::vector<extent>{6, 7});

  int number = 0;
  under_all_layouts([&]<Layout L> {
    for (bool sharded : {false, true}) {
      INFO("under " << name_of<L>() << (sharded ? ", sharded" : ""));
      auto& m = group_of<typename L::mesh_type>();
      model<L> net{m, sharded};
      net.spoil(true);
      CHECK(load(net.list(), net.opt, original) == training_position{2, 21});
      std::string const to =
          folder / (std::to_string(++number) + "." +
                    std::to_string(boost::mpi::communicator{}.rank() / int{L::mesh_type::size}));
      net.spoil(false);
      save(net.list(), net.opt, {2, 21}, to + "parts", {.in_parts = true});
      net.spoil(true);
      CHECK(load(net.list(), net.opt, to + "parts") == training_position{2, 21});
      net.spoil(false);
      save(net.list(), net.opt, {2, 21}, to, as_file);
      m.world().barrier();
      CHECK(files::read(to + "/step-00000002.safetensors") == saved);
      auto const whole = to_global(net.f);
      CHECK(file.read<float>("f") == std::vector<float>(whole.begin(), whole.end()));
      boost::mpi::communicator{}.barrier();
    }
  });
}

TEST_CASE("after load training under a padded layout goes on with the same bits") {
  files::folder const folder;
  int number = 0;
  under_all_layouts([&]<Layout L> {
    for (bool sharded : {false, true}) {
      INFO("under " << name_of<L>() << (sharded ? ", sharded" : ""));
      auto& m = group_of<typename L::mesh_type>();
      std::string const path =
          folder / (std::to_string(++number) + "." +
                    std::to_string(boost::mpi::communicator{}.rank() / int{L::mesh_type::size}));
      model<L> net{m, sharded};
      model<L> resumed{m, sharded};
      for (int i = 0; i < 2; ++i) net.step();
      save(net.list(), net.opt, {2, 0}, path, as_file);
      resumed.spoil(true);
      load(resumed.list(), resumed.opt, path);
      for (int i = 0; i < 2; ++i) {
        net.step();
        resumed.step();
      }
      CHECK((to_global(net.w) == to_global(resumed.w)));
      CHECK((to_global(net.f) == to_global(resumed.f)));
      CHECK((to_global(net.b) == to_global(resumed.b)));
      CHECK((to_global(net.t) == to_global(resumed.t)));
      boost::mpi::communicator{}.barrier();
    }
  });
}

TEST_CASE("a user's function is never called with padding") {
  auto const watch = []<Layout L, class... D>() {
    int calls          = 0;
    int strange        = 0;
    auto const counted = [&](double v) { return ++calls, strange += v == v ? 0 : 1, 2 * v; };
    auto const slope   = [&](double v) { return strange += v == v ? 0 : 1, 2.0; };
    parameter<double, L, D...> x{group_of<typename L::mesh_type>(), normal{1}};
    auto const z = map(counted, slope, x);
    backward(sum(z));
    CHECK(strange == 0);
    CHECK(calls == static_cast<int>(std::as_const(x).local().size()));
    CHECK((to_global(z) == 2 * to_global(x)));
    CHECK((to_global(finish(gradient(x))) == xt::full_like(to_global(x), 2.0)));
  };
  watch.template operator()<parts, six, seven>();
  watch.template operator()<parts, four, six>();
  if (boost::mpi::communicator{}.size() == 6) watch.template operator()<both, five, six, seven>();
}

TEST_CASE("a held element that is not finite is found, wherever it is") {
  files::folder const folder;
  auto& m = group_of<by_three>();
  for (bool sharded : {false, true}) {
    model<parts> net{m, sharded};
    net.spoil(false);
    auto const arrays = [&] { return detail::kept_arrays_of(net.list(), net.opt); };
    CHECK(detail::not_finite_in(m, arrays()) == "");
    // the last element of the last process
    if (m.rank() == 2) net.f.local()(5, 0) = std::numeric_limits<float>::infinity();
    CHECK(detail::not_finite_in(m, arrays()) == "f");
    if (m.rank() == 1) net.w.local()(0, 4) = std::numeric_limits<double>::quiet_NaN();
    CHECK(detail::not_finite_in(m, arrays()) == "w");
  }
}
