// error: dim_is_not_undecided_in_record<in,
#include <meshtf/core.hpp>
#include <meshtf/planning.hpp>
#include <meshtf/search/recorder.hpp>
#include <meshtf/search/search.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct model : meshtf::layout<grid, meshtf::split<in, rows>> {};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in> w;
  meshtf::tensor<float, L, batch, in> x;
  constexpr explicit training(meshtf::machine<L>& m) : w{m}, x{m} {}
  constexpr void step() { backward(sum(square(x * w))); }
};

inline constexpr auto step = meshtf::record<training, batch>();
#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::record_verdict<decltype(step), data>>);
#else
static_assert(meshtf::is_legal<meshtf::record_verdict<decltype(step), model>>);
#endif
