// If it compiles, it passes.
#include <meshtf/core/mesh.hpp>

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};
struct cell : mesh<> {};

struct length : dim<4> {};

// an axis is a name and a number of processes; it is no dimension, and no dimension is an axis
static_assert(MeshAxis<rows> && rows::size == 2);
static_assert(!Dimension<rows> && !MeshAxis<length> && !MeshAxis<int>);

// an axis is within a node unless it says that it joins nodes
struct pods : axis<2, link::between_nodes> {};
static_assert(rows::over_link == link::within_node && pods::over_link == link::between_nodes);
static_assert(MeshAxis<pods> && pods::size == 2 && Mesh<mesh<pods, rows>>);

// a mesh has as many processes as its axes hold together
static_assert(Mesh<grid> && grid::size == 2 * 4 * 1);
static_assert(std::same_as<grid::all_axes, axes<rows, cols, lone>>);

// without axes it is one process
static_assert(Mesh<cell> && cell::size == 1);
static_assert(!Mesh<rows> && !Mesh<int>);

// a list of axes is ordered, and counts axes and processes
static_assert(axes<cols, rows>::count == 2 && axes<cols, rows>::size == 8);
static_assert(!std::same_as<axes<cols, rows>, axes<rows, cols>>);
static_assert(axes<cols>::has<cols> && !axes<cols>::has<rows>);
static_assert(axes<>::count == 0 && axes<>::size == 1 && !axes<>::has<rows>);

}  // namespace
