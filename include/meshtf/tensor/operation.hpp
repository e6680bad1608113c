// Operands of operations, and what the bodies of operations have in common.
//
// An operand is a tensor or a partial sum; of a partial sum, an operation sees the local terms. One body
// serves both: it computes with `local_terms(x)`, and its result is a tensor again, or a partial sum over the
// unreduced axes of the operand (`linearly`, `result_of`). plan/pending.hpp says what may be done with a
// partial sum; an operation asserts `use_verdict` or `meeting_verdict` with a sentence that says what to
// write instead.
#pragma once

#include <concepts>
#include <source_location>
#include <type_traits>

#include <meshtf/plan/reshard/made_whole.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/partial_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

/// A plain number. It takes the element type of the tensor it meets; in arithmetic, the type that this is
/// computed with.
template<class N>
// most types that are asked are tensors: the builtin instantiates nothing
concept Number = !__is_class(N) && std::is_arithmetic_v<N>;

namespace detail {

template<class V, class Over>
void take_partial_sum(partial<V, Over> const&);

template<class X>
concept PartialSum = requires(X const& x) { detail::take_partial_sum(x); };

template<class X>
concept Operand = Tensor<X> || PartialSum<X>;

/// The tensor that an operation computes with. For a partial sum, these are its local terms.
template<class T, class L, class... D>
[[gnu::always_inline]] constexpr tensor<T, L, D...> const& local_terms(tensor<T, L, D...> const& x) {
  return x;
}
template<class V, class Over>
[[gnu::always_inline]] constexpr V const& local_terms(partial<V, Over> const& p) {
  return p.local_terms();
}

template<Operand X>
using tensor_in = std::remove_cvref_t<decltype(local_terms(std::declval<X const&>()))>;
template<Operand X>
using element_in = typename tensor_in<X>::element_type;
template<Operand X>
using layout_in = typename tensor_in<X>::layout_type;
template<Operand X>
using shape_in = typename tensor_in<X>::shape_type;

template<class X>
concept FloatingOperand = Operand<X> && FloatingElement<element_in<X>>;

template<class X>
concept NumberOperand = Operand<X> && NumberElement<element_in<X>>;

template<class X>
concept IntegerOperand = NumberOperand<X> && !FloatingElement<element_in<X>>;

template<class X>
struct unreduced_axes : std::type_identity<axes<>> {};
template<class V, class Over>
struct unreduced_axes<partial<V, Over>> : std::type_identity<Over> {};

/// The axes over which an operand may still be a sum, and those over which it is one.
template<class X>
using unreduced_axes_in = typename unreduced_axes<X>::type;

template<Tensor X>
[[gnu::always_inline]] constexpr axis_set unreduced_axes_of(X const&) {
  return 0;
}
template<class V, class Over>
[[gnu::always_inline]] constexpr axis_set unreduced_axes_of(partial<V, Over> const& p) {
  return p.owed();
}

/// `legal` if these two may be operands of one operation: they have the same layout and the same element
/// type.
template<Operand X, Operand Y>
using operands_fit = fit_verdict<tensor_in<X>, tensor_in<Y>>;

template<Operand X, class D>
inline constexpr extent sent_until_whole = 0;
template<Operand X, class D>
  requires(shape_in<X>::template has<D>)
inline constexpr extent sent_until_whole<X, D> = [] {
  using L = actual<layout_in<X>>;
  using M = typename L::mesh_type;
  return sent_to_make_whole(placed_dims<L, shape_in<X>>, dims_within<shape_in<X>, shape<D>>[0],
                            joining_among<M, unreduced_axes_in<X>>, axis_sizes_in_stage<L>,
                            extent{sizeof(element_in<X>)});
}();

template<class Verdict, class... X>
struct verdict_with_reshard : std::type_identity<Verdict> {};
template<template<class, class> class Objection, class D, class... A, class... X>
  requires(shape_in<X>::template has<D> || ...)
struct verdict_with_reshard<Objection<D, axes<A...>>, X...>
    : std::type_identity<Objection<D, reshard_for<(sent_until_whole<X, D> + ...), A...>>> {};

/// `Verdict` as assertions show it: if it says that a dimension is split, with what a reshard of those
/// operands `X...` that have it would send.
template<class Verdict, class... X>
using with_reshard = typename verdict_with_reshard<Verdict, X...>::type;

/// f(x) of a tensor. Of a partial sum, f of its local terms, which are used as `How` says, and the sum stays
/// partial.
template<algebra::use How, Operand X, class F>
constexpr auto linearly(X const& x, F const& f) {
  if constexpr (PartialSum<X>) return handed_through<How>(x, f(x.local_terms()));
  else return f(local_terms(x));
}

/// `z` as the result of an operation on `X...`. If one of these is partial, a partial sum that is unreduced
/// over `unreduced`, of the axes over which they may be unreduced and `Split`; otherwise a tensor.
template<class Split, Operand... X, class T, class L, class... Z>
constexpr auto result_of(tensor<T, L, Z...> z, axis_set unreduced) {
  if constexpr ((PartialSum<X> || ...))
    return partial<tensor<T, L, Z...>, union_of<L, unreduced_axes_in<X>..., Split>>{std::move(z), unreduced};
  else return z;
}

/// Finishes a local result if it was made from tensors. If it was made from a partial sum, it stays unreduced
/// until somebody asks.
template<Operand... X, class Value>
constexpr void reduce_unless_partial(local_result<Value>& z) {
  if constexpr (!(PartialSum<X> || ...)) {
    finish_in_place(z.value, z.unreduced, z.why);
    z.unreduced = 0;
  }
}

/// Gives `x` the gradient f(dz, ...), summed over the dimensions that `x` lacks. If it is computed from
/// local terms of sums over `unreduced`, it is unreduced over these axes too.
template<class T, class L, class... X, class F, class... Z>
constexpr void pull_back(tensor<T, L, X...> const& x, axis_set unreduced, F const& f,
                         tensor<T, L, Z...> const& dz, auto const&... rest) {
  if constexpr (std::is_same_v<F, function::identity> && std::is_same_v<shape<X...>, shape<Z...>>) {
    contribute(x, dz, unreduced);
  } else {
    auto const g = reduced<reduction::sum, shape<X...>>(f, dz, rest...);
    contribute(x, g.value, g.unreduced | unreduced, g.why);
  }
}

/// Puts `pull(x, dz, unreduced)`, which gives `x` its gradient, on the tape. The gradient of a parameter's
/// image stays unreduced, as the parameter's does. Integers and bools have none, and for some no kernel that
/// it would need.
template<class Z, class X, class F>
constexpr void record_linear(Z& z, X const& x, F pull) {
  if constexpr (FloatingElement<typename X::element_type>) {
    if (!wants_gradient(x)) return;
    bool const stays_unreduced = x.gradient_stays_unreduced();
    record<incoming::unreduced_if_allowed>(
        z, [x = x.without_value(), pull](auto const& dz, axis_set unreduced) { pull(x, dz, unreduced); },
        stays_unreduced);
  }
}

/// f(x), where f is linear or a shift; the gradient is g(dz).
template<class F, class G, class T, class L, class... X>
constexpr auto linear_function(char const* name, std::source_location at, F const& f, G const& g,
                               tensor<T, L, X...> const& x) {
  x.machine().begin_operation(name, at);
  auto z = each<T, shape<X...>>(f, x);
  if constexpr (std::is_same_v<G, function::identity>)
    record_linear(z, x,
                  [](auto const& to, auto const& dz, axis_set unreduced) { contribute(to, dz, unreduced); });
  else
    record_linear(z, x, [g](auto const& to, auto const& dz, axis_set unreduced) {
      contribute(to, each<T, shape<X...>>(g, dz), unreduced);
    });
  return z;
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
