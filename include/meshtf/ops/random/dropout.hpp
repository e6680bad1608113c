// dropout: sets random elements to 0 and scales the others; the random numbers need not be stored.
#pragma once

#include <source_location>

#include <meshtf/core/error.hpp>
#include <meshtf/plan/random_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class T, class L, class... X>
constexpr auto dropped(tensor<T, L, X...> const& x, double rate, random_key key) {
  auto z = tensor<T, L, X...>::uninitialised(x.machine());
  x.machine().run(task::drop<T>{key, rate}, shard_plan<actual<L>, shape<X...>>, x.data(), z.data());
  return z;
}

}  // namespace detail

/// Each element is 0 with probability `rate`, in steps of 2^-32, and x / (1 - rate) otherwise, so its mean
/// does not change.
///
/// Which elements are dropped depends on the key and on their indices in the whole tensor: they are the same
/// under every layout, and the gradient recomputes them instead of keeping them. Nothing is sent or left to
/// reduce. Give every use in every step a key of its own:
/// `{.seed = run, .stream = step * uses + use}`. Evaluation does not call it. A partial sum stays partial:
/// all its local terms drop the same elements.
/// Errors: `software_error` unless 0 <= rate < 1.
/// Source: Srivastava et al., Dropout (2014).
template<detail::FloatingOperand X>
constexpr auto dropout(X const& operand, double rate, random_key key,
                       std::source_location at = std::source_location::current()) {
  if (!(rate >= 0 && rate < 1))
    throw software_error("expected a dropout rate of at least 0 and less than 1, got " +
                         std::to_string(rate));
  return detail::linearly<algebra::use::scaled>(operand, [&](auto const& x) {
    x.machine().begin_operation("dropout", at);
    auto z = detail::dropped(x, rate, key);
    if (detail::wants_gradient(x))
      detail::record(z, [x = x.without_value(), rate, key](auto const& dz) {
        detail::contribute(x, detail::dropped(dz, rate, key));
      });
    return z;
  });
}

constexpr rejected dropout(rejected, double, random_key, std::source_location = {}) { return {}; }

}  // namespace v0
}  // namespace meshtf
