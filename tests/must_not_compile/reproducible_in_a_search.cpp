// error: blocks_in_a_search<batch>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<16> {};
struct block : meshtf::dim<4> {};
struct width : meshtf::dim<6> {};

using open = meshtf::dry<meshtf::undecided_layout<batch, block>>;  // what a search gives to a program

constexpr void step(meshtf::tensor<float, open, batch, width> const& x,
                    meshtf::parameter<float, open, width>& w) {
#ifdef FIXED
  [[maybe_unused]] auto const loss = meshtf::accumulate<4>(
      [&](meshtf::extent i) { return sum(meshtf::micro_batch<batch, block>(x, i) * w); });
#else
  [[maybe_unused]] auto const loss = meshtf::reproducible<batch, block>(
      meshtf::parameters(w), [&](meshtf::extent i) { return sum(meshtf::block_of<batch, block>(x, i) * w); });
#endif
}
