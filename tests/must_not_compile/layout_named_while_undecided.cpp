// error: meshtf: reshard can't be recorded to a layout that the program names
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

// what `record<training, batch, hidden>` gives to a program
using undecided = meshtf::dry<meshtf::undecided_layout<batch, hidden>>;

auto moved(meshtf::tensor<float, undecided, batch, hidden> const& x) {
#ifdef FIXED
  return meshtf::reshard<undecided>(x);
#else
  return meshtf::reshard<data>(x);
#endif
}
