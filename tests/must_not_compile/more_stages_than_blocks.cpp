// error: more_stages_than_blocks<4, 3>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct width : meshtf::dim<4> {};
#ifdef FIXED
struct stages : meshtf::axis<3> {};
#else
struct stages : meshtf::axis<4> {};
#endif
struct line : meshtf::mesh<stages> {};
struct piped : meshtf::layout<line, meshtf::staged<stages>> {};

template<meshtf::Layout L>
struct block {
  meshtf::parameter<float, L, width> scale;
  constexpr explicit block(meshtf::machine<L>& m) : scale{m} {}
  constexpr auto operator()(auto const& x) const { return x * scale; }
  constexpr auto parameters() { return meshtf::parameters(scale); }
};

using dry_piped = meshtf::dry<piped>;
constexpr void make(meshtf::machine<dry_piped>& m) { meshtf::nn::stack<block<dry_piped>, 3> const blocks{m}; }
