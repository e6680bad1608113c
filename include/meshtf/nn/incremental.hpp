// Decoding one position after the other: what a stack of blocks keeps of the positions that it has seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include <meshtf/nn/blocks_in_turn.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// A prompt that a model has read: the scores of the id after it, and the keys and values of each block,
/// which `extend` goes on from.
template<class Scores, class Cache>
struct read_prompt {
  Scores scores;
  std::vector<Cache> caches;
};

/// The dimension of the positions that decoding adds at a time.
struct next_position : dim<1> {};

namespace detail {

/// The result of a block for all positions, and their keys and values.
template<class Result, class Cache>
struct prefilled {
  Result result;
  Cache cache;
};

/// The stream as a block's first norm leaves it, and its norm.
template<class X, class Norm>
struct normed_stream {
  X sum;
  Norm norm;
};

/// x through `blocks`, with the keys and values of each.
template<class Blocks, class X>
constexpr auto prefilled_through(Blocks const& blocks, X const& x, std::source_location at) {
  std::vector<decltype(detail::first_block(blocks).prefill(x, at).cache)> caches;
  auto const step = [&](auto const& b, std::size_t, auto const& before) {
    auto read = b.prefill(before, at);
    caches.push_back(std::move(read.cache));
    return read.result;
  };
  auto r = detail::through_blocks<typename X::layout_type>(blocks, x, step, at);
  return read_prompt<decltype(r), typename decltype(caches)::value_type>{std::move(r), std::move(caches)};
}

/// x, the positions `first` and following along `Step`, through `blocks`; each adds to its cache.
template<Dimension Step, class Blocks, class X, class Cache>
constexpr auto extended_through(Blocks const& blocks, X const& x, std::vector<Cache>& caches, extent first,
                                std::source_location at) {
  auto const step = [&](auto const& b, std::size_t i, auto const& before) {
    return b.template extend<Step>(before, caches[i], first, at);
  };
  return detail::through_blocks<typename X::layout_type>(blocks, x, step, at);
}

/// Position `place` of x along `Length`, as its only one along `next_position`. Where `Length` is split, one
/// all-reduce of this position.
template<Dimension Length, Dimension Model, class X>
constexpr auto one_position(X const& x, extent place, std::source_location at) {
  using L = typename X::layout_type;
  return [&]<Dimension... Batch>(shape<Batch...>) {
    tensor<std::int32_t, L, Batch..., next_position> const none{x.machine()};
    auto const places = none + static_cast<std::int32_t>(place);
    return gather<Length>(x, places, at);
  }(without<typename X::shape_type, shape<Length, Model>>{});
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
