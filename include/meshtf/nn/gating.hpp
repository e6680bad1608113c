// Gatings of a mixture of experts: which experts a token goes to, with what weights, and which places it
// gets.
#pragma once

#include <meshtf/nn/expert_capacity.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/index/one_hot.hpp>
#include <meshtf/ops/index/scatter.hpp>
#include <meshtf/ops/normalise/softmax.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/logical.hpp>
#include <meshtf/ops/pointwise/minimum_maximum.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/product/einsum.hpp>
#include <meshtf/ops/random/random.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/logsumexp.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/ops/reduce/top_k.hpp>
#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/ops/shape/transpose.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Which tokens go to their second expert too.
enum class second_expert {
  all,        // every token
  none,       // no token
  threshold,  // those whose second weight is above the threshold
  random      // each with probability min(1, weight / threshold)
};

/// Each token goes to the expert of the largest probability, and its weight is that probability.
/// Source: Fedus et al., Switch Transformers (2022), section 2.1.
struct switch_gating {
  struct chosen : dim<1> {};
};

/// Each token goes to the two experts of the largest probabilities, which divided by their sum are its
/// weights; in training to the second only by chance, the more likely the larger its weight.
/// Source: Lepikhin et al., GShard (2020), section 2.2 and algorithm 1; the threshold is that of
/// Mesh-TensorFlow.
struct top_2_gating {
  struct chosen : dim<2> {};
  second_expert in_training   = second_expert::random;
  second_expert in_evaluation = second_expert::all;
  double threshold            = 0.2;
};

