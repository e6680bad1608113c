// error: ambiguous
#include <meshtf/planning.hpp>

#ifdef FIXED
namespace program {  // in a namespace, its own names come before those of a using-directive there
#endif

using namespace meshtf;

struct stack : dim<8> {};
inline constexpr stack tall{};

#ifdef FIXED
}  // namespace program
#endif
