// error: ambiguous
#include <meshtf/planning.hpp>

#ifdef FIXED
namespace program {  // in a namespace, its own names come before those of a using-directive there
#endif

using namespace meshtf;

struct threads : dim<8> {};
inline constexpr threads many{};

#ifdef FIXED
}  // namespace program
#endif
