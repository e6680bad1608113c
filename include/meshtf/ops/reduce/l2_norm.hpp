// l2_norm over dimensions: the Euclidean length.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/sqrt.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct l2_norm_gradient : of_elements<3> {  // 0 where all elements are 0
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& z) const {
    using math::select;
    return select(z == V(0), V(0), dz * x / z);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(3, function::l2_norm_gradient)

/// The square root of the sum of squares over `Along...`; over all dimensions if none is named.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' sums. Gradient:
/// dz * x / z, 0 where z is 0, as in PyTorch; it sends nothing and needs no reduction.
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto l2_norm(X const& operand, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: l2_norm needs a finished value: write l2_norm<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: l2_norm can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("l2_norm", at);
    return detail::in_elements<T>(l2_norm<Along...>(detail::widened(x), at));
  } else {
    using row     = without<in, detail::worked_along<in, Along...>>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("l2_norm", at);
    auto const total = detail::finished(detail::reduced<reduction::sum, row>(function::square{}, x));
    auto z           = detail::each<T, row>(function::sqrt{}, total);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
        detail::contribute(x.target(),
                           detail::each<T, in>(function::l2_norm_gradient{}, dz, x.value(), z.value()));
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(l2_norm)

}  // namespace v0
}  // namespace meshtf
