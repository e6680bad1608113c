// + - * / of open sums, with one another, with tensors and with numbers.
//
// The rules are those of plan/pending.hpp. Source: the algebra of pending values in PyTorch's DTensor and OneFlow's SBP.
#pragma once

#include <meshtf/ops/arithmetic.hpp>
#include <meshtf/tensor/open_sums.hpp>

namespace meshtf::inline v0 {

namespace detail {

/// f(p), where f is linear: an open sum stays open.
template<algebra::use How, class F, class T, class L, class... X, class Over>
constexpr auto linear(char const* name, F const& f, partial<tensor<T, L, X...>, Over> const& p) {
  auto const& x = p.addend();
  x.machine().enter(name);
  auto z = each<T, shape<X...>>(f, x);
  if (wants_gradient(x)) record(z, [x = x.without_value(), f](auto const& dz) { contribute(x, each<T, shape<X...>>(f, dz)); });
  return handed_through<How>(p, std::move(z));
}

}  // namespace detail

template<class V, class Over>
constexpr auto operator-(partial<V, Over> const& p) {
  return detail::linear<algebra::use::negated>("operator-", function::negated{}, p);
}
template<class V, class Over, Number N>
constexpr auto operator*(partial<V, Over> const& p, N c) {
  return detail::linear<algebra::use::scaled>("operator*", function::scaled<typename V::element_type>{static_cast<typename V::element_type>(c)}, p);
}
template<class V, class Over, Number N>
constexpr auto operator*(N c, partial<V, Over> const& p) {
  return p * c;
}
template<class V, class Over, Number N>
constexpr auto operator/(partial<V, Over> const& p, N c) {
  return detail::linear<algebra::use::scaled>("operator/", function::divided_by<typename V::element_type>{static_cast<typename V::element_type>(c)},
                                              p);
}

namespace detail {

/// How an open sum and another operand meet, with whole operands of the shapes `More...` before them.
template<algebra::meeting How, class P, class Y, class... More>
struct meet_open;
template<algebra::meeting How, class T, class L, class... X, class Over, class U, class R, class... Y, class... More>
struct meet_open<How, partial<tensor<T, L, X...>, Over>, tensor<U, R, Y...>, More...> {
  using out     = broadcast_shape<More..., shape<X...>, shape<Y...>>;
  using verdict = first_objection<meeting_verdict<How, partial<tensor<T, L, X...>, Over>, tensor<U, R, Y...>>,
                                  operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>, More...>, open_verdict<L, out, Over>>;
};
template<algebra::meeting How, class T, class L, class... X, class A, class U, class R, class... Y, class B, class... More>
struct meet_open<How, partial<tensor<T, L, X...>, A>, partial<tensor<U, R, Y...>, B>, More...> {
  using out     = broadcast_shape<More..., shape<X...>, shape<Y...>>;
  using over    = united_axes<L, A, B>;
  using verdict = first_objection<meeting_verdict<How, partial<tensor<T, L, X...>, A>, partial<tensor<U, R, Y...>, B>>,
                                  operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>, More...>, open_verdict<L, out, over>>;
};

/// The gradient of `y`, which was multiplied by the addends of a sum over `open`: what it is computed from is open too.
template<class F, class T, class L, class... Y, class... Z>
constexpr void pull_back_open(tensor<T, L, Y...> const& y, axis_set open, F const& f, tensor<T, L, Z...> const& dz, auto const&... rest) {
  auto const g = reduced<reduction::sum, shape<Y...>>(f, dz, rest...);
  contribute(y, g.value, g.owed | open);
}

}  // namespace detail

/// An open sum times a finished tensor, broadcast to one another: it stays open. What the tensor's gradient is computed from is open as well, so that gradient
/// owes the same axes.
template<class T, class L, class... X, class Over, class U, class R, class... Y>
constexpr auto operator*(partial<tensor<T, L, X...>, Over> const& p, tensor<U, R, Y...> const& y) {
  using meets   = detail::meet_open<algebra::meeting::times, partial<tensor<T, L, X...>, Over>, tensor<U, R, Y...>>;
  using verdict = typename meets::verdict;
  static_assert(accepted<verdict>, "meshtf: operator* can't join an open sum and this tensor: finish(p) * y");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto const& x = p.addend();
    x.machine().enter("operator*");
    auto z = detail::each<T, typename meets::out>(function::times{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = detail::keep(x, y.needs_gradient()), y = detail::keep(y, x.needs_gradient()), open = p.owed()](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x.target(), function::times{}, dz, y.value());
        if (y.needs_gradient()) detail::pull_back_open(y.target(), open, function::times{}, dz, x.value());
      });
    return detail::handed_through<algebra::use::scaled>(p, std::move(z));
  }
}
template<class T, class L, class... X, class Over, class U, class R, class... Y>
constexpr auto operator*(tensor<U, R, Y...> const& y, partial<tensor<T, L, X...>, Over> const& p) {
  return p * y;
}

