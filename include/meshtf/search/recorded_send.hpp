// Gradients that an optimizer sends, as a record keeps them.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/undecided_layout.hpp>

namespace meshtf {
inline namespace v0 {

/// A gradient that an optimizer finishes.
struct recorded_send {
  extent n = 0;  // elements of the whole tensor
  element type{};
  int kind    = 0;  // what its sizes are divided by, and what it is finished over
  extent made = 0;  // bytes of the whole tensor that are taken just before it is sent, as for means
  extent gone = 0;  // bytes of the whole tensor that are given back once it is used
};

/// Gradients that are sent alike: over which dimensions they are split, and over which they are summed.
struct recorded_send_kind {
  dim_set dims = 0;
  dim_set over = 0;
};

}  // namespace v0
}  // namespace meshtf
