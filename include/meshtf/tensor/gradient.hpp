// Gradients of parameters: what the uses of a parameter have added up so far.
#pragma once

#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/partial.hpp>

namespace meshtf {
inline namespace v0 {

/// The gradient that `w` has collected since it was last cleared. It is unreduced over the axes that do not
/// split `w` and on which its uses left sums. If nothing used `w`, it is zero and needs no reduction.
template<class T, class L, class... D>
constexpr auto gradient(parameter<T, L, D...> const& w) {
  using result = partial<tensor<T, L, D...>, detail::axes_that_do_not_split<L, shape<D...>>>;
  auto& m      = w.machine();
  if (!w.slot().sum) return result{tensor<T, L, D...>{m}, 0};
  return result{tensor<T, L, D...>{m, w.slot().sum}, w.slot().unreduced};
}

}  // namespace v0
}  // namespace meshtf
