// Counts known at run time: what a tensor is worth beyond its count, what a gradient is there, and what is
// refused.
// test: processes 1 2 3
#include <cmath>
#include <string>

#include "../layout_fixture.hpp"

using namespace meshtf;

namespace {

struct places : up_to<8> {};
struct others : up_to<8> {};
struct fixed : dim<8> {};
struct lines : dim<6> {};
struct width : dim<4> {};
struct half : dim<4> {};
struct by_two : layout<fixture::pair, split<places, fixture::line>> {};
struct by_three : layout<fixture::by_three, padded<places, fixture::third>> {};

template<class F>
void under_each(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<fixture::alone>(); break;
    case 2: f.template operator()<by_two>(); break;
    default: f.template operator()<by_three>(); break;
  }
}

template<class F>
std::string said_by(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return "nothing";
}

/// Learned positions of which sequences of different lengths use the first ones.
template<class T, class L, class Made, class Lengths>
std::vector<xt::xarray<T>> trained(machine<L>& m, Made const& made, Lengths const& lengths) {
  auto optimizer = made();
  parameter<T, L, places, width> positions{m, normal{1}};
  parameter<T, L, width> weights{m, normal{2}};
  std::vector<xt::xarray<T>> shown;
  for (extent n : lengths) {
    {
      counted<places> const guard{m, n};
      // an element's value does not depend on how many there are
      auto const data = random_normal<T, L, lines, places>(m, {.seed = 3});
      auto const x    = einsum<lines, width>(data, positions) * weights;
      auto const loss = sum(x * x);
      backward(loss);
      shown.push_back(to_global(loss));
    }
    shown.push_back(to_global(finish(gradient(positions))));
    optimizer.step(parameters(positions, weights));
  }
  shown.push_back(to_global(positions));
  return shown;
}

/// The same where positions beyond the length are multiplied by zeros.
template<class T, class Made, class Lengths>
std::vector<xt::xarray<T>> trained_with_zeros(Made const& made, Lengths const& lengths) {
  auto optimizer = made();
  auto& m        = fixture::processes<fixture::single>();
  parameter<T, fixture::alone, fixed, width> positions{m, normal{1}};
  parameter<T, fixture::alone, width> weights{m, normal{2}};
  std::vector<xt::xarray<T>> shown;
  for (extent n : lengths) {
    auto data = random_normal<T, fixture::alone, lines, fixed>(m, {.seed = 3});
    auto all  = data.local();
    for (extent i = 0; i < lines::size; ++i)
      for (extent k = n; k < fixed::size; ++k) all(i, k) = 0;
    auto const x    = einsum<lines, width>(data, positions) * weights;
    auto const loss = sum(x * x);
    backward(loss);
    shown.push_back(to_global(loss));
    shown.push_back(to_global(finish(gradient(positions))));
    optimizer.step(parameters(positions, weights));
  }
  shown.push_back(to_global(positions));
  return shown;
}

template<class T>
void near(std::vector<xt::xarray<T>> const& found, std::vector<xt::xarray<T>> const& truth) {
  REQUIRE(found.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    INFO("value number " << i);
    REQUIRE(found[i].size() == truth[i].size());
    int wrong = 0;
    for (std::size_t e = 0; e < truth[i].size(); ++e)
      wrong += !(std::abs(found[i].flat(e) - truth[i].flat(e)) <= 1e-12 * (1 + std::abs(truth[i].flat(e))));
    CHECK(wrong == 0);
  }
}

/// Two passes under different counts and a step: within the last guard, or after it.
template<class L, class Made>
xt::xarray<double> stepped(machine<L>& m, Made const& made, bool within) {
  auto optimizer = made();
  parameter<double, L, places, width> positions{m, normal{1}};
  auto const pass = [&](extent n, auto const& then) {
    counted<places> const guard{m, n};
    auto const x = einsum<lines, width>(random_normal<double, L, lines, places>(m, {.seed = 3}), positions);
    backward(sum(x * x));
    then();
  };
  auto const step = [&] { optimizer.step(parameters(positions)); };
  for (int i = 0; i < 2; ++i) {
    pass(8, [] {});
    pass(3, [&] {
      if (within) step();
    });
    if (!within) step();
  }
  return to_global(positions);
}

template<class L>
std::vector<double> norms(machine<L>& m, bool within) {
  parameter<double, L, places, width> positions{m, normal{1}};
  auto const list = parameters(positions);
  {
    auto const x = einsum<lines, width>(random_normal<double, L, lines, places>(m, {.seed = 3}), positions);
    backward(sum(x * x));
  }
  std::vector<double> found;
  {
    counted<places> const guard{m, within ? 3 : 8};
    found.push_back(to_global(global_norm(list)).flat(0));
    found.push_back(to_global(clip_by_global_norm(list, 0.5)).flat(0));
    found.push_back(to_global(global_norm(list)).flat(0));
  }
  return found;
}

struct step_under_a_count {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<double, L, places, width> positions{m};
    counted<places> const guard{m, 3};
    tensor<double, L, lines, places> const data{m};
    auto const x    = einsum<lines, width>(data, positions);
    auto const loss = mean(softmax<width>(x) * x);
    backward(loss);
    positions.zero_gradient();
  }
};

}  // namespace

