// error: aliases_are_one_dim<
// error: meshtf: two dims are aliases of one type: write struct length : meshtf::dim<64> {};
#include <meshtf/planning.hpp>

#ifdef FIXED
struct length : meshtf::dim<64> {};
struct memory : meshtf::dim<64> {};
#else
using length = meshtf::dim<64>;
using memory = meshtf::dim<64>;
#endif

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid> {};

inline constexpr auto elements = meshtf::tensor<float, data, length, memory>::size;
