// outer_product: all products of an element of one operand with an element of the other.
#pragma once

#include <meshtf/ops/product/matmul.hpp>

namespace meshtf {
inline namespace v0 {

/// An outer product has the dimensions of both operands, each once, but both have `Dim`: rename it in one of
/// them, or multiply elementwise, `x * y`.
template<class Dim, class X, class Y>
struct dim_is_in_both {};

namespace detail {

template<class Common, class X, class Y>
struct common_objection;
template<class... D, class X, class Y>
struct common_objection<shape<D...>, X, Y>
    : std::type_identity<first_objection<legal, dim_is_in_both<D, X, Y>...>> {};

}  // namespace detail

//= || torch.outer(x, y) || jnp.outer(x, y) || outer_product(x, y)
/// z[X..., Y...] = x[X...] * y[Y...], of operands that share no dimension: another spelling of `einsum`.
/// Local.
template<detail::Operand X, detail::Operand Y>
constexpr auto outer_product(X const& x, Y const& y,
                             std::source_location at = std::source_location::current()) {
  using one     = detail::shape_in<X>;
  using other   = detail::shape_in<Y>;
  using verdict = typename detail::common_objection<common_dims<one, other>, one, other>::type;
  static_assert(accepted<verdict>, "meshtf: outer_product's operands share a dimension");
  if constexpr (accepted<verdict>) return detail::product_keeping(united<one, other>{}, x, y, at);
  else return detail::rejected{};
}

MESHTF_ACCEPT_REJECTED(outer_product)

}  // namespace v0
}  // namespace meshtf
