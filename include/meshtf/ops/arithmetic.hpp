// + - * / of tensors and numbers; of open sums: open_arithmetic.hpp.
#pragma once

#include <concepts>
#include <type_traits>

#include <meshtf/ops/functions.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// A plain number; it takes the element type of the tensor it meets.
template<class N>
concept Number = std::is_arithmetic_v<N>;

namespace detail {

/// f(x, y) with both broadcast to all their dimensions.
template<class F, class T, class L, class... X, class... Y>
constexpr auto broadcast(char const* name, F const& f, tensor<T, L, X...> const& x, tensor<T, L, Y...> const& y) {
  x.machine().enter(name);
  return each<T, broadcast_shape<shape<X...>, shape<Y...>>>(f, x, y);
}

/// Gives `x` the gradient f(dz, ...), summed over the dimensions that `x` lacks.
template<class T, class L, class... X, class F, class... Z>
constexpr void pull_back(tensor<T, L, X...> const& x, F const& f, tensor<T, L, Z...> const& dz, auto const&... rest) {
  if constexpr (std::is_same_v<F, function::identity> && std::is_same_v<shape<X...>, shape<Z...>>) contribute(x, dz);
  else contribute(x, reduced<reduction::sum, shape<X...>>(f, dz, rest...));
}

/// Contributes g(dz), or dz itself where g changes nothing.
template<class G>
struct contributes {
  G g;
  template<class T, class L, class... X>
  constexpr void operator()(tensor<T, L, X...> const& x, tensor<T, L, X...> const& dz, axis_set owed) const {
    if constexpr (std::is_same_v<G, function::identity>) contribute(x, dz, owed);
    else contribute(x, each<T, shape<X...>>(g, dz), owed);
  }
};

/// f(x), where f is linear or a shift: the gradient is g(dz), and that of a parameter's image stays open as the parameter's does.
template<class F, class G, class T, class L, class... X>
constexpr auto linear(char const* name, F const& f, G const& g, tensor<T, L, X...> const& x, std::source_location at = {}) {
  x.machine().enter(name, at);
  auto z = each<T, shape<X...>>(f, x);
  if (wants_gradient(x)) {
    bool const open = x.gradient_stays_open();
    record<incoming::open_if_open>(z, [x = x.without_value(), pull = contributes<G>{g}](auto const& dz, axis_set owed) { pull(x, dz, owed); }, open);
  }
  return z;
}

/// May these two tensors be joined element by element, and with operands of the shapes `More...` before them?
template<class X, class Y, class... More>
using operands_verdict =
    first_objection<fit_verdict<X, Y>, elementwise_verdict<wet<typename X::layout_type>, More..., typename X::shape_type, typename Y::shape_type>>;

}  // namespace detail

// ---- two tensors, broadcast to one another by the names of their dimensions: one has all those of the other, and its order is that of the result (the left's if
// both have the same), or they share none, and the result has the left's, then the right's. Otherwise write broadcast<D...>(x). Nothing is sent; gradients owe the
// axes of the dimensions that the operand lacks.

template<class T, class L, class... X, class U, class R, class... Y>
constexpr auto operator+(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y) {
  using verdict = detail::operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  static_assert(accepted<verdict>, "meshtf: operator+ can't join these operands");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto z = detail::broadcast("operator+", function::plus{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = y.without_value()](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, function::identity{}, dz);
        if (y.needs_gradient()) detail::pull_back(y, function::identity{}, dz);
      });
    return z;
  }
}

template<class T, class L, class... X, class U, class R, class... Y>
constexpr auto operator-(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y) {
  using verdict = detail::operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  static_assert(accepted<verdict>, "meshtf: operator- can't join these operands");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto z = detail::broadcast("operator-", function::minus{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = y.without_value()](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, function::identity{}, dz);
        if (y.needs_gradient()) detail::pull_back(y, function::negated{}, dz);
      });
    return z;
  }
}

template<class T, class L, class... X, class U, class R, class... Y>
constexpr auto operator*(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y) {
  using verdict = detail::operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  static_assert(accepted<verdict>, "meshtf: operator* can't join these operands");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto z = detail::broadcast("operator*", function::times{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = detail::keep(x, y.needs_gradient()), y = detail::keep(y, x.needs_gradient())](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x.target(), function::times{}, dz, y.value());
        if (y.needs_gradient()) detail::pull_back(y.target(), function::times{}, dz, x.value());
      });
    return z;
  }
}

template<class T, class L, class... X, class U, class R, class... Y>
constexpr auto operator/(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y) {
  using verdict = detail::operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  static_assert(accepted<verdict>, "meshtf: operator/ can't join these operands");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    static_assert(std::floating_point<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
    auto z = detail::broadcast("operator/", function::over{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = detail::keep(y), z = detail::keep(z, y.needs_gradient())](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, function::over{}, dz, y.value());
        if (y.needs_gradient()) detail::pull_back(y.target(), function::quotient_gradient{}, dz, z.value(), y.value());
      });
    return z;
  }
}

// ---- a tensor and a number

template<class T, class L, class... X>
constexpr auto operator-(tensor<T, L, X...> const& x) {
  return detail::linear("operator-", function::negated{}, function::negated{}, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator*(tensor<T, L, X...> const& x, N c) {
  function::scaled<T> const f{static_cast<T>(c)};
  return detail::linear("operator*", f, f, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator*(N c, tensor<T, L, X...> const& x) {
  return x * c;
}
template<class T, class L, class... X, Number N>
constexpr auto operator/(tensor<T, L, X...> const& x, N c) {
  static_assert(std::floating_point<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
  function::divided_by<T> const f{static_cast<T>(c)};
  return detail::linear("operator/", f, f, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator+(tensor<T, L, X...> const& x, N c) {
  return detail::linear("operator+", function::shifted<T>{static_cast<T>(c)}, function::identity{}, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator+(N c, tensor<T, L, X...> const& x) {
  return x + c;
}
template<class T, class L, class... X, Number N>
constexpr auto operator-(tensor<T, L, X...> const& x, N c) {
  return detail::linear("operator-", function::shifted<T>{static_cast<T>(-static_cast<T>(c))}, function::identity{}, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator-(N c, tensor<T, L, X...> const& x) {
  return detail::linear("operator-", function::subtracted_from<T>{static_cast<T>(c)}, function::negated{}, x);
}
template<class T, class L, class... X, Number N>
constexpr auto operator/(N c, tensor<T, L, X...> const& x) {
  static_assert(std::floating_point<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
  x.machine().enter("operator/");
  auto z = detail::each<T, shape<X...>>(function::dividing<T>{static_cast<T>(c)}, x);
  if (detail::wants_gradient(x))
    detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
      detail::contribute(x.target(), detail::each<T, shape<X...>>(function::reciprocal_gradient{}, dz, z.value(), x.value()));
    });
  return z;
}

}  // namespace meshtf::inline v0
