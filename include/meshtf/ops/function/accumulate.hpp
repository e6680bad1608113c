// accumulate: the gradients of several micro-batches, added up before anything of them is sent.
#pragma once

#include <utility>

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/shape/stop_gradient.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The loss as data, after its backward pass. Where no gradients are wanted, the loss.
template<class Loss>
constexpr Loss gone_back(Loss const& loss) {
  if (loss.machine().records_gradients()) backward(loss);
  return stop_gradient(loss);
}

}  // namespace detail

/// Calls `step(i)` for the micro-batches 0 to N - 1. It returns a loss, a tensor without dimensions, of which
/// `backward` is called before the next: one micro-batch has intermediate values at a time. Returns the sum
/// of the losses, as data.
///
///     auto loss = accumulate<4>([&](extent i) { return net.loss(micro_batch<batch, quarter>(x, i)) / 4; });
///     opt.step(net.parameters());
///
/// The gradients of parameters are sums over the micro-batches. They stay unreduced, so each is sent once, by
/// the optimizer, whatever N is; sums over processes in the forward pass and of intermediate gradients are
/// sent for each micro-batch. For the mean over a batch, divide each loss by N.
template<int N, class F>
constexpr auto accumulate(F const& step) {
  static_assert(N > 0, "meshtf: accumulate has at least one micro-batch");
  if constexpr (detail::AnyRejected<decltype(step(extent{0}))>) {
    return rejected{};
  } else {
    auto total = detail::gone_back(step(extent{0}));
    for (extent i = 1; i < N; ++i) {
      auto sum = total + detail::gone_back(step(i));
      total    = std::move(sum);
    }
    return total;
  }
}

}  // namespace v0
}  // namespace meshtf
