// scatter_add: rows are added to those of a tensor that ids name.
#pragma once

#include <meshtf/ops/index/scatter.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// This process's part of the result of `scatter_add` of tensors, or of local terms of sums over `unreduced`.
/// The sum of many rows is rounded once.
template<class Plan, class T, class L, class... B, Tensor I, class... U>
constexpr auto rows_added(tensor<T, L, B...> const& base, I const& ids, tensor<T, L, U...> const& updates) {
  auto& m = base.machine();
  expect_one_mesh(m, ids.machine(), updates.machine());
  auto const add = [&](auto const& to, auto const& rows) {
    auto z = copied_once(to, Plan::table_unreduced);
    m.run(task::scatter_rows<computed<T>>{.checks = true}, Plan::rows, z.data(), ids.data(), rows.data());
    return z;
  };
  if constexpr (NarrowElement<T>) {
    auto const wide_base = each<computed<T>, shape<B...>>(function::identity{}, base);
    auto const wide_rows = each<computed<T>, shape<U...>>(function::identity{}, updates);
    auto const wide      = add(wide_base, wide_rows);
    return each<T, shape<B...>>(function::identity{}, wide);
  } else {
    return add(base, updates);
  }
}

}  // namespace detail

/// `base`, with `updates` added to its rows along `V` that `ids` name: a new tensor. The updates have the
/// dimensions of `gather<V>(base, ids)`.
///
///     auto counts = scatter_add<vocab>(zeros, tokens, ones);   // zeros[vocab], tokens[batch, length],
///     ones[batch, length] -> how often each came
///
/// Several updates of one row are all added, in the order of the ids. `ids` hold numbers from 0 to V::size -
/// 1; any other number ends the program with a message that says where it stands. Where `V` is split, or a
/// dimension that the ids share with `base`, each process adds to the rows that it has, and sends nothing for
/// that. Over the axes that split other dimensions of the ids the result is all-reduced. Gradient: of `base`
/// dz; of the updates the rows of dz that the ids name, which are unreduced over the axes of V. Two partial
/// sums give a partial sum, which is unreduced over the axes of the updates, too.
template<Dimension V, detail::Operand X, Tensor I, detail::Operand Y>
[[nodiscard]] constexpr auto scatter_add(X const& base, I const& ids, Y const& updates,
                                         std::source_location at = std::source_location::current()) {
  using T      = detail::element_in<X>;
  using L      = detail::layout_in<X>;
  using base_t = detail::tensor_in<X>;
  using rows_t = detail::tensor_in<Y>;
  using plan =
      scatter_add_plan<actual<L>, detail::shape_in<X>, V, typename I::shape_type, detail::shape_in<Y>>;
  using verdict =
      first_objection<detail::scatter_operands<algebra::meeting::plus, X, I, Y>, typename plan::verdict>;
  static_assert(NumberElement<T>, "meshtf: bools are not added: cast<int>(x) first");
  static_assert(accepted<verdict>, "meshtf: scatter_add can't add these rows to this tensor");
  if constexpr (!accepted<verdict> || !NumberElement<T>) {
    return detail::rejected{};
  } else {
    auto& m = detail::local_terms(base).machine();
    m.begin_operation("scatter_add", at);
    auto const add = [&](base_t const& x, rows_t const& y) {
      detail::local_result<base_t> z{detail::rows_added<plan>(x, ids, y), plan::table_unreduced,
                                     &detail::reason_to_sum<actual<L>, typename plan::loops>};
      detail::reduce_unless_partial<X>(z);
      if constexpr (FloatingElement<T>)
        if (detail::wants_gradient(x, y))
          detail::record(z.value, [x = x.without_value(), ids = detail::keep(ids, y.needs_gradient()),
                                   y = y.without_value()](auto const& dz) {
            if (y.needs_gradient()) {
              auto rows = rows_t::uninitialised(dz.machine());
              dz.machine().run(task::gather_rows<T>{}, plan::rows, dz.data(), ids.value().data(),
                               rows.data());
              detail::contribute(y, rows, plan::finished_over,
                                 &detail::reason_to_look_up<actual<L>, typename plan::loops>);
            }
            if (x.needs_gradient()) detail::contribute(x, dz);
          });
      return z;
    };
    if constexpr (detail::PartialSum<X>) {
      axis_set const unreduced = base.owed() | updates.owed();
      auto const x             = detail::local_terms_over(base, unreduced);
      auto z                   = add(x, detail::local_terms_over(updates, unreduced));
      return detail::result_of<
          detail::axes_that_split<L, without<typename I::shape_type, detail::shape_in<X>>>, X, Y>(
          std::move(z.value), unreduced | z.unreduced);
    } else {
      return add(detail::local_terms(base), detail::local_terms(updates)).value;
    }
  }
}

MESHTF_ACCEPT_REJECTED(scatter_add)

}  // namespace v0
}  // namespace meshtf
