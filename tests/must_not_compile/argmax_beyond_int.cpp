// error: dim_is_too_long_for_an_index<place, 4294967296, 2147483648>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct place : meshtf::dim<(1LL << 32)> {};
struct page : meshtf::dim<(1 << 12)> {};
struct word : meshtf::dim<(1 << 20)> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_place : meshtf::layout<grid, meshtf::split<place, rows>, meshtf::split<page, rows>> {};

constexpr void look(meshtf::tensor<float, meshtf::dry<by_place>, batch, place> const& x) {
#ifdef FIXED
  auto i = argmax<word>(split_dim<place, page, word>(x));
#else
  auto i = argmax<place>(x);
#endif
}
