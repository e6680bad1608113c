// Linear layers: a product with a trained matrix, with and without a bias.
#pragma once

#include <meshtf/nn/weight.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

namespace detail {

/// `shape<D>` of a dimension; a shape itself.
template<class D>
struct as_shape : std::type_identity<shape<D>> {};
template<class... D>
struct as_shape<shape<D...>> : std::type_identity<shape<D...>> {};
template<class D>
using shape_of = typename as_shape<D>::type;

template<class T, class L, class S>
struct parameter_of_shape;
template<class T, class L, class... D>
struct parameter_of_shape<T, L, shape<D...>> : std::type_identity<kept_parameter<T, L, D...>> {};
/// A parameter with elements of type `T` and shape `S`.
template<class T, class L, class S>
using parameter_of = typename parameter_of_shape<T, L, S>::type;

}  // namespace detail

/// x times a matrix: the dimensions `In` of x are summed, and the result ends with `Out`. Each is a dimension
/// or a `shape` of several.
///
/// Where `In` is split, one all-reduce over its axes finishes the result; where `Out` is split, one over its
/// axes finishes the gradient of x.
///
/// All layers compute in the elements of x. In mixed precision x has another type than the weights: each
/// weight is cast where it is used, and its gradient arrives in its own type.
template<FloatingElement T, Layout L, class In, class Out>
struct projection {
  using in  = detail::shape_of<In>;
  using out = detail::shape_of<Out>;

  detail::parameter_of<T, L, united<in, out>> weight;

  /// `initialiser` gives the initial weight, for instance `normal{seed, 0.02}`.
  template<class Initialiser>
  constexpr projection(machine<L>& m, Initialiser const& initialiser) : weight{m, initialiser} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return detail::einsum_with_weight(united<without<typename X::shape_type, in>, out>{}, x, weight, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight)); }
};

/// A projection plus a bias along `Out` that starts at 0.
template<FloatingElement T, Layout L, class In, class Out>
struct linear {
  using in  = detail::shape_of<In>;
  using out = detail::shape_of<Out>;

  detail::parameter_of<T, L, united<in, out>> weight;
  detail::parameter_of<T, L, out> bias;

  template<class Initialiser>
  constexpr linear(machine<L>& m, Initialiser const& initialiser) : weight{m, initialiser}, bias{m} {}

  /// The product alone, for callers that add the bias in a pass with something else.
  template<class X>
  constexpr auto without_bias(X const& x, std::source_location at = std::source_location::current()) const {
    return detail::einsum_with_weight(united<without<typename X::shape_type, in>, out>{}, x, weight, at);
  }
  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const y = without_bias(x, at);
    return y + detail::weight_for<X>(bias, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight), named("bias", bias)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
