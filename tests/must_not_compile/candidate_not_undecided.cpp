// error: dim_is_not_undecided_in_record<
// error: meshtf: this record can't price these layouts: see accepted
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

template<meshtf::Layout L>
struct training {
  meshtf::tensor<float, L, batch, hidden> x;
  constexpr explicit training(meshtf::machine<L>& m) : x{m} {}
  constexpr void step() { auto y = sum<hidden>(x); }
};

#ifdef FIXED
inline constexpr auto step = meshtf::record<training, batch, hidden>();
#else
inline constexpr auto step = meshtf::record<training, hidden>();
#endif
inline constexpr auto ranked = meshtf::rank_layouts<grid, meshtf::candidates<batch, hidden>>(step);
