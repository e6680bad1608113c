// halo and windows: of whole and split dimensions, with every rule, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

#include <meshtf/ops/window.hpp>

using namespace fixture;

namespace {

struct two : dim<2> {};
struct three : dim<3> {};
struct five : dim<5> {};
struct four : dim<4> {};
struct half_in : dim<3> {};
struct wider : dim<7> {};

/// What this process has of `D`, the first dimension or the last, with `Before` elements more in front and
/// `After` after it; and the gradient of the sum of all squares: twice each element, as often as it was
/// handed out.
template<class D, extent Before, extent After, bool First, class L, class Other>
void check_halo() {
  auto& m       = processes<typename L::mesh_type>();
  using x_shape = std::conditional_t<First, shape<D, Other>, shape<Other, D>>;
  typename parameter_of_shape<double, L, x_shape>::type x{m, normal{1}};
  auto const h = halo<D, Before, After>(x);
  backward(sum(square(tanh(h))));
  auto const all             = to_global(x);
  auto const slopes          = to_global(finish(gradient(x)));
  constexpr placed d         = placed_under<L, D>;
  constexpr extent allocated = d.allocated_extent();
  constexpr extent wide      = Before + allocated + After;
  constexpr extent others    = Other::size;
  extent const part = place_in_mesh{m.coordinates(), axis_sizes<typename L::mesh_type>}.part_of(d.over);
  REQUIRE(shard_size<L, typename decltype(h)::shape_type> == wide * others);
  auto const at = [&](extent of, extent i, extent other) {
    return static_cast<std::size_t>(First ? i * others + other : other * of + i);
  };
  bool same = true;
  for (extent i = 0; i < wide; ++i)
    for (extent other = 0; other < others; ++other) {
      extent const g = part * allocated + i - Before;
      same           = same &&
             h.data()[at(wide, i, other)] == (g >= 0 && g < D::size ? all.data()[at(D::size, g, other)] : 0.);
    }
  CHECK(same);
  double worst = 0;
  for (extent g = 0; g < D::size; ++g)
    for (extent other = 0; other < others; ++other) {
      double const v   = all.data()[at(D::size, g, other)];
      double const t   = std::tanh(v);
      int const copies = 1 + (g >= allocated && g % allocated < After ? 1 : 0) +
                         (g / allocated + 1 < d.parts && g % allocated >= allocated - Before ? 1 : 0);
      worst = std::max(worst, std::abs(slopes.data()[at(D::size, g, other)] - 2 * copies * t * (1 - t * t)));
    }
  CHECK(worst < 1e-12);
}

}  // namespace

TEST_CASE("windows of literal numbers: of each three, with a zero at each end") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = windows<window<quartet, three>>(x);  // the first of each three, the second, the third
  backward(sum(z));
  CHECK(numbers_of(z) == list{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 0});
  CHECK(slopes_of(x) == list{2, 3, 3, 2});
}

TEST_CASE("halo: each part with the edges of those next to it, and zeros at the ends") {
  under_each_layout([]<Layout L> {
    INFO("under " << name_of<L>());
    check_halo<batch, 1, 0, true, L, in>();
    check_halo<batch, 0, 1, false, L, in>();
    check_halo<hidden, 2, 1, true, L, in>();
    check_halo<hidden, 1, 2, false, L, in>();
    check_halo<in, 2, 1, true, L, out>();
  });
}

TEST_CASE("halo of whole parts, of integers and partial sums", "[4]") {
  auto& m         = processes<two_by_two>();
  auto const ids  = halo<hidden, 4, 4>(iota<int, tall, hidden>(m));
  int const first = 4 * static_cast<int>(m.coordinate<cols>() * 2 + m.coordinate<rows>());
  for (int i = 0; i < 12; ++i)
    CHECK(ids.data()[i] == (first + i - 4 >= 0 && first + i - 4 < 16 ? first + i - 4 : 0));
  auto const x     = random_normal<double, mixed, batch, hidden>(m, {.seed = 1});
  auto const y     = random_normal<double, mixed, hidden, in>(m, {.seed = 2});
  auto const one   = finish(halo<batch, 1, 1>(partial_einsum<batch, in>(x, y)));
  auto const other = halo<batch, 1, 1>(einsum<batch, in>(x, y));
  CHECK(max(abs(one - other)).value() < 1e-12);
}

TEST_CASE("a halo is one message for each side, and as many in the backward pass", "[1]") {
  constexpr cost_summary sends{dry_run<fixture::data>([]<Layout L>(machine<L>& m) {
    parameter<float, L, batch, in> x{m};
    auto const y    = tanh(halo<batch, 2, 1>(tanh(x)));
    auto const loss = sum(y);
    backward(loss);
  })};
  REQUIRE(sends.count == 5);
  for (std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}}) {
    CHECK(sends.calls[i].kind == collective::neighbours);
    CHECK(sends.calls[i].payload == (i % 3 == 0 ? 2 : 1) * 6 * 4);
  }
  CHECK(sends.calls[2].kind == collective::all_reduce);
}

TEST_CASE("windows of whole dimensions: same, strides, dilation, valid, padding") {
  check_operation<shape<in, memory>, shape<batch, in>>([](auto const& x, auto const& y) {
    return std::tuple{windows<window<in, three>>(x),
                      windows<window<in, two, half_in, stride<2>>>(y),
                      windows<window<in, three, dilation<2>>>(y),
                      windows<window<in, three, four, valid>>(y),
                      windows<window<in, two, wider, padding<1>>>(y),
                      windows<window<in, three>, window<memory, two>>(x)};
  });
}

TEST_CASE("windows of split dimensions: halos come from the parts next to each") {
  check_operation<shape<batch, in>, shape<in, length, hidden>>([](auto const& x, auto const& y) {
    return std::tuple{windows<window<batch, three>>(x), windows<window<batch, two>>(x),
                      windows<window<length, two>>(y), windows<window<hidden, five>>(y),
                      windows<window<in, two>, window<hidden, three>>(y)};
  });
}
