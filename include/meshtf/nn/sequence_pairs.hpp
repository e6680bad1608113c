// Pairs of sequences that a model learns from: several in a row, or one.
#pragma once

#include <cstdint>
#include <source_location>

#include <meshtf/nn/blocks_with_norm.hpp>
#include <meshtf/nn/segments.hpp>
#include <meshtf/nn/sequences.hpp>
#include <meshtf/ops/function/hand_on.hpp>
#include <meshtf/ops/function/micro_batch.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
namespace detail {

/// A tensor of ids, or what the compiler has refused.
template<class X>
concept IdsOrRejected = Tensor<X> || meshtf::detail::AnyRejected<X>;

/// Sequences of which the compiler has refused one: models accept them, and no error follows.
template<class Pairs>
concept RejectedSequences = meshtf::detail::AnyRejected<Pairs> || requires { typename Pairs::rejected_type; };

}  // namespace detail

/// Pairs of sequences of which several share a row: ids, and the number of the pair that each position
/// belongs to, the same on both sides, from 1 on. Positions with the number 0 are padding: their ids are any
/// of the vocabulary, and their losses do not count. All are int, with the dimension of the positions and any
/// batch dimensions.
///
///     nn::packed_pairs const pairs{source, of_source, target, of_target};
template<detail::IdsOrRejected Source, detail::IdsOrRejected Target,
         detail::IdsOrRejected SourceSegments = Source, detail::IdsOrRejected TargetSegments = Target>
struct packed_pairs {
  Source source;
  SourceSegments source_segments;
  Target target;
  TargetSegments target_segments;

  template<Dimension Along>
  constexpr auto source_places(std::source_location at) const {
    return positions_in_segments<Along>(source_segments, at);
  }
  template<Dimension Along>
  constexpr auto target_places(std::source_location at) const {
    return positions_in_segments<Along>(target_segments, at);
  }
  /// What the decoder reads: the targets one position later, with 0 in front of each sequence.
  template<Dimension Along>
  constexpr auto inputs(std::source_location at) const {
    return autoregressive_inputs<Along>(target, target_segments, at);
  }
  constexpr auto source_terms() const { return with_segments(source_segments); }
  constexpr auto target_terms() const { return with_segments(target_segments); }
  constexpr auto cross_terms() const { return with_segments(target_segments, source_segments); }
  /// 1 for each target that counts, 0 for padding.
  template<FloatingElement T>
  constexpr auto counts(std::source_location at) const {
    return cast<T>(not_equal(target_segments, 0, at), at);
  }
  /// The same on stage `k` of a layout with stages: `hand_on` of each.
  constexpr packed_pairs on_stage(int k, std::source_location at) const {
    return {hand_on(source, k, at), hand_on(source_segments, k, at), hand_on(target, k, at),
            hand_on(target_segments, k, at)};
  }
  /// Micro-batch `i` of each of the four.
  template<Dimension Batch, Dimension Micro>
  constexpr auto part(extent i, std::source_location at = std::source_location::current()) const {
    return nn::packed_pairs{
        micro_batch<Batch, Micro>(source, i, at), micro_batch<Batch, Micro>(source_segments, i, at),
        micro_batch<Batch, Micro>(target, i, at), micro_batch<Batch, Micro>(target_segments, i, at)};
  }
};

template<detail::IdsOrRejected Source, detail::IdsOrRejected Target, detail::IdsOrRejected SourceSegments,
         detail::IdsOrRejected TargetSegments>
  requires meshtf::detail::AnyRejected<Source, Target, SourceSegments, TargetSegments>
struct packed_pairs<Source, Target, SourceSegments, TargetSegments> {
  using rejected_type = rejected;

  Source source;
  SourceSegments source_segments;
  Target target;
  TargetSegments target_segments;

  template<Dimension Batch, Dimension Micro>
  constexpr rejected part(extent, std::source_location = {}) const {
    return {};
  }
};

/// A pair of sequences in each row, of which all positions count: for sources and targets whose lengths are
/// counted at run time (`up_to`), where all pairs of a batch have the same. Nothing is compared or hidden.
///
///     nn::row_pairs const pairs{source, target};
template<detail::IdsOrRejected Source, detail::IdsOrRejected Target>
struct row_pairs {
  Source source;
  Target target;

  template<Dimension Along>
  constexpr auto source_places(std::source_location at) const {
    return iota<std::int32_t, typename Source::layout_type, Along>(source.machine(), at);
  }
  template<Dimension Along>
  constexpr auto target_places(std::source_location at) const {
    return iota<std::int32_t, typename Target::layout_type, Along>(target.machine(), at);
  }
  template<Dimension Along>
  constexpr auto inputs(std::source_location at) const {
    return autoregressive_inputs<Along>(target, at);
  }
  constexpr auto source_terms() const { return detail::all_visible; }
  constexpr auto target_terms() const { return detail::all_visible; }
  constexpr auto cross_terms() const { return detail::all_visible; }
  template<FloatingElement T>
  constexpr auto counts(std::source_location at) const {
    return cast<T>(greater_equal(target, 0, at), at);
  }
  /// The same on stage `k` of a layout with stages: `hand_on` of each.
  constexpr row_pairs on_stage(int k, std::source_location at) const {
    return {hand_on(source, k, at), hand_on(target, k, at)};
  }
  /// Micro-batch `i` of both.
  template<Dimension Batch, Dimension Micro>
  constexpr auto part(extent i, std::source_location at = std::source_location::current()) const {
    return nn::row_pairs{micro_batch<Batch, Micro>(source, i, at), micro_batch<Batch, Micro>(target, i, at)};
  }
};

template<detail::IdsOrRejected Source, detail::IdsOrRejected Target>
  requires meshtf::detail::AnyRejected<Source, Target>
struct row_pairs<Source, Target> {
  using rejected_type = rejected;

  Source source;
  Target target;

  template<Dimension Batch, Dimension Micro>
  constexpr rejected part(extent, std::source_location = {}) const {
    return {};
  }
};

/// A source in each row, with padding where `visible` is 0: what `seq2seq::greedy` decodes.
template<detail::IdsOrRejected Source, detail::IdsOrRejected Visible>
struct source_rows {
  Source source;
  Visible visible;

  template<Dimension Along>
  constexpr auto source_places(std::source_location at) const {
    return iota<std::int32_t, typename Source::layout_type, Along>(source.machine(), at);
  }
  constexpr auto source_terms() const { return with_mask(visible); }
};

template<detail::IdsOrRejected Source, detail::IdsOrRejected Visible>
  requires meshtf::detail::AnyRejected<Source, Visible>
struct source_rows<Source, Visible> {
  using rejected_type = rejected;

  Source source;
  Visible visible;
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
