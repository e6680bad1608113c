// Meshes: the processes as a grid with named axes.
#include <meshtf/core/dim.hpp>
#include <meshtf/core/mesh.hpp>

using namespace meshtf;

struct pods : axis<2> {};
struct rows : axis<3> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct grid : mesh<pods, rows, cols> {};
struct none : mesh<> {};
struct batch : dim<4> {};

// A mesh has as many processes as its axes multiply to, and without axes one.
static_assert(grid::size == 24 && none::size == 1);
static_assert(Mesh<grid> && Mesh<none> && !Mesh<cols>);
static_assert(std::same_as<grid::all_axes, axes<pods, rows, cols>>);

// An axis derives from `axis`; a dimension of its size is none. One process is enough.
static_assert(MeshAxis<cols> && MeshAxis<lone> && !MeshAxis<batch> && !MeshAxis<grid>);

// A list of axes knows how many they are, how many processes they join, and which they are.
static_assert(axes<pods, cols>::count == 2 && axes<pods, cols>::size == 8);
static_assert(axes<pods, cols>::has<cols> && !axes<pods, cols>::has<rows>);
static_assert(axes<>::count == 0 && axes<>::size == 1 && !axes<>::has<cols>);

// Their order matters: it is that of ranks in a mesh, of parts in a rule.
static_assert(!std::same_as<axes<pods, cols>, axes<cols, pods>>);
