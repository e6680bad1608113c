// The layer mixture_of_experts: each token passes through a few of many feed-forward networks.
#pragma once

#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/expert_choice.hpp>
#include <meshtf/nn/gating.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/pointwise/bias_gelu.hpp>
#include <meshtf/ops/shape/rename.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// What a mixture of experts computed.
///
/// `value` is that of x: a token without a place has 0, so put the layer on a residual path. Both losses are
/// partial sums, over the batch's axes, of a number: nothing is sent until they are finished, and
/// `finish(a.balance_loss + b.balance_loss)` of all layers is one all-reduce. `dropped` [groups] counts the
/// choices that found no place, `load` [groups, all_of<experts>] those that each expert got, with or without
/// a place; both are local, and `sum(z.dropped)` counts those of all processes.
template<class Value, class BalanceLoss, class ZLoss, class Dropped, class Load>
struct mixed_by_experts {
  Value value;
  BalanceLoss balance_loss;
  ZLoss router_z_loss;
  Dropped dropped;
  Load load;
};
template<class... Part>
mixed_by_experts(Part...) -> mixed_by_experts<Part...>;

namespace detail {

template<class Mask>
concept MaskOfTokens = Tensor<Mask> || meshtf::detail::AnyRejected<Mask>;

/// A product with a matrix for each expert, and a bias for each.
template<class T, class L, class Experts, class In, class Out>
struct expert_linear {
  kept_parameter<T, L, Experts, In, Out> weight;
  kept_parameter<T, L, Experts, Out> bias;

  template<class Initialiser>
  constexpr expert_linear(machine<L>& m, Initialiser const& initialiser) : weight{m, initialiser}, bias{m} {}

  template<class Groups, class Capacity, class X>
  constexpr auto without_bias(X const& x, std::source_location at) const {
    return einsum_with_weight(shape<Experts, Groups, Capacity, Out>{}, x, weight, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("weight", weight), named("bias", bias)); }
};

/// In the place of what an objection has refused: nothing more is said of it.
struct no_linear {
  constexpr no_linear(auto&&...) {}
};

/// How what groups have for each expert gets to the experts. Where an axis splits both, they change places in
/// one all-to-all; where experts are whole, every process has all of them, and nothing moves.
template<class L, class Groups, class Experts>
struct exchange : meshtf::detail::exchange_under<L, Groups, Experts> {
  using groups = typename meshtf::detail::exchange_under<L, Groups, Experts>::type;
  using meshtf::detail::exchange_under<L, Groups, Experts>::places;

  static constexpr auto there(auto const& x, std::source_location at) {
    exchange::note(x.machine());
    if constexpr (places) return rename<Groups, groups, all_of<Experts>, Experts>(x, at);
    else return rename<all_of<Experts>, Experts>(x, at);
  }
  static constexpr auto back(auto const& z, std::source_location at) {
    if constexpr (places) return rename<groups, Groups, Experts, all_of<Experts>>(z, at);
    else return rename<Experts, all_of<Experts>>(z, at);
  }
};

}  // namespace detail

