// stop_gradient: a value as data.
#pragma once

#include <meshtf/tensor/tensor.hpp>

namespace meshtf::inline v0 {

/// `x` as if it had been read from a file: no gradient goes back to it. Shares the shard.
template<class T, class L, class... D>
constexpr auto stop_gradient(tensor<T, L, D...> const& x) {
  return x.without_slot();
}

}  // namespace meshtf::inline v0
