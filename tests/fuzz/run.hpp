// Random programs under random layouts; generate.py writes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>

#include "../layout_fixture.hpp"
#include "../shown_if_it_fails.hpp"

namespace fuzz {

using namespace meshtf;

// ---- meshes: programs whose axes have as many processes share what the compiler makes of them

template<extent N>
struct first : axis<N> {};
template<extent N>
struct second : axis<N> {};
template<extent N>
struct third : axis<N> {};

template<extent... N>
struct grid;
template<extent A>
struct grid<A> : mesh<first<A>> {};
template<extent A, extent B>
struct grid<A, B> : mesh<first<A>, second<B>> {};
template<extent A, extent B, extent C>
struct grid<A, B, C> : mesh<first<A>, second<B>, third<C>> {};

/// `Cut` on the mesh of a program, `Whole` on one process; dry as `L` is.
template<Layout L, Layout Cut, Layout Whole>
using chosen =
    std::conditional_t<std::is_same_v<typename L::mesh_type, typename Whole::mesh_type>, Whole, Cut>;
template<Layout L, Layout Cut, Layout Whole>
using like = layout_beside<L, chosen<L, Cut, Whole>>;

// ---- functions of shards, for `slicewise`

struct squares {
  template<class Z, class X>
  void operator()(Z&& z, X const& x) const {
    std::transform(x.begin(), x.end(), z.begin(), [](double v) { return v * v; });
  }
};

/// The sums along dimension number `Along`.
template<std::size_t Along>
struct sums_along {
  template<class Z, class X>
  void operator()(Z&& z, X const& x) const {
    std::fill(z.begin(), z.end(), 0.);
    std::ptrdiff_t inner = 1;
    for (std::size_t d = Along + 1; d < x.dimension(); ++d) inner *= static_cast<std::ptrdiff_t>(x.shape(d));
    std::ptrdiff_t const n = static_cast<std::ptrdiff_t>(x.shape(Along)) * inner;
    std::ptrdiff_t at      = 0;
    for (double v : x) *(z.begin() + at / n * inner + at % inner) += v, ++at;
  }
};

/// A fixed random number for each element of `z`.
template<class T, class L, class... D>
constexpr auto probe(tensor<T, L, D...> const& z, std::uint64_t stream) {
  return random_normal<T, L, D...>(z.machine(), {.seed = 99, .stream = stream});
}

/// `program` shows the same under `Cut` as under `Whole` on one process, at the promised price; on as many
/// processes as the mesh of `Cut` has. If it fails, its text is printed: a test to compile.
template<Layout Whole, Layout Cut, class Program>
void check(Program const& program, char const* text = "") {
  if (boost::mpi::communicator{}.size() != Cut::mesh_type::size) return;
  tests::shown_if_it_fails = text;
  fixture::check_under<Cut>(program, fixture::run<Whole>(program), 1e-10);
}

}  // namespace fuzz
