// error: meshtf: fused_sum's function returns one number, no tuple of several
#include <tuple>

#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

constexpr auto loss(meshtf::tensor<float, meshtf::dry<data_parallel>, batch> const& x) {
#ifdef FIXED
  return meshtf::fused_sum<>([](auto v) { return v * v; }, x);
#else
  return meshtf::fused_sum<>([](auto v) { return std::tuple{v, v * v}; }, x);
#endif
}
