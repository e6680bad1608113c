// What the recorder has to know of an array when it dies.
#pragma once

#include <cstddef>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// An array that was copied under some layouts only. Under the others its copies are aliases of it,
/// and lives until they die.
struct recorded_alias {
  std::size_t kind = 0;     // where it lives on behalf of its copies
  int copies       = 0;     // that live
  bool alive       = true;  // on its own behalf
};

/// What the recorder has to know of an array when it dies.
struct recorded_array {
  std::size_t kind      = 0;
  recorded_alias* alias = nullptr;
  bool is_copy          = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
