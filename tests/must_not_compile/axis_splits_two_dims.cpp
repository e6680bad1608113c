// error: one_axis_splits_two_dims<rows, batch, hidden>
// error: meshtf: this layout cannot place a tensor of these dimensions
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

#ifdef FIXED
struct both : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
#else
struct both : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, rows>> {};
#endif

inline constexpr meshtf::extent held = meshtf::tensor<float, both, batch, hidden>::size;
