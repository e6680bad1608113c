// Whole tensors: from_global and to_global.
#pragma once

#include <cstddef>
#include <string>

#include <meshtf/core/elements.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/kernel/xtensor.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/stale.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class Extents>
std::string spelled_extents(Extents const& extents) {
  std::string text;
  for (auto n : extents) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text.empty() ? "a number" : text;
}

/// `whole` as an expression whose elements can be assigned to a `T`: narrow elements are rounded only where
/// the program says so.
template<class T, class Array>
decltype(auto) in_elements_of(Array const& global) {
  if constexpr (NarrowElement<T> && !std::is_same_v<typename Array::value_type, T>)
    return xt::cast<T>(global);
  else return (global);
}

}  // namespace detail

/// A tensor with the elements of `whole`, an xtensor array or view of shape D::size... (of counted
/// dimensions: as many elements as there are). Each process takes its part; nothing is sent. All processes
/// must pass the same values. `from_global<bfloat16>` rounds the elements of arrays of another type.
template<Element T, Layout L, Dimension... D, class Array>
tensor<T, L, D...> from_global(machine<L>& m, Array const& global) {
  static_assert(
      !is_dry<L>,
      "meshtf: under a dry layout there are no elements to take: tensor<T, L, D...>{m} stands for them");
  auto const extents = global_extents(placed_dims<L, shape<D...>>, m.counted());
  bool fits          = global.dimension() == sizeof...(D);
  for (std::size_t i = 0; fits && i < sizeof...(D); ++i)
    fits = static_cast<extent>(global.shape(i)) == extents[i];
  if (!fits)
    throw usage_error("from_global of " + detail::spelled_shape<shape<D...>>() + " expects an array of " +
                      detail::spelled_extents(extents) + ", got one of " +
                      detail::spelled_extents(global.shape()));

  xt::xarray<T, xt::layout_type::row_major> const ordered = detail::in_elements_of<T>(global);
  auto x                                                  = tensor<T, L, D...>::uninitialised(m);
  for_each_run(placed_dims<L, shape<D...>>, m.place(), m.counted(),
               [&](extent local, extent offset, extent n) {
                 std::copy_n(ordered.data() + offset, n, x.data() + local);
               });
  return x;
}

/// All elements of `x` as an xtensor array, on every process. Every process of the mesh calls it: one
/// all-gather over the axes that split `x`. If one stage of a pipeline has x, the others get it by a
/// broadcast.
template<class T, class L, class... D>
xt::xarray<T, xt::layout_type::row_major> to_global(tensor<T, L, D...> const& x) {
  static_assert(!is_dry<L>,
                "meshtf: a tensor under a dry layout has no elements, so to_global(x) has nothing to show");
  using mesh_type         = typename L::mesh_type;
  auto& m                 = x.machine();
  constexpr axis_set over = split_over<L, shape<D...>>;
  auto const& comm        = m.along(over);

  bool const is_here = !x.handle()->is_absent();
  detail::elements<T> parts(static_cast<std::size_t>(x.size) * static_cast<std::size_t>(comm.size()));
  if (is_here) {
    if (over == 0) std::copy_n(x.data(), x.size, parts.data());
    else m.gather_parts(x.data(), x.size, parts.data(), over);
  }

  std::array<std::size_t, sizeof...(D)> const extents{
      static_cast<std::size_t>(m.counted().template of<D>())...};
  auto global = xt::xarray<T, xt::layout_type::row_major>::from_shape(extents);
  for (int rank = 0; is_here && rank < comm.size(); ++rank) {
    // ranks along a set of axes are row-major in the mesh's order
    std::array<extent, max_axes> coordinates{};
    extent left = rank;
    for (std::size_t a = max_axes; a-- > 0;)
      if ((over >> a & 1) != 0) {
        coordinates[a] = left % axis_sizes<mesh_type>[a];
        left /= axis_sizes<mesh_type>[a];
      }
    T const* const part = parts.data() + rank * x.size;
    for_each_run(
        placed_dims<L, shape<D...>>, {coordinates, axis_sizes<mesh_type>}, m.counted(),
        [&](extent local, extent to, extent n) { std::copy_n(part + local, n, global.data() + to); });
  }
  if constexpr (is_staged<L>)
    if (int const stage = x.handle()->stage(); stage >= 0)
      meshtf::broadcast(m.along(stage_axes<L>), global.data(), static_cast<extent>(global.size()), stage);
  return global;
}

MESHTF_ACCEPT_REJECTED(to_global)

}  // namespace v0
}  // namespace meshtf
