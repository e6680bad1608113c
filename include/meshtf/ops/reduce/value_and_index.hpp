// Values, and where they were found.
#pragma once

namespace meshtf {
inline namespace v0 {

/// A value and where it was found.
template<class Value, class Index>
struct value_and_index {
  Value value;
  Index index;
};

}  // namespace v0
}  // namespace meshtf
