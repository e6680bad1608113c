// variance over dimensions.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// (x - centre)^2, divided by the number of elements.
template<class T>
struct squared_distance : of_elements<3> {
  T part;
  constexpr explicit squared_distance(T p) : part(p) {}
  template<class V>
  constexpr V operator()(V const& x, V const& centre) const {
    V const d = x - centre;
    return d * d * V(part);
  }
};
template<class T>
struct variance_gradient : of_elements<4> {
  T part;
  constexpr explicit variance_gradient(T p) : part(p) {}
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& centre) const {
    return V(2) * V(part) * dz * (x - centre);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM_OF(2, function::squared_distance)
MESHTF_COMPILE_MAP_OF(3, function::variance_gradient)

/// The mean of (x - mean(x))^2 over `Along...`; over all dimensions if none is named. It is divided by the
/// number of elements, as in NumPy and JAX, not by one less, as in PyTorch. That of no element is NaN.
///
/// The mean is computed first, so that no digits are lost where it is large. Where one of the dimensions is
/// split, two all-reduces of the result over its axes join the processes' sums. Gradient: 2 dz (x - mean(x))
/// / n, which sends nothing and needs no reduction.
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto variance(X const& operand, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: variance needs a finished value: write variance<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: variance can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("variance", at);
    return detail::in_elements<T>(variance<Along...>(detail::widened(x), at));
  } else {
    using gone    = detail::worked_along<in, Along...>;
    using row     = without<in, gone>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("variance", at);
    extent const n     = x.machine().counted().size_of(gone{});
    auto const of_part = detail::as_part_of<T>(n);
    T const part       = of_part.factor;
    auto const centre  = detail::finished(detail::reduced<reduction::sum, row>(of_part, x));
    auto z             = detail::finished(
        detail::reduced<reduction::sum, row>(function::squared_distance<T>{part}, x, centre));
    if (n == 0) z = detail::each<T, row>(of_part, z);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), centre = detail::keep(centre), part](auto const& dz) {
        detail::contribute(x.target(), detail::each<T, in>(function::variance_gradient<T>{part}, dz,
                                                           x.value(), centre.value()));
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(variance)

}  // namespace v0
}  // namespace meshtf
