// Random programs under random layouts; generate.py writes them.
#pragma once

#include <string>

#include "../shown_if_it_fails.hpp"
#include "../zoo.hpp"

namespace fuzz {

using namespace meshtf;

/// Under a layout that is not on one process, `Cut`; on one process `Whole`; dry as `L` is.
template<Layout L, Layout Cut, Layout Whole>
using chosen = std::conditional_t<L::mesh_type::size == 1, Whole, Cut>;
template<Layout L, Layout Cut, Layout Whole>
using like = std::conditional_t<is_dry<L>, dry<chosen<L, Cut, Whole>>, chosen<L, Cut, Whole>>;

/// A fixed random number for each element of `z`.
template<class T, class L, class... D>
constexpr auto probe(tensor<T, L, D...> const& z, std::uint64_t stream) {
  return random_normal<T, L, D...>(z.machine(), {.seed = 99, .stream = stream});
}

/// `program` shows the same under `Cut` as under `Whole` on one process, at the promised price; on as many processes as the mesh of `Cut` has. If it
/// fails, its text is printed: a test to compile.
template<Layout Whole, Layout Cut, class Program>
void check(Program const& program, char const* text = "") {
  if (boost::mpi::communicator{}.size() != Cut::mesh_type::size) return;
  tests::shown_if_it_fails = text;
  zoo::check_under<Cut>(program, zoo::run<Whole>(program), 1e-10);
}

}  // namespace fuzz
