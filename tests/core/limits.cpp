// If it compiles, it passes: what is refused at the edges, and names in odd places.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct grid : mesh<rows> {};
struct whole : layout<grid> {};

template<int I>
struct d : dim<2 + I> {};

// a tensor has at most twelve dimensions, and so has a loop nest
using thirteen = shape<d<0>, d<1>, d<2>, d<3>, d<4>, d<5>, d<6>, d<7>, d<8>, d<9>, d<10>, d<11>, d<12>>;
static_assert(std::same_as<placement_verdict_of<whole, thirteen>, too_many_dims<13, 12>>);
using seven = shape<d<0>, d<1>, d<2>, d<3>, d<4>, d<5>, d<6>>;
using other = shape<d<7>, d<8>, d<9>, d<10>, d<11>, d<12>, d<13>>;
static_assert(std::same_as<einsum_verdict<whole, shape<>, seven, other>, too_many_dims<14, 12>>);
static_assert(std::same_as<elementwise_verdict<whole, seven, other>, too_many_dims<14, 12>>);

// a reduction names each dimension once: the mean over batch and batch would divide twice
static_assert(std::same_as<reduce_verdict<whole, shape<d<0>, d<1>>, d<0>, d<0>>, dim_appears_twice<d<0>>>);

// a name is the last one, wherever it is declared
template<class T>
struct model {
  struct width : dim<4> {};
};
static_assert(name_of<model<rows>::width>() == "width");
static_assert(name_of<rows>() == "rows");

// the parameters of a program that ends are counted, too
constexpr auto cost = dry_run<whole>([]<Layout L>(machine<L>& m) { parameter<float, L, d<0>> const w{m}; });
static_assert(cost.parameter_bytes() == 8 && cost.live_bytes() == 0);

}  // namespace
