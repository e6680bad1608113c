// error: ambiguous
#include <meshtf/planning.hpp>

#ifdef FIXED
namespace program {  // in a namespace, its own names come before those of a using-directive there
using namespace meshtf;

struct threads : dim<8> {};
inline constexpr threads many{};
}  // namespace program
#else
using namespace meshtf;

struct threads : dim<8> {};
inline constexpr threads many{};
#endif
