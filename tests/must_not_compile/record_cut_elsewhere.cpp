// error: cuts two dimensions that hold the same rows, or windows of them, elsewhere
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct height : meshtf::dim<10> {};
struct half_height : meshtf::dim<5> {};
struct two : meshtf::dim<2> {};

struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<cols> {};

#ifdef FIXED
struct tried : meshtf::layout<grid, meshtf::split<batch, cols>> {};
#else
// parts of 3 and of 2 rows: a window of the second two rows lies in two parts
struct tried : meshtf::layout<grid, meshtf::padded<height, cols>, meshtf::padded<half_height, cols>> {};
#endif

template<meshtf::Layout L>
struct pooling {
  meshtf::tensor<float, L, batch, height> x;

  constexpr explicit pooling(meshtf::machine<L>& m) : x{m} {}
  constexpr auto step() {
    using halves = meshtf::window<height, two, half_height, meshtf::stride<2>>;
    return mean(meshtf::max_pool<halves>(x));
  }
};

constexpr auto step        = meshtf::record<pooling, batch, height, half_height>();
inline constexpr auto cost = meshtf::price<tried>(step);
