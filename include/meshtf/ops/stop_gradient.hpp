// stop_gradient: a value as data.
#pragma once

#include <meshtf/tensor/partial.hpp>

namespace meshtf::inline v0 {

/// `x` as if it had been read from a file: no gradient goes back to it. Shares the shard.
template<class T, class L, class... D>
constexpr auto stop_gradient(tensor<T, L, D...> const& x) {
  return x.without_slot();
}

/// An open sum stays open.
template<class V, class Over>
constexpr auto stop_gradient(partial<V, Over> const& p) {
  return partial<V, Over>{p.addend().without_slot(), p.owed()};
}

}  // namespace meshtf::inline v0
