// scatter: rows of a tensor are replaced where ids say.
#pragma once

#include <meshtf/plan/scatter_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// `legal`, or the objection to operands that are joined by ids: a tensor, updates of the same elements and
/// layout, ids of int.
template<algebra::meeting How, Operand X, Tensor I, Operand Y>
using scatter_operands =
    first_objection<meeting_verdict<How, X, Y>, operands_fit<X, Y>,
                    fit_verdict<tensor<std::int32_t, layout_in<X>>,
                                tensor<typename I::element_type, typename I::layout_type>>,
                    partial_sum_verdict<layout_in<X>, united<typename I::shape_type, shape_in<X>>,
                                        union_of<layout_in<X>, unreduced_axes_in<X>, unreduced_axes_in<Y>>>>;

/// The result of `scatter` of tensors. The gradient of an update that a later one has replaced is zero.
template<class Plan, class T, class L, class... B, Tensor I, class... U>
constexpr auto scattered(tensor<T, L, B...> const& base, I const& ids, tensor<T, L, U...> const& updates) {
  auto& m = base.machine();
  expect_one_mesh(m, ids.machine(), updates.machine());
  auto z = copied(base);
  m.run(task::set_rows<T>{}, Plan::rows, z.data(), ids.data(), updates.data());
  if constexpr (FloatingElement<T>)
    if (wants_gradient(base, updates))
      record(z, [base = base.without_value(), ids = keep(ids),
                 updates = updates.without_value()](auto const& dz) {
        auto rest = copied(dz);
        auto rows = tensor<T, L, U...>::uninitialised(dz.machine());
        dz.machine().run(task::take_rows<T>{}, Plan::rows, rest.data(), ids.value().data(), rows.data());
        if (updates.needs_gradient())
          contribute(updates, rows, Plan::finished_over, &reason_to_look_up<actual<L>, typename Plan::loops>);
        if (base.needs_gradient()) contribute(base, rest);
      });
  return z;
}

}  // namespace detail

/// `base` with the rows along `V` that `ids` name replaced by `updates`: a new tensor. It writes where
/// `gather<V>(base, ids)` reads, and the updates have the dimensions of what that gives.
///
///     auto y = scatter<slot>(memory, places, rows);   // memory[batch, slot, model], places[batch, pick],
///                                                     rows[batch, pick, model]
///
/// Of several updates of one row the last counts, in the order of the ids' dimensions, under every layout. So
/// dimensions that only the ids have must be whole. `ids` hold numbers from 0 to V::size - 1; any other
/// number ends the program with a message that says where it stands. Local: where `V` is split, each process
/// writes the rows that it has. Gradient: of `base` dz, with zeros in the rows that were replaced; of an
/// update the row of dz that it wrote, which is unreduced over the axes of V, or zeros if a later update
/// replaced it.
template<Dimension V, detail::Operand X, Tensor I, detail::Operand Y>
[[nodiscard]] constexpr auto scatter(X const& base, I const& ids, Y const& updates,
                                     std::source_location at = std::source_location::current()) {
  using L    = detail::layout_in<X>;
  using plan = scatter_plan<actual<L>, detail::shape_in<X>, V, typename I::shape_type, detail::shape_in<Y>>;
  using verdict =
      first_objection<detail::scatter_operands<algebra::meeting::alongside, X, I, Y>, typename plan::verdict>;
  static_assert(accepted<detail::with_reshard<verdict, I, Y>>,
                "meshtf: scatter can't write these rows to this tensor");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    detail::local_terms(base).machine().begin_operation("scatter", at);
    detail::local_terms(base).machine().constrain(plan::needs);
    if constexpr (detail::PartialSum<X>) {
      axis_set const unreduced = base.owed() | updates.owed();
      auto const x             = detail::local_terms_over(base, unreduced);
      return detail::result_of<axes<>, X, Y>(
          detail::scattered<plan>(x, ids, detail::local_terms_over(updates, unreduced)), unreduced);
    } else {
      return detail::scattered<plan>(detail::local_terms(base), ids, detail::local_terms(updates));
    }
  }
}

MESHTF_ACCEPT_REJECTED(scatter)

}  // namespace v0
}  // namespace meshtf
