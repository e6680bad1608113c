// error: stages_do_not_cut<
#include <array>

#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct width : meshtf::dim<4> {};
struct stages : meshtf::axis<2> {};
struct line : meshtf::mesh<stages> {};

// three blocks: the cut ends at their number
#ifdef FIXED
struct piped : meshtf::layout<line, meshtf::staged<stages, std::array{0, 2, 3}>> {};
#else
struct piped : meshtf::layout<line, meshtf::staged<stages, std::array{0, 2, 4}>> {};
#endif

template<meshtf::Layout L>
struct block {
  meshtf::parameter<float, L, width> scale;
  constexpr explicit block(meshtf::machine<L>& m) : scale{m} {}
  constexpr auto operator()(auto const& x) const { return x * scale; }
  constexpr auto parameters() { return meshtf::parameters(scale); }
};

using dry_piped = meshtf::dry<piped>;
constexpr void make(meshtf::machine<dry_piped>& m) { meshtf::nn::stack<block<dry_piped>, 3> const blocks{m}; }
