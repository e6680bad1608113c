// einsum: products of two tensors, summed over every dimension that is not named.
#pragma once

#include <source_location>

#include <meshtf/ops/sum.hpp>
#include <meshtf/tensor/local.hpp>
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
  static_assert(accepted<fit>, "meshtf: the operands of einsum differ in more than their dimensions");
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
  static_assert(accepted<fit>, "meshtf: the operands of partial_einsum differ in more than their dimensions");
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

}  // namespace meshtf::inline v0
