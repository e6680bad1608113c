// error: an earlier backward has used up the tape of this value: call backward(a + b) once
// error: backward<float
#include <meshtf/planning.hpp>

struct in : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct whole : meshtf::layout<grid> {};

consteval bool learns() {
  using L = meshtf::dry<whole>;
  meshtf::machine<L> m;
  meshtf::parameter<float, L, in> const w{m};
  auto const first  = sum(w * w);
  auto const second = sum(w);
#ifdef FIXED
  backward(first + second);
#else
  backward(first);
  // an earlier backward has used up the tape of this value: call backward(a + b) once
  backward(second);
#endif
  return true;
}

static_assert(learns());
