// Tensors as text: `<<` shows a process its own part and sends nothing, `print(x)` shows the whole tensor.
#pragma once

#include <iostream>
#include <ostream>
#include <sstream>
#include <string>

#include <meshtf/core/named_mesh.hpp>
#include <meshtf/io/global.hpp>  // first: see kernel/xtensor.hpp
#include <meshtf/tensor/partial.hpp>

#if __has_include(<xtensor/io/xio.hpp>)  // since 0.26
#include <xtensor/io/xio.hpp>
#else
#include <xtensor/xio.hpp>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

/// "rows, cols"
template<class Axes>
std::string list_of_axes() {
  std::string text;
  for (std::string_view const axis : axis_names<Axes>) {
    if (!text.empty()) text += ", ";
    text += axis;
  }
  return text;
}

template<class L, class D>
std::string placement_of_dim() {
  std::string text = std::string{name_of<D>()} + "=" + std::to_string(D::size);
  if (axes_of<L, D>::count > 0) text += " over " + list_of_axes<axes_of<L, D>>();
  return text;
}

}  // namespace detail

/// "float [batch=8 over rows, hidden=16 over cols]"
template<class T, class L, class... D>
std::string placement_text(tensor<T, L, D...> const&) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + detail::placement_of_dim<actual<L>, D>()), ...);
  return std::string{to_string(element_of<T>)} + " [" + text + "]";
}

namespace detail {

/// "tensor<float, mixed, batch, hidden>"
template<class T, class L, class... D>
std::string type_text(tensor<T, L, D...> const&) {
  std::string text = "tensor<" + std::string{to_string(element_of<T>)} + ", ";
  text += is_dry<L> ? "dry<" + std::string{name_of<actual<L>>()} + ">" : std::string{name_of<L>()};
  ((text += ", " + std::string{name_of<D>()}), ...);
  return text + ">";
}

/// "batch 0-3 of 8, hidden 4-7 of 16": the part that this process holds, "batch none of 8" if that is
/// nothing; under a dry layout "batch=8 over rows, hidden=16 over cols".
template<class T, class L, class... D>
std::string place_text(tensor<T, L, D...> const& x) {
  std::string text;
  if constexpr (is_dry<L>) {
    ((text += (text.empty() ? "" : ", ") + placement_of_dim<actual<L>, D>()), ...);
  } else {
    constexpr auto const& dims = placed_dims<L, shape<D...>>;
    auto const first           = first_indices(dims, x.machine().place());
    auto const local           = local_extents(dims, x.machine().place(), x.machine().counted());
    auto const global          = global_extents(dims, x.machine().counted());
    std::size_t i              = 0;
    auto const one             = [&](std::string_view name) {
      extent const from = first[i];
      extent const n    = local[i];
      text += (text.empty() ? "" : ", ") + std::string{name} + " " + (n == 0 ? "none" : std::to_string(from));
      if (n > 1) text += "-" + std::to_string(from + n - 1);
      text += " of " + std::to_string(global[i++]);
    };
    (one(name_of<D>()), ...);
  }
  return text;
}

/// The local elements of a process in nested braces, or the first few of many; `allocated` are its allocated
/// extents.
template<class T, std::size_t Rank>
void write_elements(std::ostream& out, T const* x, std::array<extent, Rank> const& extents,
                    std::array<extent, Rank> const& allocated) {
  constexpr extent max_shown = 32;
  constexpr extent few_shown = 8;
  extent size                = 1;
  for (extent n : extents) size *= n;
  extent const shown = size <= max_shown ? size : few_shown;
  for (extent i = 0; i < shown; ++i) {
    std::string open;
    std::string close;
    // elements within one index of the next outer dimension, local and allocated; the place of this one
    extent below    = 1;
    extent stride   = 1;
    extent position = 0;
    for (std::size_t d = Rank; d-- > 0;) {
      position += i / below % extents[d] * stride;
      below *= extents[d];
      stride *= allocated[d];
      if (shown == size && i % below == 0) open += '{';
      if (shown == size && (i + 1) % below == 0) close += '}';
    }
    out << (i == 0 ? "" : ", ") << open << static_cast<computed<T>>(x[position]) << close;
  }
  if (size == 0) out << "{}";
  if (shown < size) out << " ... (" << size << " elements)";
}

/// `whole` in elements that xtensor can print.
template<class T>
auto as_printed(xt::xarray<T, xt::layout_type::row_major> const& global) {
  return xt::xarray<computed<T>, xt::layout_type::row_major>(xt::cast<computed<T>>(global));
}

/// The text after the type: `before`, the place and the elements.
template<class T, class L, class... D>
std::string part_text(std::ostream const& like, std::string const& before, tensor<T, L, D...> const& x) {
  std::string const place = place_text(x);
  std::ostringstream text;
  text.copyfmt(like);
  text.width(0);
  text << before << (place.empty() ? "" : " ") << place;
  if constexpr (!is_dry<L>) {
    text << ": ";
    write_elements(text, x.data(),
                   local_extents(placed_dims<L, shape<D...>>, x.machine().place(), x.machine().counted()),
                   allocated_extents<L, shape<D...>>);
  }
  return text.str();
}

template<class Unreduced>
struct unreduced_text;
template<class... A>
struct unreduced_text<axes<A...>> {
  static std::string list(axis_set unreduced) {
    std::string text;
    int i                           = 0;
    [[maybe_unused]] auto const add = [&](std::string const& axis) {
      if (!among(unreduced, i++)) return;
      if (!text.empty()) text += ", ";
      text += axis;
    };
    (add(std::string{name_of<A>()}), ...);
    return text.empty() ? "fully reduced" : "unreduced over " + text;
  }
};

}  // namespace detail

