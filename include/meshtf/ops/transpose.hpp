// transpose: the same elements in another order in memory.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// A transpose names the tensor's dimensions, each once, in their new order.
template<class Given, class S>
struct not_the_dims_of_tensor {};

/// `x` with its dimensions in the order `Order...`. Local; a dimension stays split as it was. Gradient: transposed back; a parameter's stays open.
template<Dimension... Order, class T, class L, class... D>
constexpr auto transpose(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  constexpr bool same =
      sizeof...(Order) == sizeof...(D) && without<shape<Order...>, shape<D...>>::rank == 0 && without<shape<D...>, shape<Order...>>::rank == 0;
  using verdict = std::conditional_t<same, legal, not_the_dims_of_tensor<shape<Order...>, shape<D...>>>;
  static_assert(accepted<verdict>, "meshtf: transpose can't order these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("transpose", at);
    auto z = detail::each<T, shape<Order...>>(function::identity{}, x);
    if (detail::wants_gradient(x)) {
      bool const open = x.gradient_stays_open();
      detail::record<detail::incoming::open_if_open>(
          z,
          [x = x.without_value()](auto const& dz, axis_set owed) {
            detail::contribute(x, detail::each<T, shape<D...>>(function::identity{}, dz), owed);
          },
          open);
    }
    return z;
  }
}

/// An open sum stays open.
template<Dimension... Order, class V, class Over>
constexpr auto transpose(partial<V, Over> const& p, std::source_location at = std::source_location::current()) {
  return detail::handed_through<algebra::use::moved>(p, transpose<Order...>(p.addend(), at));
}

}  // namespace meshtf::inline v0
