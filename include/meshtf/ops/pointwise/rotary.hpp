// rotary: positions as rotations, for queries and keys of attention.
#pragma once

#include <meshtf/ops/index/iota.hpp>
#include <meshtf/plan/rotary_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// Options of `rotary`.
struct rotary_options {
  extent first = 0;  // added to each position, for instance how many positions a cache holds
  double base  = 10000;
};

namespace detail {

template<class Key, class T, class L, class... X, class... P>
constexpr auto rotated(tensor<T, L, X...> const& x, tensor<std::int32_t, L, P...> const& positions,
                       rotary_options const& o) {
  using plan = rotary_plan<actual<L>, shape<X...>, Key, shape<P...>>;
  auto& m    = x.machine();
  expect_one_mesh(m, positions.machine());
  auto z = tensor<T, L, X...>::uninitialised(m);
  m.run(task::rotate<T>{o.first, o.base, false}, plan::steps, x.data(), z.data(), positions.data());
  record_linear(z, x, [positions = keep(positions), o](auto const& to, auto const& dz, axis_set unreduced) {
    auto dx = tensor<T, L, X...>::uninitialised(dz.machine());
    dz.machine().run(task::rotate<T>{o.first, o.base, true}, plan::steps, dz.data(), dx.data(),
                     positions.value().data());
    contribute(to, dx, unreduced);
  });
  return z;
}

}  // namespace detail

/// Rotary position embedding: pair number i of the elements along `Key` is rotated by the angle position *
/// base^(-2 i / Key::size). The product of a query and a key then depends on the difference of their
/// positions only.
///
/// A pair is an element of the first half and the one at the same place in the second half, as in Llama and
/// GPT-NeoX (the paper, and GPT-J, pair neighbours: the weights that make queries and keys are then
/// permuted). `positions` are int and have any of x's other dimensions.
///
/// Local; `Key` must be whole. Linear: a partial sum stays partial. Gradient: dz is rotated back.
/// Source: Su et al., RoFormer (2021), 3.4.2.
template<Dimension Key, detail::FloatingOperand X, Tensor P>
constexpr auto rotary(X const& operand, P const& positions, rotary_options options = {},
                      std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using number  = typename P::element_type;
  using int32   = std::conditional_t<std::is_same_v<number, std::int32_t>, legal,
                                     operands_have_different_elements<std::int32_t, number>>;
  using verdict = first_objection<
      detail::fit_verdict<tensor<std::int32_t, L>, tensor<std::int32_t, typename P::layout_type>>, int32,
      rotary_verdict<actual<L>, detail::shape_in<X>, Key, typename P::shape_type>>;
  static_assert(accepted<verdict>, "meshtf: rotary can't rotate along this dimension by these positions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::scaled>(operand, [&](auto const& x) {
      x.machine().begin_operation("rotary", at);
      return detail::rotated<Key>(x, positions, options);
    });
  }
}

/// The same by the index along `Length`:
///
///     auto z = attention<length, length, key>(rotary<length, key>(q), rotary<length, key>(k), v,
///                                             {.causal = true});
template<Dimension Length, Dimension Key, detail::FloatingOperand X>
constexpr auto rotary(X const& operand, rotary_options options = {},
                      std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using verdict = rotary_verdict<actual<L>, detail::shape_in<X>, Key, shape<Length>>;
  static_assert(accepted<verdict>, "meshtf: rotary can't rotate along this dimension by these positions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::scaled>(operand, [&](auto const& x) {
      x.machine().begin_operation("rotary", at);
      return detail::rotated<Key>(x, detail::indices<std::int32_t, L, Length>(x.machine()), options);
    });
  }
}

MESHTF_ACCEPT_REJECTED(rotary)
MESHTF_ACCEPT_REJECTED_WITH(rejected, rotary, rotary_options)
template<class... Named, class X, class P>
  requires detail::AnyRejected<X, P>
constexpr rejected rotary(X const&, P const&, rotary_options const&, std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