/// Feed-forward networks from `Model` to `Hidden` and back, one for each of `Experts`, of which each token
/// passes through those that `Gating` chooses: `switch_gating`, `top_2_gating` or `expert_choice_gating`.
///
///     struct groups : dim<8> {};  struct experts : dim<16> {};
///     struct spread : layout<grid, split<batch, rows>, split<groups, rows>, split<experts, rows>> {};
///     nn::mixture_of_experts<float, L, model, hidden, experts, groups> mixture{m, seeds, 0.02, 0.02};
///     auto const z    = mixture(x, {.seed = run, .stream = step});   // in training
///     auto const loss = task + 0.01 * finish(z.balance_loss);
///     auto const y    = mixture.evaluate(x);
///
/// x and the value are [batch, ..., model]. The batch is cut into `Groups`, which are the program's: rows
/// next to each other, whose tokens compete for `capacity` places with each expert, the earlier ones first.
/// So which tokens find no place is the same under every layout. Split `Experts` and `Groups` over the axes
/// of the batch: then each process hands over what its groups have for the experts of all, and gets it back,
/// in one all-to-all each, and as much in the backward pass; nothing else is sent, but an all-reduce in each
/// pass where `Hidden` is split too. Cost is linear in tokens: they are gathered into their places, and out
/// of them. Errors: verdicts on `Groups` and the layout, see `nn/expert_capacity.hpp`.
///
/// With a mask, [batch, ...], of any type, tokens where it is 0 don't count, for instance padding:
///
///     auto const z = mixture(x, {.seed = run, .stream = step}, not_equal(segments, 0));
///
/// They take no place and get 0, are not among `dropped` or `load`, and both losses are means over the
/// others, of all processes. That costs one all-reduce of one int32 in the forward pass.
/// Source: Lepikhin et al., GShard (2020); Fedus et al., Switch Transformers (2022).
template<FloatingElement T, Layout L, Dimension Model, Dimension Hidden, Dimension Experts, Dimension Groups,
         class Gating = top_2_gating, class Factors = capacity_factors<>>
struct mixture_of_experts {
  using verdict = detail::experts_verdict<L, Experts, typename Gating::chosen>;
  static_assert(accepted<verdict>, "meshtf: a mixture of experts can't have these experts");
  template<class In, class Out>
  using of_experts =
      std::conditional_t<accepted<verdict>, detail::expert_linear<T, L, Experts, In, Out>, detail::no_linear>;

  /// `legal`, or the objection to this layer in a block whose attention is causal.
  using causal_verdict = causal_gating_verdict<Gating>;

  projection<T, L, Model, all_of<Experts>> router;
  of_experts<Model, Hidden> up;
  of_experts<Hidden, Model> down;
  Gating gating;

  constexpr mixture_of_experts(machine<L>& m, streams& seeds, double stddev, double output_stddev,
                               Gating how = {})
      : router{m, normal{seeds.next(), stddev}},
        up{m, normal{seeds.next(), stddev}},
        down{m, normal{seeds.next(), output_stddev}},
        gating(how) {}

