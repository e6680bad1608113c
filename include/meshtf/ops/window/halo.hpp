// halo: each part of a split dimension with elements of the parts next to it.
#pragma once

#include <source_location>

#include <meshtf/tensor/haloed.hpp>

namespace meshtf {
inline namespace v0 {

/// `x` with `haloed<D, Before, After, parts>` in the place of `D`: what this process has of `D`, with
/// `Before` elements of the part before it and `After` elements of the part after it, and zeros at the ends
/// of the dimension.
///
///     auto const h = halo<height, 1, 1>(x);   // h.local() has two rows more than x.local()
///
/// It is for code of the user's own that looks at neighbours in `.local()`: how many elements there are in
/// all depends on the layout. (`windows` does not depend on it.)
/// Where `D` is whole, nothing is sent; where it is split, `Before` rows go to the part after and `After`
/// rows to the part before, one message of kind `neighbours` each, and both are at most the size of a part.
/// Parts may be unequal (`padded`): past the last element there are zeros. A partial sum stays partial.
/// Gradient: what dz has in the halos is sent back and added, in as many messages; that of a parameter stays
/// unreduced.
/// Errors: `halo_verdict`. Source: Shazeer et al., Mesh-TensorFlow (2018); `halo_exchange` there needs a
/// dimension of blocks.
template<Dimension D, extent Before, extent After, detail::Operand X>
  requires(Before >= 0 && After >= 0)
constexpr auto halo(X const& operand, std::source_location at = std::source_location::current()) {
  using verdict = halo_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, D, Before, After>;
  static_assert(accepted<verdict>, "meshtf: halo can't widen the parts of this dimension");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      x.machine().begin_operation("halo", at);
      auto z = detail::with_halo<D, Before, After>(x);
      // others have no gradient, and no kernel that adds them
      if constexpr (FloatingElement<detail::element_in<X>>)
        detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
          detail::contribute(to, detail::without_halo<D, Before, After>(dz), unreduced);
        });
      return z;
    });
}

template<Dimension D, auto... Wide>
constexpr rejected halo(rejected, std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
