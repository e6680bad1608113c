// stop_gradient: a value as data.
#pragma once

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// `x` as data: no gradient flows back to it. Shares the shard; a partial sum stays partial.
template<detail::Operand X>
constexpr auto stop_gradient(X const& operand) {
  return detail::linearly<algebra::use::layout_only>(operand, [](auto const& x) {
    if (!x.machine().keeps_tape()) detail::note_use(x);  // it is read again
    return x.without_slot();
  });
}

MESHTF_ACCEPT_REJECTED(stop_gradient)

}  // namespace v0
}  // namespace meshtf
