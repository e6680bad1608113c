// error: dry_run<training, mixed>
// g++: values_outlive_the_dry_run
// clang: was not deallocated
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
  using value = meshtf::tensor<float, L, batch, in>;
  value x;
  constexpr explicit training(meshtf::machine<L>& m) : x{m} {}
  constexpr void step() {
#ifdef FIXED
    value square = x * x;
#else
    value& square = *new value(x * x);
#endif
    square = square + x;
  }
};

static_assert(meshtf::dry_run<training, mixed>().peak_bytes() <= 1 * meshtf::KiB);
