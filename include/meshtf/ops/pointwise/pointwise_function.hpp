// Pointwise functions: what a function's struct defines, and how each of them is applied.
//
// A function is a struct in namespace `function` that computes one element, or a batch of them. It defines
// its `name`; `used`, which says how it treats partial sums (linear or not, see plan/pending.hpp); and, next
// to its value, its gradient: `gradient_by_operand(dz, x)` or `gradient_by_result(dz, z)`, the contribution
// to x. A function whose gradient needs only the result does not keep its operand. Its base counts the flops
// of both and says where the function is smooth; a function with steps has no gradient, and derives from
// `of_elements`. MESHTF_POINTWISE at the end of its header does the rest.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// Bases of functions with a gradient: the flops of a value, and of dz times its slope. What they say of the
/// function chooses the tests that it is part of (tests/checks/catalogue.py).
template<extent Flops, extent GradientFlops>
struct with_gradient : of_elements<Flops> {
  static constexpr extent gradient_flops = GradientFlops;
};
/// It is smooth everywhere, and about as large as its operand, or smaller.
template<extent Flops, extent GradientFlops>
struct smooth : with_gradient<Flops, GradientFlops> {};
/// It is smooth where its operand is positive, and is not defined, or has a pole, elsewhere.
template<extent Flops, extent GradientFlops>
struct smooth_of_positive : with_gradient<Flops, GradientFlops> {};
/// Its slope jumps somewhere.
template<extent Flops, extent GradientFlops>
struct bent : with_gradient<Flops, GradientFlops> {};

/// The value of another function, which may be declared later: so gradients are written with one another's
/// values.
template<class F, class V>
constexpr V value(V const& x) {
  return F{}(x);
}

/// The gradient of F as a function of elements, which kernels call: of dz and the operand, or the result.
template<class F>
struct gradient : of_elements<F::gradient_flops> {
  [[no_unique_address]] F f{};

  template<class V>
  static constexpr bool by_operand = requires(F const& g, V const& v) { g.gradient_by_operand(v, v); };

  constexpr gradient()
    requires std::is_empty_v<F>
  = default;
  constexpr explicit gradient(F const& g) : f(g) {}

  template<class V>
  constexpr V operator()(V const& dz, V const& kept) const {
    if constexpr (by_operand<V>) return f.gradient_by_operand(dz, kept);
    else return f.gradient_by_result(dz, kept);
  }
};
/// The gradients of a function that is a template of the type that it computes with.
template<template<class> class F>
struct gradients {
  template<class T>
  using of = gradient<F<T>>;
};

}  // namespace function

namespace detail {

template<class F>
concept WithGradient = requires { F::gradient_flops; };

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
    if constexpr (WithGradient<F>)
      if (wants_gradient(x)) {
        using slope = function::gradient<F>;
        if constexpr (slope::template by_operand<computed<T>>)
          record(z, [x = keep(x), f](auto const& dz) {
            contribute(x.target(), each<T, dims>(slope{f}, dz, x.value()));
          });
        else
          record(z, [x = x.without_value(), z = keep(z), f](auto const& dz) {
            contribute(x, each<T, dims>(slope{f}, dz, z.value()));
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

/// After the definition of `name(x)`: the compiled library has the kernels of function::name and of its
/// gradient, and `name` accepts a rejected operand. _OF: function::name is a template of the type that it
/// computes with.
#define MESHTF_POINTWISE(name)                              \
  MESHTF_COMPILE_MAP(1, function::name)                     \
  MESHTF_COMPILE_MAP(2, function::gradient<function::name>) \
  MESHTF_ACCEPT_REJECTED(name)
#define MESHTF_POINTWISE_OF(name)                                   \
  MESHTF_COMPILE_MAP_OF(1, function::name)                          \
  MESHTF_COMPILE_MAP_OF(2, function::gradients<function::name>::of) \
  MESHTF_ACCEPT_REJECTED(name)
