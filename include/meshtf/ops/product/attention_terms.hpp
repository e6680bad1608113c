// Terms of attention: what is added to the scores, and what hides positions of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// No bias, or no segment ids.
struct no_term {
  using shape_type = shape<>;
  constexpr no_term const& value() const { return *this; }
  constexpr std::nullptr_t data() const { return nullptr; }
  constexpr bool needs_gradient() const { return false; }
};
constexpr no_term keep(no_term) { return {}; }

template<class L, class T, class X>
inline constexpr bool term_fits = true;
template<class L, class T, class U, class K, class... D>
inline constexpr bool term_fits<L, T, tensor<U, K, D...>> = std::is_same_v<L, K> && std::is_same_v<T, U>;

/// A term that may be named and used later: a tensor is a handle. A parameter, which does not copy, is
/// referred to.
template<class X>
using held_term = std::conditional_t<std::is_copy_constructible_v<X>, X, X const&>;

inline constexpr no_term without_term{};

/// What is added to scores, and what hides them.
template<class Bias, class QuerySegments, class MemorySegments, class Mask = no_term>
struct attention_terms {
  held_term<Bias> bias;
  held_term<QuerySegments> query_segments;
  held_term<MemorySegments> memory_segments;
  held_term<Mask> mask;

  /// The same terms, with segment ids.
  template<Tensor Q, Tensor M>
  constexpr attention_terms<Bias, Q, M, Mask> and_segments(Q const& of_queries, M const& of_memory) const {
    return {bias, of_queries, of_memory, mask};
  }
  template<Tensor S>
  constexpr attention_terms<Bias, S, S, Mask> and_segments(S const& ids) const {
    return {bias, ids, ids, mask};
  }
  /// The same terms, with a mask of the memory.
  template<Tensor M>
  constexpr attention_terms<Bias, QuerySegments, MemorySegments, M> and_mask(M const& visible) const {
    return {bias, query_segments, memory_segments, visible};
  }
};

/// The terms with the given types, of their values.
template<class B, class QS, class MS, class M>
constexpr attention_terms<B, QS, MS, M> terms_of(B const& bias, QS const& of_queries, MS const& of_memory,
                                                 M const& mask) {
  return {bias, of_queries, of_memory, mask};
}

/// The id of a position of the memory that a mask hides. It is no segment id, since those are less than 2^24
/// as numbers.
inline constexpr std::int32_t hidden_segment = -(1 << 24);

/// The terms with the mask written as segment ids, which the kernels compare: without ids of the user's, all
/// queries and all visible positions have the id 0.
template<class Query, class Memory, class B, class QS, class MS, class M>
constexpr auto mask_in_segments(attention_terms<B, QS, MS, M> const& terms, std::source_location at) {
  if constexpr (std::is_same_v<QS, no_term>) {
    using L = typename M::layout_type;
    auto& m = terms.mask.machine();
    tensor<std::int32_t, L, Query> const of_queries{m};
    tensor<std::int32_t, L, Memory> const all{m};
    auto const of_memory = where(terms.mask, all, hidden_segment, at);
    return terms_of(terms.bias, of_queries, of_memory, without_term);
  } else {
    auto const of_memory = where(terms.mask, terms.memory_segments, hidden_segment, at);
    return terms_of(terms.bias, terms.query_segments, of_memory, without_term);
  }
}

template<class L, class X>
inline constexpr bool mask_fits = false;
template<class L, class T, class K, class... D>
inline constexpr bool mask_fits<L, tensor<T, K, D...>> = std::is_same_v<L, K>;

}  // namespace detail

/// A bias for `attention`, which is added to the scores. It has any of the queries' batch dimensions, such as
/// heads, and
///
/// - `Memory`, and perhaps `Query`: an element for each score, or for each position of the memory.
///   `nn::contextual_bias` makes such; or
/// - one dimension that the queries do not have, `Distance`: the score of position i and position j of the
///   memory gets the element number
///   i - j + Memory::size - 1, so there are Query::size + Memory::size - 1 of them, or more. `nn::alibi` and
///   `nn::relative_bias` make such.
template<Tensor B>
constexpr auto with_bias(B const& b) {
  return detail::terms_of(b, detail::without_term, detail::without_term, detail::without_term);
}

/// Segment ids for `attention`, such as the numbers of sequences that are packed into one: a query sees only
/// positions with its own id. They are int, have the dimension of the positions and any of the batch
/// dimensions, and are compared as elements are computed: in float they are less than 2^24. A query that sees
/// nothing gets zeros.
template<Tensor Q, Tensor M>
constexpr auto with_segments(Q const& of_queries, M const& of_memory) {
  return detail::terms_of(detail::without_term, of_queries, of_memory, detail::without_term);
}
/// The same ids for queries and memory, in self-attention.
template<Tensor S>
constexpr auto with_segments(S const& ids) {
  return with_segments(ids, ids);
}

/// A mask of the memory for `attention`: every query sees only positions where `visible` is not 0, for
/// instance those before the padding at the end of each sequence, `with_mask(not_equal(ids, 0))`. It has
/// elements of any type, the memory's dimension and any of the batch dimensions. With segment ids,
/// `with_segments(q_ids, k_ids).and_mask(visible)`, a query sees what both allow, and one of the mask and the
/// memory's ids has all dimensions of the other. A query that sees nothing gets zeros. It costs a pass over
/// the mask, and what segment ids cost.
template<Tensor M>
constexpr auto with_mask(M const& visible) {
  return detail::terms_of(detail::without_term, detail::without_term, detail::without_term, visible);
}

MESHTF_ACCEPT_REJECTED(with_bias)
MESHTF_ACCEPT_REJECTED(with_segments)
MESHTF_ACCEPT_REJECTED(with_mask)

}  // namespace v0
}  // namespace meshtf
