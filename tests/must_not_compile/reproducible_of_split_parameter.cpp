// error: reproducible trains parameters that each process has whole: split none of them
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<16> {};
struct block : meshtf::dim<4> {};
struct width : meshtf::dim<6> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct rules : meshtf::layout<grid, meshtf::split<batch, rows>> {};
using dry = meshtf::dry<rules>;

#ifdef FIXED
using weights = meshtf::parameter<float, dry, width>;
#else
using weights = meshtf::parameter<float, dry, batch>;
#endif

constexpr void step(meshtf::tensor<float, dry, batch, width> const& x, weights& w) {
  [[maybe_unused]] auto const loss =
      meshtf::reproducible<batch, block>(meshtf::parameters(w), [&](meshtf::extent i) {
        return mean(square(meshtf::block_of<batch, block>(x, i))) / 4 + sum(square(w));
      });
}
