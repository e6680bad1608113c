// std::vector in constant evaluation, also in libstdc++'s debug mode.
#pragma once

#include <vector>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// With -D_GLIBCXX_DEBUG std::vector is a checked vector, which is not a literal type before C++23. Vectors
/// that only the compiler uses do not need it: the compiler itself finds any access past the end.
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
