// What split_into and unstack have in common: pieces of one value, whose gradients flow back to it together.
#pragma once

#include <meshtf/plan/slice_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The elements of `x` as a value of its own, to be cut in pieces. Its gradient, in which pieces lie side by
/// side, is contributed to `x` once.
template<class T, class L, class... D>
constexpr tensor<T, L, D...> to_be_cut(tensor<T, L, D...> const& x) {
  auto z = x.without_slot();
  record_linear(z, x,
                [](auto const& to, auto const& dz, axis_set unreduced) { contribute(to, dz, unreduced); });
  return z;
}

/// Puts `dz`, the gradient of the piece that begins at `first`, next to those of other pieces. It is zero
/// where no piece had a gradient.
template<class T, class L, class... D, class Steps, class DZ>
constexpr void contribute_piece(tensor<T, L, D...> const& x, Steps const& place, extent first, DZ const& dz,
                                axis_set unreduced) {
  auto& m        = dz.machine();
  auto const put = [&](T* whole) { m.run(task::put_part<T>{first}, place, whole, dz.data()); };
  if (auto& slot = x.slot(); slot.sum) {
    m.must_know(slot.unreduced ^ unreduced);
    if (slot.unreduced == unreduced) return put(slot.sum->data());
  }
  tensor<T, L, D...> dx{m};
  put(dx.data());
  contribute(x, dx, unreduced);
}

/// The part of `x`, which was made `to_be_cut`, that begins at `first`.
template<class Result, class T, class L, class... D, class Steps>
constexpr Result piece_of(tensor<T, L, D...> const& x, Steps const& place, extent first) {
  auto z = Result::uninitialised(x.machine());
  x.machine().run(task::take_part<T>{first}, place, x.data(), z.data());
  record_linear(z, x, [first, &place](auto const& to, auto const& dz, axis_set unreduced) {
    contribute_piece(to, place, first, dz, unreduced);
  });
  return z;
}

/// The pieces of a partial sum, of which `pieces` are the local terms, are partial sums.
template<class X, class Pieces>
constexpr auto pieces_as_in(X const& x, Pieces pieces) {
  if constexpr (PartialSum<X>)
    return std::apply(
        [&](auto&... z) { return std::tuple{handed_through<algebra::use::layout_only>(x, std::move(z))...}; },
        pieces);
  else return pieces;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