/// An open sum divided by a finished tensor.
template<class T, class L, class... X, class Over, class U, class R, class... Y>
constexpr auto operator/(partial<tensor<T, L, X...>, Over> const& p, tensor<U, R, Y...> const& y) {
  using meets   = detail::meet_open<algebra::meeting::over, partial<tensor<T, L, X...>, Over>, tensor<U, R, Y...>>;
  using verdict = typename meets::verdict;
  static_assert(accepted<verdict>, "meshtf: operator/ can't join an open sum and this tensor: finish(p) / y");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    static_assert(std::floating_point<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
    auto const& x = p.addend();
    x.machine().enter("operator/");
    auto z = detail::each<T, typename meets::out>(function::over{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = detail::keep(y), z = detail::keep(z, y.needs_gradient()), open = p.owed()](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, function::over{}, dz, y.value());
        if (y.needs_gradient()) detail::pull_back_open(y.target(), open, function::quotient_gradient{}, dz, z.value(), y.value());
      });
    return detail::handed_through<algebra::use::scaled>(p, std::move(z));
  }
}

namespace detail {

/// p and sign(q) added up: their addends are. Where one is whole on an axis and the other owes a sum there, the whole one counts once.
template<class Meets, class T, class L, class... X, class A, class... Y, class B, class F>
constexpr auto joined(char const* name, partial<tensor<T, L, X...>, A> const& p, partial<tensor<T, L, Y...>, B> const& q, F const& sign) {
  p.machine().enter(name);
  using result        = partial<tensor_of<T, L, typename Meets::out>, typename Meets::over>;
  axis_set const owed = p.owed() | q.owed();
  if constexpr (std::is_same_v<shape<X...>, shape<Y...>>) {
    auto const &x = p.addend(), &y = q.addend();
    auto& m = x.machine();
    auto z  = each<T, shape<X...>>(sign, y);
    m.add_up(x.size, m.counts(owed & ~p.owed()), m.counts(owed & ~q.owed()), x.data(), std::as_const(z).data(), z.data());
    if (wants_gradient(x, y))
      record(z, [x = x.without_value(), y = y.without_value(), sign](auto const& dz) {
        if (x.needs_gradient()) contribute(x, dz);
        if (y.needs_gradient()) contribute(y, each<T, shape<X...>>(sign, dz));
      });
    return result{std::move(z), owed};
  } else {
    auto const x = addends_over(p, owed);
    auto const y = addends_over(q, owed);
    if constexpr (std::is_same_v<F, function::identity>) return result{x + y, owed};
    else return result{x - y, owed};
  }
}

}  // namespace detail

