// error: rule_besides_batch<batch,
// error: reproducible needs a chosen layout that splits the batch alone
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<16> {};
struct block : meshtf::dim<4> {};
struct width : meshtf::dim<6> {};
struct hidden : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
#ifdef FIXED
struct rules : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
#else
struct rules : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
#endif
using dry = meshtf::dry<rules>;

constexpr void step(meshtf::tensor<float, dry, batch, width> const& x,
                    meshtf::parameter<float, dry, width, hidden>& w) {
  [[maybe_unused]] auto const loss =
      meshtf::reproducible<batch, block>(meshtf::parameters(w), [&](meshtf::extent i) {
        auto const h = meshtf::einsum<block, hidden>(meshtf::block_of<batch, block>(x, i), w);
        return mean(h * h) / 4;
      });
}
