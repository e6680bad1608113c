// What flip, roll, shift and pad have in common: elements that move along a dimension, and the backward pass.
#pragma once

#include <meshtf/plan/displace_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class From, class To, class T, class L, class... D>
constexpr auto moved_along(tensor<T, L, D...> const& x, displacement const& way, T beyond) {
  using plan = displace_plan<actual<L>, shape<D...>, From, To>;
  auto z     = tensor_of<T, L, typename plan::result>::uninitialised(x.machine());
  x.machine().run(task::displace<T>{way, beyond}, plan::lines, x.data(), z.data());
  return z;
}

/// The elements of `x` where `way` takes them along `From`, which becomes `To`, and `beyond` elsewhere. The
/// gradient is displaced in the other direction, and is unreduced over the same axes as dz; that of a
/// parameter stays unreduced.
template<class From, class To, class T, class L, class... D>
constexpr auto displaced(tensor<T, L, D...> const& x, displacement const& way, T beyond = {}) {
  auto z = moved_along<From, To>(x, way, beyond);
  record_linear(z, x, [back = way.back()](auto const& to, auto const& dz, axis_set unreduced) {
    contribute(to, moved_along<To, From>(dz, back, T{}), unreduced);
  });
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
