// std::vector in constant evaluation, in libstdc++'s debug mode too.
#pragma once

#include <vector>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// -D_GLIBCXX_DEBUG makes std::vector a checked one, which is no literal type before C++23. Those that only the compiler uses have no need of it: it finds
/// what goes past an end by itself.
#ifdef _GLIBCXX_DEBUG
template<class T>
using unchecked_vector = std::_GLIBCXX_STD_C::vector<T>;
#else
template<class T>
using unchecked_vector = std::vector<T>;
#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