namespace detail {

struct first_choice : dim<1> {};

/// Whether this is training, and the key of its random numbers.
struct gating_call {
  bool trains = false;
  random_key key{};
};

/// All tokens count: there is no mask.
struct every_token {};

/// Which tokens count, [groups, tokens]; how many of them each group has, [groups], at least 1 to divide by;
/// and how many all groups of all processes have, likewise.
template<class Counts, class OfGroup, class OfAll>
struct some_tokens {
  Counts counts;
  OfGroup of_group;
  OfAll of_all;
};

/// Tokens that count where `mask` [groups, tokens] is not 0, for a router that computes in `T`. Their number
/// is one all-reduce of one number, of which nothing has a gradient.
template<class T, class Groups, class Tokens, class Mask>
constexpr auto tokens_where(Mask const& mask, std::source_location at) {
  auto const counts  = cast<std::int32_t>(not_equal(mask, 0, at), at);
  auto const ours    = sum<Tokens>(counts, at);
  auto const all     = sum<Groups>(ours, at);
  auto const divisor = [&](auto const& n) { return cast<T>(maximum(n, 1, at), at); };
  return some_tokens<decltype(counts), decltype(divisor(ours)), decltype(divisor(all))>{counts, divisor(ours),
                                                                                        divisor(all)};
}

/// x where a token counts, else `other`.
template<class X, class N>
constexpr X const& where_counted(every_token, X const& x, N, std::source_location) {
  return x;
}
template<class... Part, class X, class N>
constexpr auto where_counted(some_tokens<Part...> const& only, X const& x, N other, std::source_location at) {
  return where(only.counts, x, other, at);
}

/// The weights of the chosen experts: their probabilities, `best`, divided by their sum where there are two.
template<class Chosen, class X>
constexpr auto weights_of(X const& best, std::source_location at) {
  if constexpr (Chosen::size == 1) {
    return best;
  } else {
    auto const total = sum<Chosen>(best, at);
    return best / total;
  }
}

/// `expert`, but -1 where a token does not go to its second one. A draw depends on the token's place in the
/// batch alone, so all layouts draw alike.
template<class Chosen, class T, class L, class... D, class I>
constexpr auto asked_for(top_2_gating const& gating, tensor<T, L, D...> const& weight, I const& expert,
                         gating_call call, std::source_location at) {
  auto& m                    = weight.machine();
  second_expert const policy = call.trains ? gating.in_training : gating.in_evaluation;
  if (policy == second_expert::all) return expert;
  auto const first = equal(iota<T, L, Chosen>(m, at), 0, at);
  auto const limit = [&] {
    if (policy != second_expert::random) {
      tensor<T, L, D...> const zeros{m};
      return zeros + (policy == second_expert::none ? 1.0 : gating.threshold);
    }
    return random_uniform<T, L, D...>(m, call.key, 0, gating.threshold, at);
  }();
  auto const kept = logical_or(greater(weight, limit, at), first, at);
  return where(kept, expert, -1, at);
}
template<class Chosen, class X, class I>
constexpr auto asked_for(switch_gating const&, X const&, I const& expert, gating_call, std::source_location) {
  return expert;
}

/// Where tokens go. `weight` and `place` are [groups, chosen, tokens]: a choice that found no place has the
/// weight 0 and the place 0. `source` is [groups, places]: the token that has this place of all experts'.
template<class Weight, class Place, class Source, class BalanceLoss, class ZLoss, class Dropped, class Load>
struct routes {
  Weight weight;
  Place place;
  Source source;
  BalanceLoss balance_loss;
  ZLoss router_z_loss;
  Dropped dropped;
  Load load;
};
template<class... Part>
routes(Part...) -> routes<Part...>;

/// E times the sum over experts of the part of the tokens whose first choice it is, times its mean
/// probability; the mean over the groups. 1 if all experts get alike. Tokens that don't count are in no mean,
/// and a group weighs as much as it has of the others.
template<class Groups, class Tokens, class Experts, class Chosen, class X, class I, class Only>
constexpr auto balance_loss(X const& probability, I const& expert, [[maybe_unused]] Only const& only,
                            std::source_location at) {
  using T           = typename X::element_type;
  auto const first  = slice<Chosen, first_choice>(expert, 0, at);
  auto const chosen = one_hot<Experts, T>(first, at);
  auto const count  = sum<first_choice, Tokens>(chosen, at);
  auto const total  = sum<Tokens>(probability, at);
  if constexpr (std::is_same_v<Only, every_token>) {
    auto const loss = partial_einsum<>(count, total, at);
    return loss * (static_cast<double>(Experts::size) / static_cast<double>(Groups::size) /
                   (static_cast<double>(Tokens::size) * static_cast<double>(Tokens::size)));
  } else {
    auto const part = count / only.of_group / only.of_all;  // before the product, whose sum is not finished
    return partial_einsum<>(part, total, at) * static_cast<double>(Experts::size);
  }
}

/// The mean over all tokens that count of the square of log(sum(exp(logits))).
template<class Groups, class Tokens, class Experts, class X, class Only>
constexpr auto router_z_loss(X const& logits, [[maybe_unused]] Only const& only, std::source_location at) {
  auto const size = logsumexp<Experts>(logits, at);
  if constexpr (std::is_same_v<Only, every_token>) {
    return partial_einsum<>(size, size, at) * (1.0 / static_cast<double>(Groups::size * Tokens::size));
  } else {
    auto const counted = where_counted(only, size, 0, at);
    return partial_einsum<>(counted, counted / only.of_all, at);
  }
}

/// Routes tokens by their logits [groups, tokens, experts]. Places are handed out in the order of the first
/// choices, then of the second ones, so they depend on the group alone. A token that doesn't count asks for
/// none, as one does that has no second expert. Local.
/// Source: Lepikhin et al., GShard (2020), algorithm 1.
template<class Groups, class Tokens, class Experts, class Capacity, class Gating, class T, class L,
         class... D, class Only = every_token>
constexpr auto route(Gating const& gating, tensor<T, L, D...> const& logits, gating_call call,
                     std::source_location at, Only const& only = {}) {
  using chosen  = typename Gating::chosen;
  using choices = choices_of<chosen, Tokens>;
  using places  = places_of<Experts, Capacity>;
  using none    = places_and_none<places>;
  auto& m       = logits.machine();

  auto const probability = softmax<Experts>(logits, at);
  auto const best        = top_k<Experts, chosen>(probability, {.descending = true}, at);
  auto const weights     = weights_of<chosen>(best.value, at);
  auto const weight      = transpose<Groups, chosen, Tokens>(weights, at);
  auto const expert      = transpose<Groups, chosen, Tokens>(best.index, at);
  auto const asks        = where_counted(only, asked_for<chosen>(gating, weight, expert, call, at), -1, at);

  auto const in_turn  = merge_dims<chosen, Tokens, choices>(expert, at);
  auto const wanted   = merge_dims<chosen, Tokens, choices>(asks, at);
  auto const marks    = one_hot<Experts, std::int32_t>(wanted, at);
  auto const before   = cumsum<choices>(marks, {.exclusive = true}, at);
  auto const position = gather<Experts>(before, in_turn, at);
  auto const goes     = greater_equal(wanted, 0, at);
  auto const fits     = logical_and(goes, less(position, static_cast<std::int32_t>(Capacity::size), at), at);
  auto const late     = logical_and(goes, logical_not(fits, at), at);
  auto const place    = in_turn * static_cast<std::int32_t>(Capacity::size) + position;

  auto const token  = broadcast<Groups, chosen, Tokens>(iota<std::int32_t, L, Tokens>(m, at), at);
  auto const tokens = merge_dims<chosen, Tokens, choices>(token, at);
  tensor<std::int32_t, L, Groups, none> const nobody{m};
  auto const target = where(fits, place, static_cast<std::int32_t>(places::size), at);
  auto const source = slice<none, places>(scatter<none>(nobody, target, tokens, at), 0, at);

  auto const has   = split_dim<choices, chosen, Tokens>(fits, at);
  auto const taken = split_dim<choices, chosen, Tokens>(where(fits, place, 0, at), at);
  return routes{where(has, weight, 0, at),
                taken,
                source,
                balance_loss<Groups, Tokens, Experts, chosen>(where_counted(only, probability, 0, at),
                                                              where_counted(only, expert, -1, at), only, at),
                router_z_loss<Groups, Tokens, Experts>(logits, only, at),
                sum<choices>(cast<std::int32_t>(late, at), at),
                sum<choices>(marks, at)};
}

/// What tokens get from `table` [groups, places, model]: the rows of their places, weighted.
template<class Groups, class Tokens, class Places, class Model, class Y, class... Part>
constexpr auto combined(routes<Part...> const& routed, Y const& table, std::source_location at) {
  auto const rows = gather<Places>(table, routed.place, at);
  return einsum<Groups, Tokens, Model>(rows, cast<typename Y::element_type>(routed.weight, at), at);
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
