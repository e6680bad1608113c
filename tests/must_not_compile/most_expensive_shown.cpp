// error: "128 B in 1 all_reduce"
// error: "rows, most_expensive_shown.cpp:22"
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, hidden> w;
  meshtf::tensor<float, L, batch, in> x;
  constexpr explicit training(meshtf::machine<L>& m) : w{m}, x{m} {}
  constexpr void step() {
    backward(sum(square(einsum<batch, hidden>(x, w))));
    meshtf::sgd{0.1}.step(meshtf::parameters(w));
  }
};

inline constexpr auto cost = meshtf::dry_run<training, mixed>();
#ifdef FIXED
static_assert(meshtf::sends_at_most<1 * meshtf::KiB>(cost));
#else
static_assert(meshtf::show_most_expensive<cost>());
#endif
