// logsumexp, softmax and log_softmax with an extra logit: one more class, which takes a part of the
// probability and has no element in the result.
#pragma once

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/exp.hpp>
#include <meshtf/ops/pointwise/logaddexp.hpp>
#include <meshtf/ops/reduce/logsumexp.hpp>

namespace meshtf {
inline namespace v0 {

/// The extra logit is a number, or a tensor whose dimensions `x` has too, but none of `Along...`: for
/// instance one for each head, learned so that a head may attend to nothing. Each is a composition of
/// operations, which are priced one by one: `logsumexp`, which sends two messages where a dimension in
/// `Along...` is split, and `logaddexp`. The extra logit gets its gradient, unlike in Mesh TensorFlow; give
/// `stop_gradient(e)` for none.

/// log(exp(extra) + sum(exp(x))) over `Along...`.
template<Dimension... Along, detail::FloatingOperand X, detail::OperandOrNumber E>
constexpr auto logsumexp(X const& x, E const& extra,
                         std::source_location at = std::source_location::current()) {
  static_assert(
      sizeof...(Along) > 0,
      "meshtf: logsumexp with an extra logit names the dimensions it works along: logsumexp<vocab>(x, "
      "extra)");
  return logaddexp(logsumexp<Along...>(x, at), extra, at);
}

/// x - log(exp(extra) + sum(exp(x))) along `Along...`, of the same shape and placement as `x`.
template<Dimension... Along, detail::FloatingOperand X, detail::OperandOrNumber E>
constexpr auto log_softmax(X const& x, E const& extra,
                           std::source_location at = std::source_location::current()) {
  return x - logsumexp<Along...>(x, extra, at);
}

/// exp(x) / (exp(extra) + sum(exp(x))) along `Along...`, of the same shape and placement as `x`: the
/// probabilities add up to less than 1.
template<Dimension... Along, detail::FloatingOperand X, detail::OperandOrNumber E>
constexpr auto softmax(X const& x, E const& extra,
                       std::source_location at = std::source_location::current()) {
  return exp(log_softmax<Along...>(x, extra, at), at);
}

}  // namespace v0
}  // namespace meshtf
