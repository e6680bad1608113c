// max over dimensions.
#pragma once

#include <source_location>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct where_equal : of_elements<1> {  // dz where x equals the maximum z; NaN if that is NaN
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& z) const {
    using math::select;
    using math::zero_or_nan;
    return select(x == z, dz, zero_or_nan(z));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(3, function::where_equal)

namespace detail {

/// f(x), joined by `Op` over the dimensions that `Out` lacks and over the axes that split them.
template<reduction Op, class Out, class F, class T, class L, class... X>
constexpr auto joined(F const& f, tensor<T, L, X...> const& x) {
  auto part = reduced<Op, Out>(f, x);
  x.machine().because(part.why);
  x.machine().all_reduce(Op, part.value.data(), part.value.size, part.unreduced);
  return std::move(part.value);
}

/// The maximum over the dimensions that `Out` lacks, finished over the axes that split them.
template<class Out, class T, class L, class... X>
constexpr auto maximum(tensor<T, L, X...> const& x) {
  return joined<reduction::max, Out>(function::identity{}, x);
}

/// The largest or smallest element over the dimensions that `Out` lacks, with its gradient.
template<reduction Op, class Out, class T, class L, class... X>
constexpr auto extreme(char const* name, std::source_location at, tensor<T, L, X...> const& x) {
  x.machine().begin_operation(name, at);
  auto z = joined<Op, Out>(function::identity{}, x);
  if (wants_gradient(x))
    record(z, [x = keep(x), z = keep(z)](auto const& dz) {
      contribute(x.target(), each<T, shape<X...>>(function::where_equal{}, dz, x.value(), z.value()));
    });
  return z;
}

}  // namespace detail

/// The largest element over `Along...`; over all dimensions if none is named. NaN if one is NaN.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' maxima.
/// Gradient: dz goes to every element that equals the maximum, as in Mesh TensorFlow, also to each of several
/// (PyTorch and JAX divide it among them); of a maximum that is NaN, every element has the gradient NaN. It
/// needs no reduction.
template<Dimension... Along, detail::Operand X>
constexpr auto max(X const& operand, std::source_location at = std::source_location::current()) {
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::maximum, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: max needs a finished value: write max<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: max can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected{};
  else
    return detail::extreme<reduction::max, without<in, detail::worked_along<in, Along...>>>(
        "max", at, detail::local_terms(operand));
}

MESHTF_ACCEPT_REJECTED(max)

}  // namespace v0
}  // namespace meshtf
