// argmax: which element along a dimension is the largest.
#pragma once

#include <limits>
#include <source_location>

#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/tensor/partial.hpp>

namespace meshtf::inline v0 {

/// For each element of the other dimensions, the index along `Along` of the largest; the first of several.
///
/// Result: int. Where `Along` is split, two all-reduces of one number for each remaining element: the maximum, and the smallest index that has it. No gradient.
template<Dimension Along, class T, class L, class... D>
constexpr auto argmax(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  using verdict = reduce_verdict<wet<L>, shape<D...>, Along>;
  static_assert(accepted<verdict>, "meshtf: argmax can't work along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using row                   = without<shape<D...>, shape<Along>>;
    constexpr auto lines        = plan_lines(placed_dims<L, shape<D...>>, dims_within<shape<D...>, shape<Along>>[0]);
    constexpr axis_set finished = split_over<L, shape<D...>> & ~split_over<L, row>;
    auto& m                     = x.machine();
    m.enter("argmax", at);

    auto z    = tensor_of<std::int32_t, L, row>::uninitialised(m);
    auto best = tensor_of<T, L, row>::uninitialised(m);
    m.argmax(lines, x.data(), best.data(), z.data());
    m.because(&detail::reason_to_sum<wet<L>, shape<D...>>);
    if constexpr (finished != 0)
      m.if_joined(
          finished,
          [&] {
            auto peak = copy(best);
            m.all_reduce(reduction::max, peak.data(), peak.size, finished);
            m.forget_smaller(peak.size, best.data(), peak.data(), z.data());
            m.because(&detail::reason_to_take_the_first);
            m.all_reduce(reduction::min, z.data(), z.size, finished);
          },
          [] {});
    return z;
  }
}

template<Dimension Along, class V, class Over>
constexpr V argmax(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::compared, partial<V, Over>>>, "meshtf: addends can't be compared: argmax<...>(finish(x))");
  return x.addend();
}

}  // namespace meshtf::inline v0
