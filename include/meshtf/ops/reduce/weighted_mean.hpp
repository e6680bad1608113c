// weighted_mean over dimensions.
#pragma once

#include <source_location>

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The sum of products divided by the sum of weights, over the dimensions `Gone`.
template<class Gone, class T, class L, class... D, class... W>
constexpr auto mean_by_weights(std::source_location at, tensor<T, L, D...> const& x,
                               tensor<T, L, W...> const& weights) {
  using repeated       = without<Gone, shape<W...>>;  // a weight counts for all elements along these
  using added          = without<Gone, repeated>;
  auto const products  = x * weights;
  auto const sums      = summed<Gone>("weighted_mean", at, function::identity{}, products);
  auto const n         = static_cast<computed<T>>(x.machine().counted().size_of(repeated{}));
  auto const total     = summed<added>("weighted_mean", at, function::scaled<computed<T>>{n}, weights);
  auto const there_are = where(equal(total, 0), 1, total, at);
  return sums / there_are;
}

}  // namespace detail

/// The sum of w x, divided by the sum of w, over `Along...`; over all dimensions if none is named. x and w
/// are broadcast to one another as by `x
/// * w`. Weights are floating-point numbers, or counts or bools, which take x's element type. 0 where the
///   weights add up to 0, such as a mean over no element: then x gets the gradient w dz = 0.
///
///     auto loss = weighted_mean(softmax_cross_entropy<vocab>(logits, targets), not_padding);   // the mean
///     over tokens that count
///
/// Where one of the dimensions is split, an all-reduce of the result over its axes joins the processes' sums,
/// and another those of the weights, if they have the dimension. Gradients: dz w / sum(w) of x, and dz (x -
/// z) / sum(w) of w; they are unreduced over the axes of the dimensions that their operand lacks. A NaN with
/// the weight 0 makes the mean NaN: `where(w, x, 0)` takes it away.
///
/// For the mean over micro-batches of unequally many elements, divide the sum of each by the number in all of
/// them.
/// Source: `average` of NumPy and JAX, which fail or give NaN where the weights add up to 0.
template<Dimension... Along, detail::FloatingOperand X, detail::Operand W>
constexpr auto weighted_mean(X const& operand, W const& factor,
                             std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using weights = tensor_of<T, detail::layout_in<W>, detail::shape_in<W>>;
  using whole   = first_objection<detail::use_verdict<algebra::use::normalised, X>,
                                  detail::use_verdict<algebra::use::normalised, W>>;
  using meets   = detail::meeting_of<algebra::meeting::times, detail::tensor_in<X>, weights>;
  using verdict =
      first_objection<typename meets::verdict, reduce_verdict<actual<L>, typename meets::out, Along...>>;
  static_assert(
      accepted<whole>,
      "meshtf: weighted_mean needs a finished value: write weighted_mean<...>(finish(x), finish(w))");
  static_assert(accepted<verdict>, "meshtf: weighted_mean can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    return detail::in_elements<T>(
        weighted_mean<Along...>(detail::widened(detail::local_terms(operand)), factor, at));
  } else {
    using gone = detail::worked_along<typename meets::out, Along...>;
    if constexpr (std::is_same_v<T, detail::element_in<W>>)
      return detail::mean_by_weights<gone>(at, detail::local_terms(operand), detail::local_terms(factor));
    else
      return detail::mean_by_weights<gone>(at, detail::local_terms(operand),
                                           cast<T>(detail::local_terms(factor), at));
  }
}

MESHTF_ACCEPT_REJECTED(weighted_mean)

}  // namespace v0
}  // namespace meshtf
