// transpose: the same elements in another order in memory.
#pragma once

#include <meshtf/core/function.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// A transpose must name each dimension of the tensor once, in the new order.
template<class Given, class S>
struct not_the_dims_of_tensor {};

/// `x` with its dimensions in the order `Order...`. Local; a dimension stays split as it was, and a partial
/// sum stays partial.
/// Gradient: transposed back; that of a parameter stays unreduced.
template<Dimension... Order, detail::Operand X>
constexpr auto transpose(X const& operand, std::source_location at = std::source_location::current()) {
  using in            = detail::shape_in<X>;
  constexpr bool same = sizeof...(Order) == in::rank && without<shape<Order...>, in>::rank == 0 &&
                        without<in, shape<Order...>>::rank == 0;
  using verdict = std::conditional_t<same, legal, not_the_dims_of_tensor<shape<Order...>, in>>;
  static_assert(accepted<verdict>, "meshtf: transpose can't order these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using T = detail::element_in<X>;
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      x.machine().begin_operation("transpose", at);
      auto z = detail::each<T, shape<Order...>>(function::identity{}, x);
      detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
        detail::contribute(to, detail::each<T, in>(function::identity{}, dz), unreduced);
      });
      return z;
    });
  }
}

MESHTF_ACCEPT_REJECTED(transpose)

}  // namespace v0
}  // namespace meshtf
