// Expert choice: a gating of a mixture of experts in which experts choose tokens.
#pragma once

#include <meshtf/nn/gating.hpp>
#include <meshtf/ops/index/scatter_add.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Each expert chooses the tokens of a group for which its probability is largest, as many as it has places.
/// So all experts have equally much to do, and a token has several experts or none. An expert's choice
/// depends on all tokens of the group, later ones too: for encoders.
/// Source: Zhou et al., Mixture-of-Experts with Expert Choice Routing (2022).
struct expert_choice_gating {
  struct chosen : dim<1> {};  // each of the experts may have chosen a token
  static constexpr bool sees_later_tokens = true;
};

/// With `Gating`, what a token gets depends on later tokens of its group, which causal attention hides from
/// it: take `switch_gating` or `top_2_gating` in a decoder.
template<class Gating>
struct gating_sees_later_tokens {};

/// `legal`, or the objection to `Gating` in a block whose attention is causal.
template<class Gating>
using causal_gating_verdict =
    std::conditional_t<requires { Gating::sees_later_tokens; }, gating_sees_later_tokens<Gating>, legal>;

namespace detail {

/// Where tokens go. `weight` and `source` are [groups, places], of the tokens that have places.
template<class Weight, class Source, class BalanceLoss, class ZLoss, class Dropped, class Load>
struct chosen_tokens {
  Weight weight;
  Source source;
  BalanceLoss balance_loss;
  ZLoss router_z_loss;
  Dropped dropped;
  Load load;
};
template<class... Part>
chosen_tokens(Part...) -> chosen_tokens<Part...>;

/// `dropped` counts the tokens that no expert has chosen. The balance loss is 0: all experts have as much. An
/// expert that has more places than tokens count leaves some empty: their weight is 0.
template<class Groups, class Tokens, class Experts, class Capacity, class T, class L, class... D,
         class Only = every_token>
constexpr auto route(expert_choice_gating, tensor<T, L, D...> const& logits, gating_call,
                     std::source_location at, Only const& only = {}) {
  using places           = places_of<Experts, Capacity>;
  auto& m                = logits.machine();
  auto const probability = where_counted(only, softmax<Experts>(logits, at), -1, at);  // below all others
  auto const best        = top_k<Tokens, Capacity>(probability, {.descending = true}, at);
  auto const by_expert   = transpose<Groups, Experts, Capacity>(best.value, at);
  auto const tokens      = transpose<Groups, Experts, Capacity>(best.index, at);
  auto const taken       = merge_dims<Experts, Capacity, places>(by_expert, at);
  auto const source      = merge_dims<Experts, Capacity, places>(tokens, at);

  tensor<std::int32_t, L, Groups, Tokens> const none{m};
  if constexpr (std::is_same_v<Only, every_token>) {
    tensor<std::int32_t, L, Groups, places> const zeros{m};
    tensor<std::int32_t, L, Groups, Experts> const nobody{m};
    auto const times = scatter_add<Tokens>(none, source, zeros + 1, at);
    auto const z     = router_z_loss<Groups, Tokens, Experts>(logits, only, at);
    return chosen_tokens{taken,
                         source,
                         z * 0.0,
                         z,
                         sum<Tokens>(equal(times, 0, at), at),
                         nobody + static_cast<std::int32_t>(Capacity::size)};
  } else {
    auto const has   = cast<std::int32_t>(greater_equal(taken, 0, at), at);
    auto const times = scatter_add<Tokens>(none, source, has, at);
    auto const late  = logical_and(equal(times, 0, at), only.counts, at);
    auto const z     = router_z_loss<Groups, Tokens, Experts>(logits, only, at);
    return chosen_tokens{where(has, taken, 0, at),
                         source,
                         z * 0.0,
                         z,
                         sum<Tokens>(cast<std::int32_t>(late, at), at),
                         sum<Capacity>(split_dim<places, Experts, Capacity>(has, at), at)};
  }
}

/// What tokens get from `table` [groups, places, model]: the rows of all their places, weighted and added up.
template<class Groups, class Tokens, class Places, class Model, class Y, class... Part>
constexpr auto combined(chosen_tokens<Part...> const& routed, Y const& table, std::source_location at) {
  using E = typename Y::element_type;
  tensor<E, typename Y::layout_type, Groups, Tokens, Model> const none{table.machine()};
  auto const weighted = table * cast<E>(routed.weight, at);
  return scatter_add<Tokens>(none, routed.source, weighted, at);
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
