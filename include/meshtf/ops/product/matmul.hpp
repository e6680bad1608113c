// matmul: products of matrices, summed over the dimensions that are named.
#pragma once

#include <meshtf/ops/product/einsum.hpp>

namespace meshtf {
inline namespace v0 {

/// A product of matrices sums over `Dim`, but its operands `X` and `Y` do not both have it. `sum<Dim>(x)`
/// sums over a dimension of one.
template<class Dim, class X, class Y>
struct summed_dim_is_not_in_both {};

namespace detail {

template<class... D, Operand X, Operand Y>
constexpr auto product_keeping(shape<D...>, X const& x, Y const& y, std::source_location at) {
  return einsum<D...>(x, y, at);
}

}  // namespace detail

/// The product of x and y summed over `Along...`, which both have: another spelling of `einsum`. The result
/// has all other dimensions, those of x first; what both have and is not summed is a batch of products.
///
///     auto h = matmul<in>(x, w);   // einsum<batch, hidden>(x, w)
template<Dimension... Along, detail::Operand X, detail::Operand Y>
  requires(sizeof...(Along) > 0)
constexpr auto matmul(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  using one     = detail::shape_in<X>;
  using other   = detail::shape_in<Y>;
  using verdict = first_objection<std::conditional_t<one::template has<Along> && other::template has<Along>,
                                                     legal, summed_dim_is_not_in_both<Along, one, other>>...>;
  static_assert(accepted<verdict>, "meshtf: matmul can't sum this dimension");
  if constexpr (accepted<verdict>)
    return detail::product_keeping(without<united<one, other>, shape<Along...>>{}, x, y, at);
  else return detail::rejected{};
}

MESHTF_ACCEPT_REJECTED(matmul)

}  // namespace v0
}  // namespace meshtf