/// Two open sums, broadcast to one another, are one open sum over the axes of both.
template<class T, class L, class... X, class A, class U, class R, class... Y, class B>
constexpr auto operator+(partial<tensor<T, L, X...>, A> const& p, partial<tensor<U, R, Y...>, B> const& q) {
  using meets = detail::meet_open<algebra::meeting::plus, partial<tensor<T, L, X...>, A>, partial<tensor<U, R, Y...>, B>>;
  static_assert(accepted<typename meets::verdict>, "meshtf: operator+ can't join these open sums");
  if constexpr (!accepted<typename meets::verdict>) return detail::rejected{};
  else return detail::joined<meets>("operator+", p, q, function::identity{});
}
template<class T, class L, class... X, class A, class U, class R, class... Y, class B>
constexpr auto operator-(partial<tensor<T, L, X...>, A> const& p, partial<tensor<U, R, Y...>, B> const& q) {
  using meets = detail::meet_open<algebra::meeting::minus, partial<tensor<T, L, X...>, A>, partial<tensor<U, R, Y...>, B>>;
  static_assert(accepted<typename meets::verdict>, "meshtf: operator- can't join these open sums");
  if constexpr (!accepted<typename meets::verdict>) return detail::rejected{};
  else return detail::joined<meets>("operator-", p, q, function::negated{});
}

// ---- what is not linear in an open sum says so

template<class V, class Over, class T, class L, class... X>
constexpr V operator+(partial<V, Over> const& p, tensor<T, L, X...> const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::plus, partial<V, Over>, tensor<T, L, X...>>>,
                "meshtf: x would count per addend: p + as_partial<...>(x), free");
  return p.addend();
}
template<class V, class Over, class T, class L, class... X>
constexpr V operator+(tensor<T, L, X...> const& x, partial<V, Over> const& p) {
  return p + x;
}
template<class V, class Over, class T, class L, class... X>
constexpr V operator-(partial<V, Over> const& p, tensor<T, L, X...> const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::minus, partial<V, Over>, tensor<T, L, X...>>>,
                "meshtf: x would count per addend: p - as_partial<...>(x), free");
  return p.addend();
}
template<class V, class Over, class T, class L, class... X>
constexpr V operator-(tensor<T, L, X...> const& x, partial<V, Over> const& p) {
  return p - x;
}
template<class V, class Over, Number N>
constexpr V operator+(partial<V, Over> const& p, N) {
  static_assert(accepted<detail::use_verdict<algebra::use::shifted, partial<V, Over>>>, "meshtf: operator+ would count c per addend: finish(p) + c");
  return p.addend();
}
template<class V, class Over, Number N>
constexpr V operator+(N c, partial<V, Over> const& p) {
  return p + c;
}
template<class V, class Over, Number N>
constexpr V operator-(partial<V, Over> const& p, N) {
  static_assert(accepted<detail::use_verdict<algebra::use::shifted, partial<V, Over>>>, "meshtf: operator- would count c per addend: finish(p) - c");
  return p.addend();
}
template<class V, class Over, Number N>
constexpr V operator-(N, partial<V, Over> const& p) {
  static_assert(accepted<detail::use_verdict<algebra::use::subtracted, partial<V, Over>>>,
                "meshtf: operator- would count c per addend: c - finish(p)");
  return p.addend();
}
template<class V, class W, class A, class B>
constexpr V operator*(partial<V, A> const& p, partial<W, B> const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::times, partial<V, A>, partial<W, B>>>,
                "meshtf: operator* of two open sums: finish(p) * q");
  return p.addend();
}
template<class V, class W, class A, class B>
constexpr V operator/(partial<V, A> const& p, partial<W, B> const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::over, partial<V, A>, partial<W, B>>>,
                "meshtf: operator/ is not linear there: p / finish(q)");
  return p.addend();
}
template<class T, class L, class... X, class V, class Over>
constexpr V operator/(tensor<T, L, X...> const&, partial<V, Over> const& p) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::over, tensor<T, L, X...>, partial<V, Over>>>,
                "meshtf: operator/ is not linear there: x / finish(p)");
  return p.addend();
}
template<class V, class Over, Number N>
constexpr V operator/(N, partial<V, Over> const& p) {
  static_assert(accepted<detail::use_verdict<algebra::use::divisor, partial<V, Over>>>, "meshtf: operator/ is not linear there: c / finish(p)");
  return p.addend();
}

}  // namespace meshtf::inline v0
