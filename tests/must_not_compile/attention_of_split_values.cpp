// error: attention_along_split_dim<width,
// error: reshard_for<256, cols>
// error: meshtf: attention needs this dim whole: reshard first
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<4> {};
struct length : meshtf::dim<8> {};
struct key : meshtf::dim<4> {};
struct width : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct by_width : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<width, cols>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};

constexpr void look(meshtf::tensor<float, meshtf::dry<by_width>, batch, length, key> const& q,
                    meshtf::tensor<float, meshtf::dry<by_width>, batch, length, width> const& v) {
#ifdef FIXED
  auto const q2 = meshtf::reshard<meshtf::dry<by_batch>>(q);
  auto z =
      attention<length, length, key>(q2, q2, meshtf::reshard<meshtf::dry<by_batch>>(v), {.causal = true});
#else
  auto z = attention<length, length, key>(q, q, v, {.causal = true});
#endif
}
