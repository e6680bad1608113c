// max over dimensions.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/ops/sum.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

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

/// The largest element over `Along...`; over everything if none is named.
///
/// Where one of them is split, the processes' maxima are joined by an all-reduce of the result over its axes. Gradient: dz goes to every element that equals the
/// maximum, as in Mesh TensorFlow; it owes nothing.
template<Dimension... Along, class T, class L, class... X>
constexpr auto max(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: max can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using out = without<shape<X...>, typename detail::named_or_all<shape<X...>, Along...>::type>;
    x.machine().enter("max", at);
    auto z = detail::maximum<out>(x);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
        detail::contribute(x.target(), detail::each<T, shape<X...>>(function::where_equal{}, dz, x.value(), z.value()));
      });
    return z;
  }
}

template<Dimension... Along, class V, class Over>
constexpr V max(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::maximum, partial<V, Over>>>, "meshtf: max is not linear: max<...>(finish(x))");
  return x.addend();
}

}  // namespace meshtf::inline v0
