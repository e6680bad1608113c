// A mesh as a value has the names and sizes of its axes, and knows along which of them there is more than one
// process.
#include <meshtf/core/named_mesh.hpp>

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct alone : axis<1> {};
struct cols : axis<4> {};
struct grid : mesh<rows, alone, cols> {};
struct nothing : mesh<> {};

constexpr named_mesh const& m = named_mesh_of<grid>;
static_assert(m.name == "grid" && m.count() == 3);
static_assert(m.axis(0) == "rows" && m.axis(1) == "alone" && m.axis(2) == "cols");
static_assert(m.size(0) == 2 && m.size(1) == 1 && m.size(2) == 4);
static_assert(m.all() == 0b111 && m.joining(m.all()) == 0b101);
static_assert(m.processes(m.all()) == 8 && m.processes(0b100) == 4 && m.processes(0) == 1);

static_assert(named_mesh_of<nothing>.count() == 0 && named_mesh_of<nothing>.all() == 0);
static_assert(detail::axis_names<axes<cols, rows>>[0] == "cols");

}  // namespace
