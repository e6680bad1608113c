// is_nan: where elements are not numbers.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct is_nan : of_elements<1> {
  static constexpr char const* name  = "is_nan";
  static constexpr algebra::use used = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x == x, V(0), V(1));  // not x != x: xsimd 8's != on AVX-512 finds NaN equal to everything
  }
};

}  // namespace function

//= || x.isnan() || jnp.isnan(x)
/// 1 where x is NaN, else 0, in the element type, as comparisons give them. No gradient.
template<detail::FloatingOperand X>
constexpr auto is_nan(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::is_nan::used, X>>,
                "meshtf: is_nan needs a finished value: write is_nan(finish(x))");
  return detail::pointwise<function::is_nan>(x, at);
}

MESHTF_ACCEPT_REJECTED(is_nan)

}  // namespace v0
}  // namespace meshtf
