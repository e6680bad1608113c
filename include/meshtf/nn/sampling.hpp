// How a language model's next id is chosen from its scores: the likeliest, or drawn with temperature, top-k
// and top-p.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <source_location>
#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/random/sample.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/reduce/top_k.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// From which ids the next one is drawn, and choice. The default draws with the model's own probabilities.
///
///     nn::sampling{.temperature = 0}                                  // greedy: the likeliest
///     nn::sampling{.temperature = 0.8, .top_k = 40, .top_p = 0.95}
///
/// Each restriction works on what the one before it leaves: the temperature divides the scores, `top_k` is
/// the number of the likeliest ids that are kept, and `top_p` keeps the fewest whose probabilities add up to
/// at least that part of theirs (the nucleus). The likeliest id is always kept; of equal scores the lower id
/// is taken first.
/// Source: Fan et al., Hierarchical Neural Story Generation (2018), for top-k; Holtzman et al., The Curious
/// Case of Neural Text Degeneration (2020), for top-p.
struct sampling {
  static constexpr extent all_ids = std::numeric_limits<extent>::max();

  double temperature = 1;
  extent top_k       = all_ids;
  double top_p       = 1;
};

/// All ids of `Vocab` in the order of their scores: along what `next_ids` ranks them if nothing else is said.
template<Dimension Vocab>
struct ranked_ids : dim<Vocab::size> {};

namespace detail {

/// Part of a probability that is not yet divided by their sum.
struct tempered {
  static constexpr bool parallel = true;
  double temperature;
  // one number at a time: a library's result for a batch may differ in the last bit, and so would layouts
  double operator()(double below_largest) const { return std::exp(below_largest / temperature); }
};

struct without_slope {
  static constexpr bool parallel = true;
  double operator()(double) const { return 0; }
};

/// The key with which the id at a position is drawn.
constexpr random_key at_position(random_key key, extent place) {
  return {key.seed, key.stream + static_cast<std::uint64_t>(place)};
}

/// Errors: `usage_error`, on all processes alike.
constexpr void expect_sampling(sampling const& choice, extent most) {
  if (!(choice.temperature >= 0 && choice.temperature <= std::numeric_limits<double>::max()))
    throw usage_error("expected a temperature of 0 or more, got " + std::to_string(choice.temperature) +
                      ": 0 takes the likeliest, 1 draws with the model's own probabilities");
  if (choice.top_k != sampling::all_ids && (choice.top_k < 1 || choice.top_k > most))
    throw usage_error("expected a top-k of 1 to " + std::to_string(most) + ", got " +
                      std::to_string(choice.top_k) +
                      ": 1 takes the likeliest id; leave it out to draw from all");
  if (!(choice.top_p > 0 && choice.top_p <= 1))
    throw usage_error("expected a top-p above 0 and up to 1, got " + std::to_string(choice.top_p) +
                      ": it is a part of the probability, and 1 keeps all ids");
}

/// Scores in the order of their size: minus infinity where `choice` does not keep the id.
template<Dimension K, Tensor X>
constexpr auto kept_scores(X const& ranked, sampling const& choice, std::source_location at) {
  using L              = typename X::layout_type;
  double const nothing = -std::numeric_limits<double>::infinity();
  auto scores          = cast<double>(ranked, at);
  if (choice.top_k != sampling::all_ids) {
    auto const first =
        less(iota<std::int32_t, L, K>(scores.machine(), at), static_cast<std::int32_t>(choice.top_k), at);
    auto next = where(first, scores, nothing, at);
    scores    = std::move(next);
  }
  if (choice.top_p == 1) return scores;
  auto const largest = max<K>(scores, at);
  auto const likely  = map(tempered{choice.temperature}, without_slope{}, scores - largest);
  auto const through = cumsum<K>(likely, {}, at);
  auto const enough  = max<K>(through, at) * choice.top_p;
  auto const before  = through - likely;
  auto const inside  = less(before, enough, at);
  return where(inside, scores, nothing, at);
}

}  // namespace detail

/// For each element of the other dimensions an id along `Vocab`, chosen by its scores as `choice` says.
///
///     auto next = nn::next_ids<vocab>(logits, {.temperature = 0.8, .top_k = 40},
///                                     {.seed = run, .stream = i});
///
/// Result: int. It depends on the scores, the key and each element's index in the whole tensor, so the ids
/// are the same under every layout. Give every call a key of its own. No gradient.
///
/// Where `Vocab` is split: greedy and temperature alone send what `argmax` sends, one number and one index
/// for each row. With top-k or top-p each process ranks its own ids, and two all-gathers bring the first
/// K::size of each part, scores and ids, together; the rest is done on all alike and sends nothing. `K` is a
/// dimension that no rule splits, and bounds what travels and the largest `top_k`: name a small one,
/// `next_ids<vocab, best>` with `struct best : dim<64> {}`, unless top-p is to hold for the whole vocabulary.
/// With a smaller `K`, both restrictions work on the K::size likeliest.
/// Errors: `usage_error`, on all processes alike, for a temperature below 0, a top-k below 1 or above
/// K::size, a top-p outside (0, 1].
template<Dimension Vocab, Dimension K = ranked_ids<Vocab>, meshtf::detail::FloatingOperand X>
constexpr auto next_ids(X const& logits, sampling const& choice, random_key key,
                        std::source_location at = std::source_location::current()) {
  using found = decltype(sample<Vocab>(logits, key, choice.temperature, at));
  if constexpr (meshtf::detail::AnyRejected<found>) {
    return found{};
  } else {
    detail::expect_sampling(choice, K::size);
    no_gradient const guard{logits.machine()};
    bool const draws_from_all =
        choice.top_k == sampling::all_ids && choice.top_p == 1 && K::size == Vocab::size;
    if (choice.temperature == 0 || draws_from_all) return sample<Vocab>(logits, key, choice.temperature, at);
    auto const ranked = top_k<Vocab, K>(logits, {.descending = true}, at);
    if constexpr (meshtf::detail::AnyRejected<decltype(ranked.index)>) {
      return found{logits.machine()};
    } else {
      auto const scores = detail::kept_scores<K>(ranked.value, choice, at);
      auto const chosen = sample<K>(scores, key, choice.temperature, at);
      return gather<K>(ranked.index, chosen, at);
    }
  }
}

template<Dimension Vocab, Dimension K = ranked_ids<Vocab>>
constexpr rejected next_ids(rejected, sampling const&, random_key, std::source_location = {}) {
  return {};
}

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
