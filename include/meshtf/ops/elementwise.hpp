// Functions of each element: exp log sqrt rsqrt square tanh sigmoid relu gelu.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

namespace detail {

/// f(x); the gradient is df(dz, x).
template<class F, class DF, class T, class L, class... X>
constexpr auto by_operand(char const* name, std::source_location at, F const& f, DF const& df, tensor<T, L, X...> const& x) {
  x.machine().enter(name, at);
  auto z = each<T, shape<X...>>(f, x);
  if (wants_gradient(x)) record(z, [x = keep(x), df](auto const& dz) { contribute(x.target(), each<T, shape<X...>>(df, dz, x.value())); });
  return z;
}

/// f(x); the gradient is df(dz, f(x)), so that x itself need not be kept.
template<class F, class DF, class T, class L, class... X>
constexpr auto by_result(char const* name, std::source_location at, F const& f, DF const& df, tensor<T, L, X...> const& x) {
  x.machine().enter(name, at);
  auto z = each<T, shape<X...>>(f, x);
  if (wants_gradient(x))
    record(z, [x = x.without_value(), z = keep(z), df](auto const& dz) { contribute(x, each<T, shape<X...>>(df, dz, z.value())); });
  return z;
}

}  // namespace detail

// Each is local and of the operand's shape and placement; its gradient owes nothing.

template<FloatingElement T, class L, class... X>
constexpr auto exp(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("exp", at, function::exp{}, function::times{}, x);
}

template<FloatingElement T, class L, class... X>
constexpr auto log(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_operand("log", at, function::log{}, function::log_gradient{}, x);
}

template<FloatingElement T, class L, class... X>
constexpr auto sqrt(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("sqrt", at, function::sqrt{}, function::sqrt_gradient{}, x);
}

/// 1 / sqrt(x)
template<FloatingElement T, class L, class... X>
constexpr auto rsqrt(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("rsqrt", at, function::rsqrt{}, function::rsqrt_gradient{}, x);
}

template<class T, class L, class... X>
constexpr auto square(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_operand("square", at, function::square{}, function::square_gradient{}, x);
}

template<FloatingElement T, class L, class... X>
constexpr auto tanh(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("tanh", at, function::tanh{}, function::tanh_gradient{}, x);
}

/// 1 / (1 + exp(-x))
template<FloatingElement T, class L, class... X>
constexpr auto sigmoid(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("sigmoid", at, function::sigmoid{}, function::sigmoid_gradient{}, x);
}

/// max(0, x); the gradient at 0 is 0.
template<FloatingElement T, class L, class... X>
constexpr auto relu(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_result("relu", at, function::relu{}, function::relu_gradient{}, x);
}

/// x times the normal distribution's integral, by tanh. Source: Hendrycks, Gimpel, Gaussian Error Linear Units (2016).
template<FloatingElement T, class L, class... X>
constexpr auto gelu(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  return detail::by_operand("gelu", at, function::gelu{}, function::gelu_gradient{}, x);
}

// ---- none of them is linear

template<class V, class Over>
constexpr V exp(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: exp is not linear: exp(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V log(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: log is not linear: log(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V sqrt(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: sqrt is not linear: sqrt(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V rsqrt(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::rsqrt, partial<V, Over>>>, "meshtf: rsqrt is not linear: rsqrt(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V square(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::bent, partial<V, Over>>>, "meshtf: square is not linear: square(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V tanh(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: tanh is not linear: tanh(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V sigmoid(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: sigmoid is not linear: sigmoid(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V relu(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::grown, partial<V, Over>>>, "meshtf: relu is not linear: relu(finish(x))");
  return x.addend();
}
template<class V, class Over>
constexpr V gelu(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::bent, partial<V, Over>>>, "meshtf: gelu is not linear: gelu(finish(x))");
  return x.addend();
}

}  // namespace meshtf::inline v0
