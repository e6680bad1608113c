// product over dimensions.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/max.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct is_zero : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x == V(0), V(1), V(0));
  }
};
struct one_for_zero : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x == V(0), V(1), x);
  }
};

/// dz times the product of all elements but x, if `rest` is the product of those that are not 0 and `zeros`
/// counts the others.
struct product_gradient : of_elements<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& rest, V const& zeros) const {
    using math::select;
    using math::zero_or_nan;
    V const others = select(x == V(0), zeros - V(1), zeros);
    return select(others == V(0), dz * select(x == V(0), rest, rest / x), zero_or_nan(rest));
  }
};

}  // namespace function

/// The product of the elements over `Along...`; over all dimensions if none is named.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' products. Parts
/// of long products of floats are multiplied in double. Gradient: dz times the product of the other elements,
/// also where elements are 0. For it the product without zeros and the number of zeros are joined too, two
/// all-reduces of as many elements; it needs no reduction.
template<Dimension... Along, detail::Operand X>
constexpr auto product(X const& operand, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::nonlinear, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: product needs a finished value: write product<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: product can't work along these dimensions");
  static_assert(NumberElement<T>, "meshtf: bools are not multiplied: all<...>(x)");
  if constexpr (!accepted<first_objection<whole, verdict>> || !NumberElement<T>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("product", at);
    return detail::in_elements<T>(product<Along...>(detail::widened(x), at));
  } else {
    using out     = without<in, detail::worked_along<in, Along...>>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("product", at);
    auto z = detail::joined<reduction::product, out>(function::identity{}, x);
    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(x))
        detail::record(z, [x = detail::keep(x)](auto const& dz) {
          auto const rest  = detail::joined<reduction::product, out>(function::one_for_zero{}, x.value());
          auto const zeros = detail::joined<reduction::sum, out>(function::is_zero{}, x.value());
          detail::contribute(x.target(),
                             detail::each<T, in>(function::product_gradient{}, dz, x.value(), rest, zeros));
        });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(product)

}  // namespace v0
}  // namespace meshtf
