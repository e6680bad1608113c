// max over dimensions.
#pragma once

#include <source_location>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct where_equal : of_elements<1> {   // dz where x equals the maximum z
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& z) const {
    using math::select;
    return select(x == z, dz, V(0));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(3, function::where_equal)

namespace detail {

/// The maximum over the dimensions that `Out` lacks, finished over the axes that split them.
template<class Out, class T, class L, class... X>
constexpr auto maximum(tensor<T, L, X...> const& x) {
  auto part = reduced<reduction::max, Out>(function::identity{}, x);
  x.machine().because(part.why);
  x.machine().all_reduce(reduction::max, part.value.data(), part.value.size, part.owed);
  return std::move(part.value);
}

}  // namespace detail

/// The largest element over `Along...`; over all dimensions if none is named.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' maxima. Gradient: dz goes to every element that equals
/// the maximum, as in Mesh TensorFlow; it owes nothing.
template<Dimension... Along, detail::Operand X>
constexpr auto max(X const& operand, std::source_location at = std::source_location::current()) {
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::maximum, X>;
  using verdict = reduce_verdict<wet<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: max is not linear: max<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: max can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::entered(operand);
    x.machine().enter("max", at);
    auto z = detail::maximum<without<in, detail::worked_along<in, Along...>>>(x);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
        detail::contribute(x.target(), detail::each<detail::element_in<X>, in>(function::where_equal{}, dz, x.value(), z.value()));
      });
    return z;
  }
}

}  // namespace v0
}  // namespace meshtf
