// error: dim_has_no_element_number<sample, 32, 32>
// error: meshtf: nth_element can't take this element along this dimension
#include <meshtf/planning.hpp>

struct sample : meshtf::dim<32> {};
struct task : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_sample : meshtf::layout<grid, meshtf::split<sample, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_sample>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, sample, task> errors{m};
#ifdef FIXED
  auto x = nth_element<sample, 31>(errors);  // the largest: numbers begin at 0
#else
  auto x = nth_element<sample, 32>(errors);
#endif
});
