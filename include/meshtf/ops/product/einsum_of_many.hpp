// einsum of one operand, and of three and more: products of two, in the order that costs least.
#pragma once

#include <tuple>

#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/shape/transpose.hpp>
#include <meshtf/plan/einsum_order.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The dimensions of `Met` that are in `Out` or in another operand, so they outlive the product.
template<class Met, class Out, class... Others>
using outliving = without<Met, without<Met, typename all_dims<Out, Others...>::type>>;

template<class X>
using factor_in = factor_of<shape_in<X>, PartialSum<X>, unreduced_axes_in<X>>;

template<class... D, Operand X, Operand Y>
constexpr auto product_into(shape<D...>, X const& x, Y const& y, std::source_location at) {
  return einsum<D...>(x, y, at);
}

/// The numbers from 0 to n without `Other`.
template<std::size_t Other, std::size_t... I>
constexpr std::index_sequence<(I < Other ? I : I + 1)...> all_but(std::index_sequence<I...>) {
  return {};
}

/// The dimensions of the product of the operands `One` and `Other`: what they have and what is in `Out` or in
/// one of the `Left...`.
template<class Out, std::size_t One, std::size_t Other, class Operands, std::size_t... Left>
using product_shape = outliving<
    united<shape_in<std::tuple_element_t<One, Operands>>, shape_in<std::tuple_element_t<Other, Operands>>>,
    Out, std::conditional_t<Left == One, shape<>, shape_in<std::tuple_element_t<Left, Operands>>>...>;

/// `z` in the place of the operand number `One`.
template<std::size_t One, std::size_t I, class Z, class Operands>
constexpr auto const& operand_or(Z const& z, Operands const& all) {
  if constexpr (I == One) return z;
  else return *std::get<I>(all);
}

template<class Out, Operand X, Operand Y>
constexpr auto product_of_all(std::source_location at, X const& x, Y const& y) {
  return product_into(Out{}, x, y, at);
}
template<class Out, Operand X, Operand Y, Operand Z, Operand... More>
constexpr auto product_of_all(std::source_location at, X const& x, Y const& y, Z const& z,
                              More const&... more);

/// The product of the operands `One` and `Other`, multiplied by all others.
template<class Out, std::size_t One, std::size_t Other, Operand... X, std::size_t... Left>
constexpr auto product_of_pair(std::source_location at, std::tuple<X const*...> const& all,
                               std::index_sequence<Left...>) {
  auto const z = product_into(product_shape<Out, One, Other, std::tuple<X...>, Left...>{},
                              *std::get<One>(all), *std::get<Other>(all), at);
  if constexpr (std::is_same_v<decltype(z), rejected const>) return rejected{};
  else return product_of_all<Out>(at, operand_or<One, Left>(z, all)...);
}

template<class Out, Operand X, Operand Y, Operand Z, Operand... More>
constexpr auto product_of_all(std::source_location at, X const& x, Y const& y, Z const& z,
                              More const&... more) {
  constexpr auto order        = einsum_order_under<actual<layout_in<X>>, element_in<X>, Out, factor_in<X>,
                                                   factor_in<Y>, factor_in<Z>, factor_in<More>...>;
  constexpr std::size_t one   = order.one;
  constexpr std::size_t other = order.other;
  return product_of_pair<Out, one, other>(at, std::tuple{&x, &y, &z, &more...},
                                          all_but<other>(std::make_index_sequence<sizeof...(More) + 2>{}));
}

template<class Out, Operand X, Operand... Rest>
constexpr auto checked_product(std::source_location at, X const& x, Rest const&... rest) {
  using fit = first_objection<operands_fit<X, Rest>...>;
  static_assert(accepted<fit>, "meshtf: einsum can't join these operands");
  if constexpr (accepted<fit>) return product_of_all<Out>(at, x, rest...);
  else return rejected{};
}

}  // namespace detail

/// x summed over all dimensions but `Out...`, which are named in the order they shall have:
/// `transpose<Out...>(sum<...>(x))`.
template<Dimension... Out, detail::Operand X>
constexpr auto einsum(X const& x, std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using verdict = einsum_verdict<actual<L>, shape<Out...>, in, in>;
  static_assert(accepted<verdict>, "meshtf: this layout can't sum this operand");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else if constexpr (sizeof...(Out) == in::rank) {
    return transpose<Out...>(x, at);
  } else {
    using gone = without<in, shape<Out...>>;
    using left = without<in, gone>;
    if constexpr (std::same_as<left, shape<Out...>>) return detail::sum_over(gone{}, x, at);
    else return transpose<Out...>(detail::sum_over(gone{}, x, at), at);
  }
}

/// z[Out...] = the sum of the product of all operands over all dimensions but `Out...`.
///
/// It is made of products of two, each a `einsum` with its own price, message and gradient. Which two are
/// multiplied first, the compiler decides: of the orders that the layout allows, that of the fewest flops of
/// a process, then that which sends the fewest bytes (`order_of`). A record without a layout takes the order
/// of the fewest flops in all. Of more than five operands each next pair is the cheapest by itself, which may
/// miss the only legal order. One operand may be a partial sum.
/// Errors: `einsum_verdict` of the pair that can't be contracted, if there is no other order.
template<Dimension... Out, detail::Operand X, detail::Operand Y, detail::Operand Z>
constexpr auto einsum(X const& x, Y const& y, Z const& z,
                      std::source_location at = std::source_location::current()) {
  return detail::checked_product<shape<Out...>>(at, x, y, z);
}
template<Dimension... Out, detail::Operand X, detail::Operand Y, detail::Operand Z, detail::Operand U>
constexpr auto einsum(X const& x, Y const& y, Z const& z, U const& u,
                      std::source_location at = std::source_location::current()) {
  return detail::checked_product<shape<Out...>>(at, x, y, z, u);
}
/// With five and more operands no line is known: a place can't stand after a list of any length.
template<Dimension... Out, detail::Operand X, detail::Operand Y, detail::Operand Z, detail::Operand U,
         detail::Operand V, detail::Operand... More>
constexpr auto einsum(X const& x, Y const& y, Z const& z, U const& u, V const& v, More const&... more) {
  return detail::checked_product<shape<Out...>>({}, x, y, z, u, v, more...);
}

}  // namespace v0
}  // namespace meshtf
