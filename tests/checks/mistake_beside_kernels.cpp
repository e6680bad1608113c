// error: nonsense
//
// One's own mistake is all that a compiler speaks of: clang warns of what kernels leave out too, once there
// was an error.
#include <meshtf/kernel/nest.hpp>

struct twice {
  static constexpr bool vectorised = true;
  auto operator()(auto const& x) const { return x + x; }
};

void sum_of_rows(meshtf::nest_steps const& steps, float* z, float const* x) {
  meshtf::kernel::reduce_nest<meshtf::reduction::sum>(steps, twice{}, z, x);
}

#ifndef FIXED
int const mistake = nonsense;
#endif
