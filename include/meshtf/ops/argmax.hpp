// argmax: which element along a dimension is the largest.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/tensor/partial.hpp>

namespace meshtf::inline v0 {

/// For each element of the other dimensions, the index along `Along` of the largest; the first of several.
///
/// Result: int, so `Along` has at most 2^31 elements. Where `Along` is split, two all-reduces of one number for each remaining element: the maximum, and the smallest index that has it. No gradient.
template<Dimension Along, class T, class L, class... D>
constexpr auto argmax(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  using plan    = argmax_plan<wet<L>, shape<D...>, Along>;
  using verdict = typename plan::verdict;
  static_assert(accepted<verdict>, "meshtf: argmax can't work along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using row = typename plan::result;
    auto& m   = x.machine();
    m.enter("argmax", at);

    auto z    = tensor_of<std::int32_t, L, row>::uninitialised(m);
    auto best = tensor_of<T, L, row>::uninitialised(m);
    m.run(task::argmax<T>{}, plan::lines, x.data(), best.data(), z.data());
    m.because(&detail::reason_to_sum<wet<L>, shape<D...>>);
    if constexpr (plan::finished_over != 0)
      m.if_joined(
          plan::finished_over,
          [&] {
            auto peak = detail::copied(best);
            m.all_reduce(reduction::max, peak.data(), peak.size, plan::finished_over);
            m.run(task::forget_smaller<T>{}, shard_plan<wet<L>, row>, std::as_const(best).data(), std::as_const(peak).data(), z.data());
            m.because(&detail::reason_to_take_the_first);
            m.all_reduce(reduction::min, z.data(), z.size, plan::finished_over);
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
