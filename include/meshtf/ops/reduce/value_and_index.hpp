// Values, and where they were found.
#pragma once

#include <meshtf/tensor/rejected.hpp>

namespace meshtf {
inline namespace v0 {

/// A value and where it was found.
template<class Value, class Index>
struct value_and_index {
  Value value;
  Index index;
};

namespace detail {

using rejected_pair = value_and_index<rejected, rejected>;

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