/// Type, placement and this process's part, in one line; if the part has more than 32 elements, the first
/// 8. Sends nothing: each process may do it alone.
///
///     tensor<float, mixed, batch, hidden> batch 0-1 of 4, hidden 4-5 of 8: {{4, 5}, {12, 13}}
///
/// `print(x)` shows the whole. Under a dry layout there is no part to show.
template<class T, class L, class... D>
std::ostream& operator<<(std::ostream& out, tensor<T, L, D...> const& x) {
  return out << detail::part_text(out, detail::type_text(x), x);
}

/// The same for a partial sum: its unreduced axes, and this process's local term.
template<class V, class... A>
std::ostream& operator<<(std::ostream& out, partial<V, axes<A...>> const& p) {
  using mesh_axes = typename V::layout_type::mesh_type::all_axes;
  auto const type = "partial<" + detail::type_text(p.local_terms()) + ", axes<" +
                    detail::list_of_axes<axes<A...>>() + ">> ";
  auto const text = detail::part_text(
      out, type + detail::unreduced_text<mesh_axes>::list(p.owed()) + (V::shape_type::rank > 0 ? "," : ""),
      p.local_terms());
  return out << text;
}

/// Prints the placement and all elements of `x` on the stream of process 0 alone. Every process of the mesh
/// calls it: the elements travel as in `to_global(x)`. If there are more than 1000 elements, it prints those
/// at the ends, as xtensor does.
template<class T, class L, class... D>
void print(tensor<T, L, D...> const& x, std::ostream& out = std::cout) {
  static_assert(!is_dry<L>,
                "meshtf: a tensor under a dry layout has no elements, so print(x) has nothing to show");
  if constexpr (!is_dry<L>) {
    auto const global = to_global(x);
    if (x.machine().rank() == 0) out << placement_text(x) << "\n" << detail::as_printed(global) << "\n";
  }
}

MESHTF_ACCEPT_REJECTED(print)
inline std::ostream& operator<<(std::ostream& out, rejected) { return out; }

}  // namespace v0
}  // namespace meshtf
