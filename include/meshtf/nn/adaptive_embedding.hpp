// Embeddings with more elements for frequent ids than for rare ones.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include <meshtf/nn/factorised_embedding.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/logical.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/shape/concat.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// `Words::size` ids of an adaptive embedding, each with `Inner` elements.
template<Dimension Words, Dimension Inner>
struct cluster {};

namespace detail {

template<class T, class L, class Model, class Cluster>
struct embedding_of_cluster;
template<class T, class L, class Model, class Words, class Inner>
struct embedding_of_cluster<T, L, Model, cluster<Words, Inner>>
    : factorised_embedding<T, L, Words, Inner, Model> {
  static constexpr extent words = Words::size;
  constexpr embedding_of_cluster(machine<L>& m, streams& seeds, double stddev)
      : factorised_embedding<T, L, Words, Inner, Model>{m, normal{seeds.next(), stddev},
                                                        normal{seeds.next(), stddev}} {}
};
template<class T, class L, class Model, class Words>
struct embedding_of_cluster<T, L, Model, cluster<Words, Model>> : embedding<T, L, Words, Model> {
  static constexpr extent words = Words::size;
  constexpr embedding_of_cluster(machine<L>& m, streams& seeds, double stddev)
      : embedding<T, L, Words, Model>{m, normal{seeds.next(), stddev}} {}
};

}  // namespace detail

/// The first ids are those of the first of the clusters, and so on; a cluster with `Model` for its inner
/// dimension needs no second matrix:
///
///     nn::adaptive_embedding<float, L, vocab, model, nn::cluster<frequent, model>, nn::cluster<rare, few>>
///         tokens{m, seeds, 0.1};
///
/// Each cluster looks up all ids, those of others as 0, so this saves memory, not time. `logits` puts the
/// scores of all clusters side by side: for it the dimensions of words are whole, while `Vocab` may be split.
/// Source: Baevski, Auli, Adaptive Input Representations (2019), with one softmax over all, as in Mesh
/// TensorFlow's AdaptiveVocabEmbedding.
template<FloatingElement T, Layout L, Dimension Vocab, Dimension Model, class... Cluster>
struct adaptive_embedding {
  std::tuple<detail::embedding_of_cluster<T, L, Model, Cluster>...> clusters;

  static_assert(
      (detail::embedding_of_cluster<T, L, Model, Cluster>::words + ...) == Vocab::size,
      "meshtf: the clusters of an adaptive embedding have as many words together as the vocabulary");

  constexpr adaptive_embedding(machine<L>& m, streams& seeds, double stddev)
      : clusters{detail::embedding_of_cluster<T, L, Model, Cluster>{m, seeds, stddev}...} {}

  template<class Ids>
  constexpr auto operator()(Ids const& ids, std::source_location at = std::source_location::current()) const {
    std::int32_t first = 0;
    auto const rows_of = [&](auto const& part) {
      std::int32_t const begin = first;
      first += static_cast<std::int32_t>(part.words);
      auto const here = logical_and(greater_equal(ids, begin, at), less(ids, first, at), at);
      return part(where(here, ids - begin, std::int32_t{0}, at), at) * cast<T>(here, at);
    };
    return std::apply(
        [&](auto const& head, auto const&... tail) { return add(rows_of(head), rows_of, tail...); },
        clusters);
  }

  /// A score for each id: the result has x's dimensions without `Model`, then `Vocab`.
  template<class X>
  constexpr auto logits(X const& x, std::source_location at = std::source_location::current()) const {
    return std::apply([&](auto const&... part) { return concat<Vocab>(part.logits(x, at)...); }, clusters);
  }
  constexpr auto parameters() {
    return std::apply([](auto&... part) { return meshtf::parameters(part...); }, clusters);
  }

private:
  template<class Z, class F>
  static constexpr Z add(Z z, F const&) {
    return z;
  }
  template<class Z, class F, class Head, class... Tail>
  static constexpr auto add(Z const& z, F const& rows_of, Head const& head, Tail const&... tail) {
    return add(z + rows_of(head), rows_of, tail...);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