TEST_CASE(
    "sequences of different lengths train the positions that they have, and the gradient of the others is "
    "zero") {
  under_each([]<Layout L>() {
    auto& m = fixture::processes<typename L::mesh_type>();
    for (auto const& lengths : {std::vector<extent>{8, 3, 8}, std::vector<extent>{5, 1, 7}}) {
      auto const same = [&](auto const& made) {
        near(trained<double, L>(m, made, lengths), trained_with_zeros<double>(made, lengths));
      };
      same([] { return adamw{0.1, 0.01}; });
      same([] { return sgd{0.1f}; });
      same([] {
        adamw clipped{0.1, 0.01};
        clipped.max_norm = 0.5, clipped.shard_state = true;
        return clipped;
      });
    }
  });
}

TEST_CASE("a step under a count is that of all elements: a parameter keeps them") {
  under_each([]<Layout L>() {
    auto& m         = fixture::processes<typename L::mesh_type>();
    auto const same = [&](auto const& made) {
      near<double>({stepped<L>(m, made, true)}, {stepped<L>(m, made, false)});
    };
    same([] { return lamb{0.1, 0.01}; });
    same([] { return lamb{0.1, 0.01, 0.9, 0.999, 0}; });
    same([] { return lars{1, 0.1}; });
    same([] { return adamw{0.1, 0.01}; });
    same([] { return averaged<adamw>{0.5, 0.1}; });
    same([] { return sgd{0.1f}; });
    same([] {
      adafactor factored{0.1};
      factored.least_factored = 2;
      return factored;
    });
    same([] {
      adamw clipped{0.1, 0.01};
      clipped.max_norm = 0.5, clipped.shard_state = true;
      return clipped;
    });
    CHECK(norms<L>(m, true) == norms<L>(m, false));
  });
}

TEST_CASE("gradients under several counts add up, and are computed under the count of the forward pass") {
  under_each([]<Layout L>() {
    auto& m = fixture::processes<typename L::mesh_type>();
    parameter<double, L, places> w{m, constant{2}};
    auto const add = [&](extent n) {
      auto const loss = [&] {
        counted<places> const guard{m, n};
        return sum(w * w);
      }();
      backward(loss);  // outside the guard
    };
    add(3);
    add(8);
    add(5);
    auto const g         = to_global(finish(gradient(w)));
    constexpr int sums[] = {12, 12, 12, 8, 8, 4, 4, 4};
    for (std::size_t i = 0; i < 8; ++i) CHECK(g.flat(i) == sums[i]);
  });
}

TEST_CASE("a tensor is read under the count that it was made with, or a smaller one") {
  under_each([]<Layout L>() {
    auto& m = fixture::processes<typename L::mesh_type>();
    tensor<double, L, places> x{m};
    {
      counted<places> const guard{m, 3};
      x = iota<double, L, places>(m);
      CHECK(to_global(x).size() == 3);
      CHECK(to_global(sum(x)).flat(0) == 3);
      counted<places> const fewer{m, 2};
      CHECK(to_global(sum(x)).flat(0) == 1);
    }
    std::string const expected =
        "but its operand was made when there were 3: make it again under counted<places>";
    CHECK(said_by([&] { (void)sum(x); }).find("reads 8 elements of places, " + expected) !=
          std::string::npos);
    CHECK(said_by([&] { (void)to_global(x); }).find(expected) != std::string::npos);
    counted<places> const guard{m, 3};
    CHECK(to_global(sum(x)).flat(0) == 3);

    counted<others> const two{m, 2};
    CHECK(to_global(rename<places, others>(x)).size() == 2);
    counted<others> const four{m, 4};
    CHECK(said_by([&] { (void)rename<places, others>(x); }).find("reads 4 elements of places") !=
          std::string::npos);
  });
}

TEST_CASE("a parameter keeps what is not counted") {
  under_each([]<Layout L>() {
    auto& m = fixture::processes<typename L::mesh_type>();
    counted<places> const guard{m, 3};
    parameter<double, L, places> w{m, constant{2}};  // all of it
    w = iota<double, L, places>(m);
    counted<places> const all{m, 8};
    auto const now = to_global(w);
    for (std::size_t i = 0; i < 8; ++i) CHECK(now.flat(i) == (i < 3 ? static_cast<double>(i) : 2));
  });
}

TEST_CASE("nothing may be there") {
  under_each([]<Layout L>() {
    auto& m = fixture::processes<typename L::mesh_type>();
    parameter<double, L, places, width> w{m, normal{1}};
    counted<places> const none{m, 0};
    auto const loss = sum(square(w));
    CHECK(to_global(loss).flat(0) == 0);
    backward(loss);
    CHECK(to_global(w).size() == 0);
    counted<places> const all{m, 8};
    auto const g = to_global(finish(gradient(w)));
    for (std::size_t i = 0; i < g.size(); ++i) CHECK(g.flat(i) == 0);
  });
}

TEST_CASE("a count outside the room is refused") {
  auto& m = fixture::processes<fixture::single>();
  CHECK(said_by([&] { counted<places> const guard{m, 9}; }) ==
        "counted<places> expects 0 to 8 elements, for which places has room, got 9: declare struct places : "
        "meshtf::up_to<N> with the most there may be");
  CHECK(said_by([&] { counted<places> const guard{m, -1}; }).find("got -1") != std::string::npos);
  CHECK(m.counted_number() == 0);
}

TEST_CASE("what is counted is promised and counted alike") {
  under_each([]<Layout L>() {
    static constexpr fixture::cost_summary promised{dry_run<L>(step_under_a_count{})};
    fixture::compare(
        promised,
        fixture::cost_summary{recorded<L>(fixture::processes<typename L::mesh_type>(), step_under_a_count{})},
        std::string{name_of<L>()});
  });
}
