// slicewise: a function on the shards gives what it gives on the whole, under every layout that splits what
// may be split.
// test: processes 1 2 3 4 6 10
#include <stdexcept>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// z[i, j] = x[i, j]^2 y[i], where j is never split; written with loops, so that it serves views of any type.
struct square_times {
  static constexpr extent flops = 2;
  template<class Z, class X, class Y>
  void operator()(Z&& z, X const& x, Y const& y) const {
    for (std::size_t i = 0; i < z.shape(0); ++i)
      for (std::size_t j = 0; j < z.shape(1); ++j) z(i, j) = x(i, j) * x(i, j) * y(i);
  }
};
struct slope_of_square {
  template<class DX, class DZ, class X, class Y>
  void operator()(DX&& dx, DZ const& dz, X const& x, Y const& y) const {
    for (std::size_t i = 0; i < dx.shape(0); ++i)
      for (std::size_t j = 0; j < dx.shape(1); ++j) dx(i, j) = 2 * dz(i, j) * x(i, j) * y(i);
  }
};

template<class X, class Y>
constexpr auto squared(X const& x, Y const& y) {
  return slicewise<shape<batch, in>, splittable<batch>>(
      square_times{},
      [](auto const& dz, auto const& a, auto const& b) {
        return std::tuple{slicewise<shape<batch, in>, splittable<batch, hidden>>(slope_of_square{}, dz, a, b),
                          einsum<batch>(dz, a * a)};
      },
      x, y);
}

struct line_up : layout<pair, split<batch, line>> {};
template<class Out, class Split, class... X>
using asked = slicewise_verdict<line_up, Out, Split, X...>;
static_assert(is_legal<asked<shape<batch, in>, splittable<batch>, shape<batch, in>>>);
static_assert(is_legal<asked<shape<in>, splittable<>, shape<out, in>>>);
static_assert(std::same_as<asked<shape<batch, in>, splittable<in>, shape<batch, in>>,
                           function_needs_whole_dim<batch, axes<line>>>);
static_assert(std::same_as<asked<shape<in>, splittable<batch>, shape<batch, in>>,
                           result_lacks_split_dim<batch, axes<line>>>);
static_assert(std::same_as<asked<shape<in, in>, splittable<>, shape<in>>, dim_appears_twice<in>>);

constexpr cost_summary priced{dry_run<line_up>([]<Layout L>(machine<L>& m) {
  tensor<float, L, batch, in> const x{m};
  tensor<float, L, batch> const y{m};
  m.start_over();
  (void)slicewise<shape<batch, in>, splittable<batch>>(square_times{}, x, y);
})};
static_assert(priced.elementwise == 2 * 4 * 6 && priced.touched == 4 * (2 * 4 * 6 + 4) && priced.count == 0);

}  // namespace

TEST_CASE("slicewise of literal numbers: loops of one's own") {
  if (!on_one_process()) return;
  auto const x = stop_gradient(literal<duo, trio>({{1, 2, 3}, {4, 5, 6}}));
  auto const y = stop_gradient(literal<duo>({1, 10}));
  auto const z = slicewise<shape<duo, trio>, splittable<duo>>(square_times{}, x, y);
  CHECK(numbers_of(z) == list{1, 4, 9, 160, 250, 360});
}

TEST_CASE("slicewise with a gradient, also where processes hold unequally much or nothing") {
  check_operation<shape<batch, in>, shape<batch>>([](auto const& x, auto const& y) { return squared(x, y); });
}

TEST_CASE("slicewise without a gradient is data, of any element type") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, in> x{m, normal{1}};
    auto const signs = slicewise<shape<in, batch>, splittable<batch>, int>(
        [](auto&& z, auto const& a) {
          for (std::size_t i = 0; i < z.shape(0); ++i)
            for (std::size_t j = 0; j < z.shape(1); ++j) z(i, j) = a(j, i) > 0 ? 1 : -1;
        },
        x);
    see(signs);
  });
}

TEST_CASE("what leaves the function of slicewise says where") {
  auto& m = processes<single>();
  tensor<double, alone, in> const x{m};
  auto const call = [&] {
    (void)slicewise<shape<in>, splittable<>>(
        [](auto&&, auto const&) { throw std::runtime_error{"no plan for 6 points"}; }, x);
  };
  CHECK_THROWS_AS(call(), software_error);
  CHECK_THROWS_WITH(call(), "the function of slicewise threw: no plan for 6 points");
  auto const ours = [&] {
    (void)slicewise<shape<in>, splittable<>>([](auto&&, auto const&) { throw usage_error{"as it is"}; }, x);
  };
  CHECK_THROWS_AS(ours(), usage_error);
}
