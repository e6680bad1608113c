// einsum: products of two tensors, summed over every dimension that is not named.
#pragma once

#include <source_location>

#include <meshtf/ops/sum.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

namespace detail {

template<class Out, class X, class Y>
using summed_in_x_alone = without<without<X, Y>, Out>;

template<class... D, class Tensor>
constexpr auto sum_over(shape<D...>, Tensor const& x, std::source_location at) {
  return sum<D...>(x, at);
}

/// The gradient of z, the product of x and y: dx is the product of dz and y, summed over what x lacks, and dy that of dz and x.
template<class T, class L, class... Z, class... X, class... Y>
constexpr void record_product(tensor<T, L, Z...>& z, tensor<T, L, X...> const& x, tensor<T, L, Y...> const& y) {
  if (!wants_gradient(x, y)) return;
  record(z, [x = keep(x, y.needs_gradient()), y = keep(y, x.needs_gradient())](auto const& dz) {
    if (x.needs_gradient()) contribute(x.target(), contracted<shape<X...>>(dz, y.value()));
    if (y.needs_gradient()) contribute(y.target(), contracted<shape<Y...>>(dz, x.value()));
  });
}

}  // namespace detail

/// z[Out...] = the sum of x * y over all dimensions but `Out...`, which are named as on the right side of the formula.
///
/// Where a summed dimension is split, each process multiplies the parts it holds and one all-reduce of z over the axes of the summed dimensions adds the
/// products up; every other einsum is local. A dimension that only one operand has, and that is summed, is summed in that operand first.
/// Gradients: dx = einsum<X...>(dz, y), dy = einsum<Y...>(dz, x); each owes the axes of the dimensions it sums over.
/// Errors: `einsum_verdict`. Source: Shazeer et al., Mesh-TensorFlow (2018), sections 3.2 and 3.3.
template<Dimension... Out, class T, class L, class... X, class U, class R, class... Y>
constexpr auto einsum(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y, std::source_location at = std::source_location::current()) {
  using fit     = detail::fit_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  using verdict = einsum_verdict<wet<L>, shape<Out...>, shape<X...>, shape<Y...>>;
  static_assert(accepted<fit>, "meshtf: einsum can't join these operands");
  static_assert(accepted<verdict>, "meshtf: this layout can't contract these operands");
  if constexpr (!accepted<first_objection<fit, verdict>>) {
    return detail::rejected{};
  } else {
    using alone_in_x = detail::summed_in_x_alone<shape<Out...>, shape<X...>, shape<Y...>>;
    using alone_in_y = detail::summed_in_x_alone<shape<Out...>, shape<Y...>, shape<X...>>;
    if constexpr (alone_in_x::rank > 0) {
      auto const summed = detail::sum_over(alone_in_x{}, x, at);
      return einsum<Out...>(summed, y, at);
    } else if constexpr (alone_in_y::rank > 0) {
      auto const summed = detail::sum_over(alone_in_y{}, y, at);
      return einsum<Out...>(x, summed, at);
    } else {
      x.machine().enter("einsum", at);
      auto z = detail::finished(detail::contracted<shape<Out...>>(x, y));
      detail::record_product(z, x, y);
      return z;
    }
  }
}

/// `einsum` without its all-reduce: the sum over split dimensions stays open, for those who have a better place to finish it.
///
/// Result: `partial<tensor<T, L, Out...>, axes<...>>` over the axes of the summed dimensions. Nothing is sent. Gradients as einsum's: what reaches an open
/// sum is whole, as it is for any sum's addends.
template<Dimension... Out, class T, class L, class... X, class U, class R, class... Y>
constexpr auto partial_einsum(tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y, std::source_location at = std::source_location::current()) {
  using fit     = detail::fit_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  using verdict = einsum_verdict<wet<L>, shape<Out...>, shape<X...>, shape<Y...>>;
  static_assert(accepted<fit>, "meshtf: partial_einsum can't join these operands");
  static_assert(accepted<verdict>, "meshtf: this layout can't contract these operands");
  if constexpr (!accepted<first_objection<fit, verdict>>) {
    return detail::rejected{};
  } else {
    using alone_in_x = detail::summed_in_x_alone<shape<Out...>, shape<X...>, shape<Y...>>;
    using alone_in_y = detail::summed_in_x_alone<shape<Out...>, shape<Y...>, shape<X...>>;
    static_assert(alone_in_x::rank == 0 && alone_in_y::rank == 0,
                  "meshtf: partial_einsum sums dimensions that both operands have: sum<D>(x) the others first");
    using loops = typename einsum_plan<wet<L>, shape<Out...>, shape<X...>, shape<Y...>>::loops;
    using owed  = typename detail::remaining_axes<detail::axes_that_split<L, loops>, detail::splitting_axes<L, shape<Out...>>>::type;

    x.machine().enter("partial_einsum", at);
    auto z = detail::contracted<shape<Out...>>(x, y);
    detail::record_product(z.value, x, y);
    axis_set const open = z.owed;
    return partial<tensor<T, L, Out...>, owed>{std::move(z.value), open};
  }
}

