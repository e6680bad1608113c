// A translation unit whose compilation is timed: the price of one product under one layout, with the header
// of that operation alone.
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/price/dry_run.hpp>

struct batch : meshtf::dim<512> {};
struct in : meshtf::dim<784> {};
struct out : meshtf::dim<16> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<in, cols>> {};

struct product {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    meshtf::tensor<float, L, batch, in> const x{m};
    meshtf::tensor<float, L, in, out> const w{m};
    static_cast<void>(einsum<batch, out>(x, w));
  }
};
constexpr auto cost = meshtf::dry_run<mixed>(product{});
static_assert(cost.payload<cols>() == 512 / 2 * 16 * sizeof(float));
