// What a model returns that has layers of experts, and how a block calls its last layer, whichever it is.
#pragma once

#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/core/verdict.hpp>
#include <meshtf/nn/residual.hpp>
#include <meshtf/nn/stages.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/random/random.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// What a model with layers of experts computed.
///
/// `value` is what it would be without them: scores, or a loss. `balance_loss` and `router_z_loss` are the
/// sums of those of all its layers of experts, and still partial: `finish(z.balance_loss * 0.01 +
/// z.router_z_loss * 0.001)` is one all-reduce of one number. `dropped` [groups] counts the choices that
/// found no place in any of them; it is local, and `sum(z.dropped)` counts those of all processes.
template<class Value, class BalanceLoss, class ZLoss, class Dropped>
struct routed {
  Value value;
  BalanceLoss balance_loss;
  ZLoss router_z_loss;
  Dropped dropped;

  constexpr auto values() const { return std::tuple{value, balance_loss, router_z_loss, dropped}; }
};
template<class... Part>
routed(Part...) -> routed<Part...>;

/// Each block of a model has one feed-forward layer: the choice of dimensions that name no other.
/// `experts_in_every_second_block` is the other choice.
struct feed_forward_in_every_block {
  template<class T, class L, class Model>
  using layer = void;
  template<class Dense, class WithExperts>
  using blocks = Dense;
};

/// Whether layers of experts work as in training, with the capacity of training and second experts by chance,
/// and the random numbers of that chance. Every pass in training wants a key of its own.
struct expert_pass {
  bool trains = false;
  random_key random{};
};

namespace detail {

template<class Z>
inline constexpr bool is_routed = false;
template<class... Part>
inline constexpr bool is_routed<routed<Part...>> = true;

template<class Feed>
concept FeedOfExperts = requires { typename Feed::causal_verdict; };

/// `legal`, or the objection to `Feed` in a block whose attention is causal.
template<class Feed>
struct causal_feed : std::type_identity<legal> {};
template<FeedOfExperts Feed>
struct causal_feed<Feed> : std::type_identity<typename Feed::causal_verdict> {};

/// The result without what the layers of experts said.
template<class Z>
constexpr auto const& value_of(Z const& z) {
  if constexpr (is_routed<Z>) return z.value;
  else return z;
}
/// `value`, with what the layers of experts said in `z`.
template<class Value, class Z>
constexpr auto with_value(Value const& value, Z const& z) {
  if constexpr (is_routed<Z>) return routed{value, z.balance_loss, z.router_z_loss, z.dropped};
  else return value;
}
/// z, whose layers of experts may have been on an earlier stage: what they said goes to the one that works
/// now.
template<Layout L, class Z>
constexpr Z said_here(Z const& z, std::source_location) {
  return z;
}
template<Layout L, class Value, class BalanceLoss, class ZLoss, class Dropped>
  requires(is_staged<L> && !meshtf::detail::AnyRejected<Dropped>)
constexpr auto said_here(routed<Value, BalanceLoss, ZLoss, Dropped> const& z, std::source_location at) {
  int const k = z.dropped.machine().stage();
  return routed{z.value, handed_on(z.balance_loss, k, at), handed_on(z.router_z_loss, k, at),
                handed_on(z.dropped, k, at)};
}
/// z, with what the layers of experts said before it.
template<Layout L, class Before, class Z>
constexpr auto joined(Before const& before, Z const& z, std::source_location at) {
  if constexpr (is_routed<Z> && is_routed<Before>) {
    auto const a = detail::said_here<L>(before, at);
    auto const b = detail::said_here<L>(z, at);
    return routed{b.value, a.balance_loss + b.balance_loss, a.router_z_loss + b.router_z_loss,
                  a.dropped + b.dropped};
  } else {
    return z;
  }
}

/// The last layer of a block: of experts, or feed-forward. Layers of experts may get a mask of the tokens
/// that count.
template<class Feed, class X, class... Mask>
constexpr auto fed(Feed const& feed, X const& x, [[maybe_unused]] expert_pass const& pass,
                   [[maybe_unused]] std::source_location at, [[maybe_unused]] Mask const&... mask) {
  if constexpr (FeedOfExperts<Feed>) {
    auto const z = [&] {  // not a conditional operator: g++ 12 then destroys the value twice in a dry run
      if (pass.trains) return feed(x, pass.random, mask..., at);
      return feed.evaluate(x, mask..., at);
    }();
    return routed{z.value, z.balance_loss, z.router_z_loss, z.dropped};
  } else {
    return feed(x);
  }
}
/// The same after self-attention with `terms`. Layers that skip padding learn from these where it is: where
/// the segment ids are 0, or, without such, the mask.
template<class Feed, class X, class Terms>
constexpr auto fed_after(Terms const& terms, Feed const& feed, X const& x, expert_pass const& pass,
                         std::source_location at) {
  if constexpr (requires { Feed::skips_padding; }) {
    using segments = std::remove_cvref_t<decltype(terms.query_segments)>;
    using mask     = std::remove_cvref_t<decltype(terms.mask)>;
    if constexpr (Tensor<segments>) return detail::fed(feed, x, pass, at, terms.query_segments);
    else if constexpr (Tensor<mask>) return detail::fed(feed, x, pass, at, terms.mask);
    else return detail::fed(feed, x, pass, at);
  } else {
    return detail::fed(feed, x, pass, at);
  }
}
/// The same of a few positions, for decoding: no choice is dropped, so that each position gets what it would
/// get alone.
template<class Feed, class X>
constexpr auto fed_without_drops(Feed const& feed, X const& x, [[maybe_unused]] std::source_location at) {
  if constexpr (FeedOfExperts<Feed>) return feed.without_drops(x, at).value;
  else return feed(x);
}

/// What a block returns whose last layer gave z, and its branch `f` of that.
template<class X, class F, class Z>
constexpr auto block_result(X&& stream, F&& f, Z const& z) {
  return detail::with_value(residual_of(std::forward<X>(stream), std::forward<F>(f)), z);
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