// ---- products with an open sum: what is linear in it stays open, and nothing is sent

namespace detail {

/// `legal`, or the objection to a product over `Out` of an open sum over `Over` and a whole tensor; `Y` is without what it has alone and sums.
template<class L, class Out, class X, class Y, class Over>
using open_product_verdict =
    first_objection<einsum_verdict<wet<L>, Out, X, Y>, open_verdict<L, united<Out, united<X, without<Y, summed_in_x_alone<Out, Y, X>>>>, Over>>;

/// Contributes the product of dz and the other operand; computed from addends of a sum over `open`, it owes that sum as well.
template<class T, class L, class... X, class DZ, class Y>
constexpr void contribute_product(tensor<T, L, X...> const& x, DZ const& dz, Y const& y, axis_set open) {
  auto const g = contracted<shape<X...>>(dz, y);
  contribute(x, g.value, g.owed | open);
}

/// The product of x and y, of which one is an addend: a sum over `Over` and over the axes of what is summed.
template<class Over, class Out, class T, class L, class... X, class... Y>
constexpr auto product_of_open(char const* name, std::source_location at, tensor<T, L, X...> const& x, axis_set x_owes, tensor<T, L, Y...> const& y,
                               axis_set y_owes) {
  using loops  = typename einsum_plan<wet<L>, Out, shape<X...>, shape<Y...>>::loops;
  using summed = typename remaining_axes<axes_that_split<L, loops>, splitting_axes<L, Out>>::type;
  x.machine().enter(name, at);
  auto z = contracted<Out>(x, y);
  if (wants_gradient(x, y))
    record(z.value, [x = keep(x, y.needs_gradient()), y = keep(y, x.needs_gradient()), x_owes, y_owes](auto const& dz) {
      if (x.needs_gradient()) contribute_product(x.target(), dz, y.value(), y_owes);
      if (y.needs_gradient()) contribute_product(y.target(), dz, x.value(), x_owes);
    });
  return partial<tensor_of<T, L, Out>, united_axes<L, Over, summed>>{std::move(z.value), z.owed | x_owes | y_owes};
}

}  // namespace detail

/// einsum of an open sum and a tensor: open over what the sum owes and over the axes of the summed dimensions. What the tensor has alone and is not kept is summed
/// in it first, and finished. Gradients as einsum's; that of the tensor is computed from addends, so it owes what the sum owes, too.
template<Dimension... Out, class T, class L, class... X, class Over, class U, class R, class... Y>
constexpr auto einsum(partial<tensor<T, L, X...>, Over> const& p, tensor<U, R, Y...> const& y,
                      std::source_location at = std::source_location::current()) {
  using fit     = detail::fit_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  using verdict = detail::open_product_verdict<L, shape<Out...>, shape<X...>, shape<Y...>, Over>;
  static_assert(accepted<fit>, "meshtf: einsum can't join these operands");
  static_assert(accepted<verdict>, "meshtf: this layout can't contract an open sum with this: einsum<...>(finish(p), y)");
  static_assert(algebra::after(algebra::meeting::times, algebra::pending::sum, algebra::pending::nothing).sound());
  if constexpr (!accepted<first_objection<fit, verdict>>) {
    return detail::rejected{};
  } else {
    using alone_in_x = detail::summed_in_x_alone<shape<Out...>, shape<X...>, shape<Y...>>;
    using alone_in_y = detail::summed_in_x_alone<shape<Out...>, shape<Y...>, shape<X...>>;
    if constexpr (alone_in_x::rank > 0) {
      auto const summed = detail::sum_over(alone_in_x{}, p, at);
      return einsum<Out...>(summed, y, at);
    } else if constexpr (alone_in_y::rank > 0) {
      auto const summed = detail::sum_over(alone_in_y{}, y, at);
      return einsum<Out...>(p, summed, at);
    } else {
      return detail::product_of_open<Over, shape<Out...>>("einsum", at, p.addend(), p.owed(), y, 0);
    }
  }
}
template<Dimension... Out, class T, class L, class... X, class U, class R, class... Y, class Over>
constexpr auto einsum(tensor<T, L, X...> const& x, partial<tensor<U, R, Y...>, Over> const& q,
                      std::source_location at = std::source_location::current()) {
  return einsum<Out...>(q, x, at);
}
/// There is no all-reduce to leave out.
template<Dimension... Out, class V, class Over, Tensor Y>
constexpr auto partial_einsum(partial<V, Over> const& p, Y const& y, std::source_location at = std::source_location::current()) {
  return einsum<Out...>(p, y, at);
}
template<Dimension... Out, Tensor X, class V, class Over>
constexpr auto partial_einsum(X const& x, partial<V, Over> const& q, std::source_location at = std::source_location::current()) {
  return einsum<Out...>(q, x, at);
}

template<Dimension... Out, class V, class A, class W, class B>
constexpr V einsum(partial<V, A> const& p, partial<W, B> const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::times, partial<V, A>, partial<W, B>>>,
                "meshtf: einsum of two open sums: einsum<...>(finish(p), q)");
  return p.addend();
}

}  // namespace meshtf::inline v0
