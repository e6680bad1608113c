// error: pipe
#include <unistd.h>

#include <meshtf/planning.hpp>

#ifdef FIXED
namespace program {
using namespace meshtf;

struct sample : dim<64> {};
struct pipe : axis<4> {};
}  // namespace program

struct line : meshtf::mesh<program::pipe> {};
#else
struct pipe : meshtf::axis<4> {};
struct line : meshtf::mesh<pipe> {};
#endif
