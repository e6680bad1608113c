// Pointwise functions: what an entry defines, and how each of them is applied.
//
// An entry is a struct in namespace `function` that computes one element, or a batch of them. It defines its
// `name`; `used`, which says how it treats partial sums (linear or not, see plan/pending.hpp); and its
// `gradient`, `by_operand<G>` or `by_result<G>`, where G{}(dz, x) or G{}(dz, z) is the contribution to x. An
// entry whose gradient needs only the result does not keep its operand. Without `gradient`, the result needs
// none: the function has steps. An entry with numbers of its own hands them to its gradient, which is then
// made as G{f}.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class G>
struct by_operand {
  using slope                         = G;
  static constexpr bool needs_operand = true;
};
template<class G>
struct by_result {
  using slope                         = G;
  static constexpr bool needs_operand = false;
};

}  // namespace function

namespace detail {

template<class G, class F>
constexpr G gradient_of(F const& f) {
  if constexpr (std::is_empty_v<F>) return G{};
  else return G{f};
}

/// f(x), of x's shape and placement; its gradient needs no reduction. Where a partial sum may not enter, the
/// caller has reported it.
template<class F, Operand X>
constexpr auto pointwise(F const& f, X const& operand, std::source_location at) {
  if constexpr (!accepted<use_verdict<F::used, X>>) {
    return rejected{};
  } else {
    using T       = element_in<X>;
    using dims    = shape_in<X>;
    auto const& x = local_terms(operand);
    x.machine().begin_operation(F::name, at);
    auto z = each<T, dims>(f, x);
    if constexpr (requires { typename F::gradient; })
      if (wants_gradient(x)) {
        auto const slope = gradient_of<typename F::gradient::slope>(f);
        if constexpr (F::gradient::needs_operand)
          record(z, [x = keep(x), slope](auto const& dz) {
            contribute(x.target(), each<T, dims>(slope, dz, x.value()));
          });
        else
          record(z, [x = x.without_value(), z = keep(z), slope](auto const& dz) {
            contribute(x, each<T, dims>(slope, dz, z.value()));
          });
      }
    return z;
  }
}

/// F{}(x)
template<class F, Operand X>
constexpr auto pointwise(X const& x, std::source_location at) {
  return pointwise(F{}, x, at);
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
