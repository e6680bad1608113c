// Models with experts: every second block of nn::transformer, nn::encoder, nn::decoder or nn::seq2seq has a
// layer of experts in the place of its feed-forward layer.
#pragma once

#include <meshtf/nn/blocks_in_turn.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Block 1, 3, 5 and so on have `mixture_of_experts` in the place of their feed-forward layer. The dimensions
/// of a model say so:
///
///     struct dims : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
///       using feed_forward = nn::experts_in_every_second_block<experts, groups, inside>;
///     };
///     auto const z     = net.loss(pairs, {.dropout = {.random = key, .trains = true}});
///     auto const gates = finish(z.balance_loss * 0.01 + z.router_z_loss * 0.001);
///     auto const loss  = z.value / net.count(pairs) + gates;
///
/// What the model returns is then `routed`. `Hidden` is the width of one expert; the other template arguments
/// are those of `mixture_of_experts`. Decoding step by step drops no choice.
///
/// `experts_in_every_second_block<...>::skipping_padding` is the same, but padding takes no places, and is in
/// no loss of the experts: positions of an encoder and a decoder whose segment ids are 0, as in
/// `packed_pairs`, or that a mask hides, as in `source_rows`. Ids or mask have all dimensions of the batch.
/// Each layer then has one all-reduce of one int32 in the forward pass: how many positions count. Source:
/// Lepikhin et al., GShard (2020), section 2.1: every other feed-forward layer.
template<Dimension Experts, Dimension Groups, Dimension Hidden, class Gating = top_2_gating,
         class Factors = capacity_factors<>>
struct experts_in_every_second_block {
  template<FloatingElement T, Layout L, Dimension Model>
  using layer = mixture_of_experts<T, L, Model, Hidden, Experts, Groups, Gating, Factors>;
  template<class Dense, class WithExperts>
  using blocks = detail::in_turn<Dense, WithExperts>;

  struct skipping_padding {
    template<FloatingElement T, Layout L, Dimension Model>
    struct layer : mixture_of_experts<T, L, Model, Hidden, Experts, Groups, Gating, Factors> {
      using mixture_of_experts<T, L, Model, Hidden, Experts, Groups, Gating, Factors>::mixture_of_experts;
      static constexpr bool skips_padding = true;
    };
    template<class Dense, class WithExperts>
    using blocks = detail::in_turn<Dense, WithExperts>;
  };
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
