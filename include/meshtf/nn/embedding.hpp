// Embeddings: a trained vector for each id.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/ops/index/gather.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Looks up a row of a trained table for each id: the result has the dimensions of the ids, then `Model`.
///
/// The rows are in the elements of the table: for mixed precision cast them, `cast<bfloat16>(tokens(ids))`.
/// `logits` computes in the elements of x. Where `Vocab` is split, each process looks up the rows that it
/// holds, and one all-reduce joins them. `logits(x)` multiplies with the same table: the tied softmax of
/// Press, Wolf, Using the Output Embedding to Improve Language Models (2017).
template<FloatingElement T, Layout L, Dimension Vocab, Dimension Model>
struct embedding {
  kept_parameter<T, L, Vocab, Model> table;

  template<class Initialiser>
  constexpr embedding(machine<L>& m, Initialiser const& initialiser) : table{m, initialiser} {}

  template<class Ids>
  constexpr auto operator()(Ids const& ids, std::source_location at = std::source_location::current()) const {
    if constexpr (meshtf::detail::AnyRejected<Ids>) return gather<Vocab>(table, ids, at);
    else if constexpr (detail::is_kept_elsewhere<Ids, kept_parameter<T, L, Vocab, Model>>)
      return gather<Vocab>(reshard<actual<meshtf::detail::layout_in<Ids>>>(table, at), ids, at);
    else return gather<Vocab>(table, ids, at);
  }
  /// A score for each id: the result has x's dimensions without `Model`, then `Vocab`.
  template<class X>
  constexpr auto logits(X const& x, std::source_location at = std::source_location::current()) const {
    return scores(x, table, at);
  }
  /// The same with another table of this shape.
  template<class X, class Table>
  static constexpr auto scores(X const& x, Table const& with,
                               std::source_location at = std::source_location::current()) {
    return detail::einsum_with_weight(united<without<typename X::shape_type, shape<Model>>, shape<Vocab>>{},
                                      x, with, at);
  }
  constexpr auto parameters() { return meshtf::parameters(table); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
