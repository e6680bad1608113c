// sample: ids drawn from softmax(logits / temperature).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <source_location>
#include <string>
#include <utility>

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/ops/reduce/argmax.hpp>
#include <meshtf/plan/random_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// logit / temperature + g, or temperature times that, which is largest at the same index: whichever can't
/// overflow. g = -log(-log(1 - u)) has Gumbel's distribution if u is uniform in [0, 1).
///
/// It computes one number at a time, in double. A library's result for a batch may differ in the last bit
/// from its result for one number, and where two scores are that close, different layouts would draw
/// different ids.
struct gumbel_score {
  static constexpr bool parallel = true;
  static constexpr extent flops  = 6;
  double temperature;

  double operator()(auto const& logit, double u) const {
    // g is large near u = 0, where double is finest; at u = 0 itself, which comes once in 2^53 draws, g would
    // be infinite
    double const g = -std::log(-std::log1p(-std::max(u, 0x1p-54)));
    auto const x   = static_cast<double>(logit);
    return temperature <= 1 ? x + temperature * g : x / temperature + g;
  }
};

}  // namespace function

/// For each element of the other dimensions an index along `Along`, drawn with the probabilities
/// softmax<Along>(logits / temperature).
///
///     auto next = sample<vocab>(logits, {.seed = seed, .stream = step}, 0.8);   // logits[batch, vocab] ->
///     next[batch]
///
/// Result: int. Temperature 1 draws from softmax(logits), a lower one prefers likely indices, and 0 gives
/// argmax<Along>(logits). The result depends on the logits, the key and each element's index in the whole
/// tensor, so the ids are the same under every layout. Where `Along` is split, it sends what argmax of a
/// tensor of double sends. A logit of minus infinity is never drawn if another is finite. Give every call a
/// key of its own. No gradient.
/// Errors: `usage_error`, on all processes alike, if the temperature is negative, infinite or not a number.
/// Source: Gumbel, Statistical Theory of Extreme Values (1954); Maddison, Tarlow, Minka, A* Sampling (2014),
/// section 2.
template<Dimension Along, detail::FloatingOperand X>
constexpr auto sample(X const& operand, random_key key, double temperature,
                      std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = first_objection<reduce_verdict<actual<L>, in, Along>, detail::index_verdict<Along>>;
  static_assert(accepted<whole>,
                "meshtf: sample needs a finished value: write sample<...>(finish(logits), ...)");
  static_assert(accepted<verdict>, "meshtf: sample can't draw along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& logits = detail::local_terms(operand);
    if (!(temperature >= 0 && temperature <= std::numeric_limits<double>::max()))
      throw usage_error("expected a temperature of 0 or more, got " + std::to_string(temperature) +
                        ": 0 takes the likeliest, 1 draws with the model's own probabilities");
    if (temperature == 0) return argmax<Along>(logits, at);
    auto& m = logits.machine();
    m.begin_operation("sample", at);
    auto score = tensor_of<double, L, in>::uninitialised(m);
    m.run(task::draw<double, uniform_distribution>{{key, 0, 1}}, shard_plan<actual<L>, in>, score.data());
    detail::run_map(m, nest_plan<actual<L>, in, in, in>::local, function::gumbel_score{temperature},
                    score.data(), logits.data(), std::as_const(score).data());
    return argmax<Along>(score, at);
  }
}

template<Dimension Along>
constexpr rejected sample(rejected, random_key, double, std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
