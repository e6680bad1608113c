// unstack: a tensor as one for each element of a dimension.
#pragma once

#include <array>
#include <source_location>
#include <utility>

#include <meshtf/plan/stack_plan.hpp>
#include <meshtf/tensor/pieces.hpp>

namespace meshtf {
inline namespace v0 {

/// An array of tensors: the elements of `x` at each index of `Along`, without that dimension.
///
///     auto const [mean, deviation] = unstack<two>(statistics);
///
/// `Along` is whole under the layout. Local; those of a partial sum are partial sums. Gradient: those of the
/// tensors stacked, with zeros for one that has none; that of a parameter stays unreduced.
template<Dimension Along, detail::Operand X>
constexpr auto unstack(X const& operand, std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using plan    = unstack_plan<actual<L>, detail::shape_in<X>, Along>;
  using verdict = typename plan::verdict;
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: unstack can't work along this dimension");
  if constexpr (!accepted<verdict>) {
    return std::array<detail::rejected, std::size_t{Along::size}>{};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("unstack", at);
    auto const cut   = detail::to_be_cut(x);
    auto const piece = [&](extent i) {
      auto z =
          detail::piece_of<tensor_of<detail::element_in<X>, L, typename plan::part>>(cut, plan::place, i);
      if constexpr (detail::PartialSum<X>)
        return detail::handed_through<algebra::use::layout_only>(operand, std::move(z));
      else return z;
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{piece(extent{I})...};
    }(std::make_index_sequence<std::size_t{Along::size}>{});
  }
}

template<Dimension Along>
constexpr auto unstack(rejected, std::source_location = {}) {
  return std::array<rejected, std::size_t{Along::size}>{};
}

}  // namespace v0
}  // namespace meshtf
