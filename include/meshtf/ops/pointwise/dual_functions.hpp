// The library's functions of elements, applied to dual numbers. Each contributes the derivative that stands
// next to it: what is done there against overflow and cancellation holds here too.
#pragma once

#include <meshtf/core/dual.hpp>
#include <meshtf/ops/pointwise/abs.hpp>
#include <meshtf/ops/pointwise/clamp.hpp>
#include <meshtf/ops/pointwise/elu.hpp>
#include <meshtf/ops/pointwise/erf.hpp>
#include <meshtf/ops/pointwise/exp.hpp>
#include <meshtf/ops/pointwise/expm1.hpp>
#include <meshtf/ops/pointwise/gelu.hpp>
#include <meshtf/ops/pointwise/gelu_erf.hpp>
#include <meshtf/ops/pointwise/leaky_relu.hpp>
#include <meshtf/ops/pointwise/log.hpp>
#include <meshtf/ops/pointwise/log1p.hpp>
#include <meshtf/ops/pointwise/minimum_maximum.hpp>
#include <meshtf/ops/pointwise/mish.hpp>
#include <meshtf/ops/pointwise/reciprocal.hpp>
#include <meshtf/ops/pointwise/relu.hpp>
#include <meshtf/ops/pointwise/rsqrt.hpp>
#include <meshtf/ops/pointwise/selu.hpp>
#include <meshtf/ops/pointwise/sigmoid.hpp>
#include <meshtf/ops/pointwise/silu.hpp>
#include <meshtf/ops/pointwise/sin_cos.hpp>
#include <meshtf/ops/pointwise/softplus.hpp>
#include <meshtf/ops/pointwise/sqrt.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/pointwise/tanh.hpp>

namespace meshtf {
inline namespace v0 {
namespace fusion {

/// The type of the numbers in a batch.
template<class V>
struct number_in : std::type_identity<V> {};
template<class V>
  requires requires { typename V::value_type; }
struct number_in<V> : std::type_identity<typename V::value_type> {};
template<>
struct number_in<counted> : std::type_identity<double> {};

/// Functions of the library's, with their gradients.
struct library {
  /// f(a)
  template<class F, class V, unsigned A>
  [[gnu::always_inline]] static constexpr dual<V, A> call(F const& f, dual<V, A> const& a) {
    V const z = rounded_now(f(a.value));
    if constexpr (A == 0) {
      return {z, {}};
    } else {
      using gradient = function::gradient<F>;
      return chained(z, a, gradient{f}(V(1), gradient::template by_operand<V> ? a.value : z));
    }
  }
  template<class F, unsigned A>
  static constexpr dual<counted, A> call(F const&, dual<counted, A> const& a) {
    counted const z = counted::after(F::flops, a.value, a.value);
    if constexpr (A == 0) return {z, {}};
    else return chained(z, a, counted::after(F::gradient_flops, z, z));
  }
  /// f(a, b)
  template<class F, class V, unsigned A, unsigned B>
  [[gnu::always_inline]] static constexpr dual<V, A | B> call(F const& f, dual<V, A> const& a,
                                                              dual<V, B> const& b) {
    V const z = rounded_now(f(a.value, b.value));
    if constexpr ((A | B) == 0) {
      return {z, {}};
    } else {
      using gradient = typename F::gradient;
      return chained(z, a, typename gradient::left{}(V(1), a.value, b.value), b,
                     typename gradient::right{}(V(1), a.value, b.value));
    }
  }
  template<class F, unsigned A, unsigned B>
  static constexpr dual<counted, A | B> call(F const&, dual<counted, A> const& a, dual<counted, B> const& b) {
    counted const z = counted::after(F::flops, a.value, b.value);
    using gradient  = typename F::gradient;
    if constexpr ((A | B) == 0) return {z, {}};
    else
      return chained(z, a, counted::after(A != 0 ? gradient::left::flops : 0, z, z), b,
                     counted::after(B != 0 ? gradient::right::flops : 0, z, z));
  }
};

#define MESHTF_OF_DUALS(name)                                             \
  template<class V, unsigned A>                                           \
  [[gnu::always_inline]] constexpr dual<V, A> name(dual<V, A> const& a) { \
    return library::call(function::name{}, a);                            \
  }
MESHTF_OF_DUALS(abs)
MESHTF_OF_DUALS(cos)
MESHTF_OF_DUALS(erf)
MESHTF_OF_DUALS(exp)
MESHTF_OF_DUALS(expm1)
MESHTF_OF_DUALS(gelu)
MESHTF_OF_DUALS(gelu_erf)
MESHTF_OF_DUALS(log)
MESHTF_OF_DUALS(log1p)
MESHTF_OF_DUALS(mish)
MESHTF_OF_DUALS(reciprocal)
MESHTF_OF_DUALS(relu)
MESHTF_OF_DUALS(rsqrt)
MESHTF_OF_DUALS(selu)
MESHTF_OF_DUALS(sigmoid)
MESHTF_OF_DUALS(silu)
MESHTF_OF_DUALS(sin)
MESHTF_OF_DUALS(softplus)
MESHTF_OF_DUALS(sqrt)
MESHTF_OF_DUALS(square)
MESHTF_OF_DUALS(tanh)
#undef MESHTF_OF_DUALS

#define MESHTF_OF_TWO_DUALS(name)                                                                  \
  template<class V, unsigned A, unsigned B>                                                        \
  [[gnu::always_inline]] constexpr dual<V, A | B> name(dual<V, A> const& a, dual<V, B> const& b) { \
    return library::call(function::name{}, a, b);                                                  \
  }                                                                                                \
  template<class V, unsigned A, PlainNumber C>                                                     \
  [[gnu::always_inline]] constexpr dual<V, A> name(dual<V, A> const& a, C c) {                     \
    return library::call(function::name{}, a, constant<V>(c));                                     \
  }                                                                                                \
  template<class V, unsigned A, PlainNumber C>                                                     \
  [[gnu::always_inline]] constexpr dual<V, A> name(C c, dual<V, A> const& a) {                     \
    return library::call(function::name{}, constant<V>(c), a);                                     \
  }
MESHTF_OF_TWO_DUALS(maximum)
MESHTF_OF_TWO_DUALS(minimum)
#undef MESHTF_OF_TWO_DUALS

template<class V, unsigned A, PlainNumber N = double>
[[gnu::always_inline]] constexpr dual<V, A> leaky_relu(dual<V, A> const& a, N slope = 0.01) {
  using T = typename number_in<V>::type;
  return library::call(function::leaky_relu<T>{static_cast<T>(slope)}, a);
}
template<class V, unsigned A, PlainNumber N = double>
[[gnu::always_inline]] constexpr dual<V, A> elu(dual<V, A> const& a, N alpha = 1) {
  using T = typename number_in<V>::type;
  return library::call(function::elu<T>{static_cast<T>(alpha)}, a);
}
template<class V, unsigned A, PlainNumber B, PlainNumber C>
[[gnu::always_inline]] constexpr dual<V, A> clamp(dual<V, A> const& a, B low, C high) {
  using T = typename number_in<V>::type;
  return library::call(function::clamp<T>{static_cast<T>(low), static_cast<T>(high)}, a);
}

}  // namespace fusion
}  // namespace v0
}  // namespace meshtf
