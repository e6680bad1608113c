// gather: rows of a table by index, such as the embeddings of tokens.
#pragma once

#include <meshtf/plan/gather_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// The rows of `table` along `V` that `ids` name. The result has the dimensions of the ids, then those of the
/// table without `V`, each in their order.
///
///     auto x = gather<vocab>(embedding, tokens);   // embedding[vocab, model], tokens[batch, length] ->
///                                                  x[batch, length, model]
///     auto y = gather<length>(x, places);          // x[batch, length, model], places[batch, pick] ->
///                                                  y[batch, pick, model]
///
/// Where the ids share dimensions with the table, such as batch above, each element of these has rows of its
/// own: the ids look among them. These may be split like any other, and cost nothing.
/// `ids` hold numbers from 0 to V::size - 1; any other number ends the program with a message that says where
/// it stands. Local where `V` is whole. Where `V` is split, no row of the table travels: the result is
/// all-reduced over the axes of `V`. Gradient: dz is added to the rows it came from, and is unreduced over
/// the axes of the dimensions that only the ids have. Where the table is a partial sum, the result is
/// unreduced over the table's unreduced axes and the axes that split `V`, and nothing is sent.
template<Dimension V, detail::Operand X, Tensor I>
constexpr auto gather(X const& operand, I const& ids,
                      std::source_location at = std::source_location::current()) {
  using T      = detail::element_in<X>;
  using L      = detail::layout_in<X>;
  using U      = typename I::element_type;
  using plan   = gather_plan<actual<L>, detail::shape_in<X>, V, typename I::shape_type>;
  using number = std::conditional_t<std::is_same_v<U, std::int32_t>, legal,
                                    operands_have_different_elements<std::int32_t, U>>;
  using verdict =
      first_objection<detail::fit_verdict<tensor<U, L>, tensor<U, typename I::layout_type>>, number,
                      typename plan::verdict,
                      detail::partial_sum_verdict<L, typename I::shape_type, detail::unreduced_axes_in<X>>>;
  static_assert(accepted<verdict>, "meshtf: gather can't take these rows of this table");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    static_assert(algebra::after(algebra::use::layout_only, algebra::pending::sum).sound());
    auto const& table = detail::local_terms(operand);
    auto& m           = table.machine();
    m.begin_operation("gather", at);
    detail::expect_one_mesh(m, ids.machine());
    detail::local_result<tensor_of<T, L, typename plan::result>> z{
        tensor_of<T, L, typename plan::result>::uninitialised(m), plan::finished_over,
        &detail::reason_to_look_up<actual<L>, typename plan::loops>};
    m.run(task::gather_rows<T>{}, plan::rows, table.data(), ids.data(), z.value.data());
    detail::reduce_unless_partial<X>(z);

    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(table))
        detail::record(z.value, [table = table.without_value(), ids = detail::keep(ids)](auto const& dz) {
          tensor_of<computed<T>, L, detail::shape_in<X>> sums{dz.machine()};
          if constexpr (NarrowElement<T>) {  // the sum of many rows is rounded once
            auto const wide = detail::each<computed<T>, typename plan::result>(function::identity{}, dz);
            dz.machine().run(task::scatter_rows<computed<T>>{}, plan::rows, sums.data(), ids.value().data(),
                             wide.data());
            detail::contribute(table, detail::each<T, detail::shape_in<X>>(function::identity{}, sums),
                               plan::table_unreduced);
          } else {
            dz.machine().run(task::scatter_rows<T>{}, plan::rows, sums.data(), ids.value().data(), dz.data());
            detail::contribute(table, sums, plan::table_unreduced);
          }
        });
    return detail::result_of<axes_of<L, V>, X>(std::move(z.value),
                                               detail::unreduced_axes_of(operand) | z.unreduced);
  }
}

MESHTF_ACCEPT_REJECTED(gather)

}  // namespace v0
}  // namespace meshtf
