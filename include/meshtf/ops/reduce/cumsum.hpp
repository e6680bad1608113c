// cumsum: running sums along a dimension.
#pragma once

#include <meshtf/plan/cumsum_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> running_sums(tensor<T, L, D...> const& x, running which) {
  auto z = tensor<T, L, D...>::uninitialised(x.machine());
  x.machine().run(task::cumsum<T>{which.reverse, which.exclusive}, cumsum_plan<wet<L>, shape<D...>, Along>::lines, x.data(), z.data());
  return z;
}

}  // namespace detail

/// For each element the sum of all elements up to it along `Along`, itself included; of the same shape and placement as `x`.
///
///     auto const before = cumsum<expert>(chosen, {.exclusive = true});   // also .reverse = true: from the last element on
///
/// `Along` is whole under the layout. Local; sums of floats are kept in double. An open sum stays open. Gradient: the running sum of dz from the
/// other end, which owes nothing; a parameter's stays open.
template<Dimension Along, detail::Operand X>
constexpr auto cumsum(X const& operand, running which = {}, std::source_location at = std::source_location::current()) {
  using verdict = cumsum_verdict<wet<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<verdict>, "meshtf: cumsum can't work along this dimension");
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not added: cumsum<...>(cast<int>(x)) counts them");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::summed>(operand, [&](auto const& x) {
      x.machine().enter("cumsum", at);
      auto z = detail::running_sums<Along>(x, which);
      detail::record_linear(z, x, [which](auto const& to, auto const& dz, axis_set owed) {
        detail::contribute(to, detail::running_sums<Along>(dz, {which.exclusive, !which.reverse}), owed);
      });
      return z;
    });
  }
}

}  // namespace v0
}  // namespace meshtf
