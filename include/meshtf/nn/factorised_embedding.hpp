// Embeddings whose table is a product of two smaller ones.
#pragma once

#include <meshtf/nn/embedding.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// A row of `Inner` elements for each id, and a matrix that makes `Model` elements of them: with few of
/// `Inner`, a large vocabulary takes little memory. `logits` multiplies with both, as that of `embedding`. In
/// the original both start normal with standard deviation Inner::size^-1/4.
/// Source: Lan et al., ALBERT (2020), 3.1; Mesh TensorFlow's FactorizedVocabEmbedding.
template<FloatingElement T, Layout L, Dimension Vocab, Dimension Inner, Dimension Model>
struct factorised_embedding {
  embedding<T, L, Vocab, Inner> tokens;
  projection<T, L, Inner, Model> up;

  template<class OfTable, class OfMatrix>
  constexpr factorised_embedding(machine<L>& m, OfTable const& of_table, OfMatrix const& of_matrix)
      : tokens{m, of_table}, up{m, of_matrix} {}

  template<class Ids>
  constexpr auto operator()(Ids const& ids, std::source_location at = std::source_location::current()) const {
    return up(tokens(ids, at), at);
  }
  /// A score for each id: the result has x's dimensions without `Model`, then `Vocab`.
  template<class X>
  constexpr auto logits(X const& x, std::source_location at = std::source_location::current()) const {
    using narrow = united<without<typename X::shape_type, shape<Model>>, shape<Inner>>;
    return tokens.logits(detail::einsum_with_weight(narrow{}, x, up.weight, at), at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("table", tokens.table), named("up", up)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