  /// In training. Every pass wants a key of its own.
  template<class X>
  constexpr auto operator()(X const& x, random_key key,
                            std::source_location at = std::source_location::current()) const {
    using fits = detail::groups_verdict<Groups, Model, X>;
    static_assert(accepted<fits>, "meshtf: a mixture of experts can't take these groups of tokens");
    return mixed<typename Factors::training, first_objection<verdict, fits>>(x, {true, key}, at);
  }
  /// In training, of the tokens where `mask` is not 0.
  template<class X, detail::MaskOfTokens Mask>
  constexpr auto operator()(X const& x, random_key key, Mask const& mask,
                            std::source_location at = std::source_location::current()) const {
    using fits = detail::groups_verdict<Groups, Model, X>;
    static_assert(accepted<fits>, "meshtf: a mixture of experts can't take these groups of tokens");
    using mask_fits = std::conditional_t<accepted<fits>, detail::token_mask_verdict<X, Mask>, legal>;
    static_assert(accepted<mask_fits>, "meshtf: a mixture of experts can't take this mask");
    return mixed<typename Factors::training, first_objection<verdict, fits, mask_fits>>(x, {true, key}, at,
                                                                                        mask);
  }
  /// In evaluation: with the capacity of evaluation, and without random numbers.
  template<class X>
  constexpr auto evaluate(X const& x, std::source_location at = std::source_location::current()) const {
    using fits = detail::groups_verdict<Groups, Model, X>;
    static_assert(accepted<fits>, "meshtf: a mixture of experts can't take these groups of tokens");
    return mixed<typename Factors::evaluation, first_objection<verdict, fits>>(x, {}, at);
  }
  /// In evaluation, of the tokens where `mask` is not 0.
  template<class X, detail::MaskOfTokens Mask>
  constexpr auto evaluate(X const& x, Mask const& mask,
                          std::source_location at = std::source_location::current()) const {
    using fits = detail::groups_verdict<Groups, Model, X>;
    static_assert(accepted<fits>, "meshtf: a mixture of experts can't take these groups of tokens");
    using mask_fits = std::conditional_t<accepted<fits>, detail::token_mask_verdict<X, Mask>, legal>;
    static_assert(accepted<mask_fits>, "meshtf: a mixture of experts can't take this mask");
    return mixed<typename Factors::evaluation, first_objection<verdict, fits, mask_fits>>(x, {}, at, mask);
  }
  /// In evaluation, with places for all tokens with each expert: for few tokens, as in decoding.
  template<class X>
  constexpr auto without_drops(X const& x, std::source_location at = std::source_location::current()) const {
    using fits = detail::groups_verdict<Groups, Model, X>;
    static_assert(accepted<fits>, "meshtf: a mixture of experts can't take these groups of tokens");
    return mixed<std::ratio<Experts::size>, first_objection<verdict, fits>>(x, {}, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("router", router), named("up", up), named("down", down));
  }

private:
  template<class Factor, class Verdict, class X, class... Mask>
  constexpr auto mixed(X const& x, detail::gating_call call, std::source_location at,
                       Mask const&... mask) const {
    using meshtf::detail::rejected;
    if constexpr (meshtf::detail::AnyRejected<X, Mask...> || !accepted<Verdict>) {
      return mixed_by_experts{rejected{}, rejected{}, rejected{}, rejected{}, rejected{}};
    } else {
      using way     = detail::way_to_groups<Groups, X>;
      using tokens  = typename way::inner::type;
      auto const in = way::grouped(x, at);
      auto z        = of_groups<tokens, capacity<tokens, Experts, Factor>>(
          in, call, at, detail::tokens_where<T, Groups, tokens>(way::grouped(mask, at), at)...);
      auto const out = way::ungrouped(z.value, at);
      return mixed_by_experts{out, z.balance_loss, z.router_z_loss, z.dropped, z.load};
    }
  }
  /// Of x [groups, tokens, model], of the tokens that count. The router computes in the elements of the
  /// weights.
  template<class Tokens, class Capacity, class X, class... Only>
  constexpr auto of_groups(X const& x, detail::gating_call call, std::source_location at,
                           Only const&... only) const {
    using every       = all_of<Experts>;
    using places      = detail::places_of<every, Capacity>;
    auto const logits = router(cast<T>(x, at), at);
    auto const routes = detail::route<Groups, Tokens, every, Capacity>(gating, logits, call, at, only...);

    auto const by_expert = split_dim<places, every, Capacity>(routes.source, at);
    auto const sources   = transpose<every, Groups, Capacity>(by_expert, at);
    auto const z         = through_experts<Capacity>(gather<Tokens>(x, sources, at), at);

    auto const by_group = transpose<Groups, every, Capacity, Model>(z, at);
    auto const table    = merge_dims<every, Capacity, places>(by_group, at);
    auto const value    = detail::combined<Groups, Tokens, places, Model>(routes, table, at);
    return mixed_by_experts{value, routes.balance_loss, routes.router_z_loss, routes.dropped, routes.load};
  }
  /// Of x [all_of<experts>, groups, capacity, model].
  template<class Capacity, class X>
  constexpr auto through_experts(X const& x, std::source_location at) const {
    using way          = detail::exchange<actual<typename X::layout_type>, Groups, Experts>;
    using groups       = typename way::groups;
    auto const arrived = way::there(x, at);
    auto const y       = up.template without_bias<groups, Capacity>(arrived, at);
    auto const h       = bias_gelu(y, detail::weight_for<X>(up.bias, at), at);
    auto const sums    = down.template without_bias<groups, Capacity>(h, at);
    auto const z       = sums + detail::weight_for<X>(down.bias, at);
    return way::back(z, at);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
