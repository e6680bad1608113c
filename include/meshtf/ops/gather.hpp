// gather: rows of a table by index, such as the embeddings of tokens.
#pragma once

#include <source_location>

#include <meshtf/plan/gather_plan.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// The rows of `table` along `V` that `ids` name: the dimensions of the ids, then those of the table but for `V`, in their orders.
///
///     auto x = gather<vocab>(embedding, tokens);   // embedding[vocab, model], tokens[batch, length] -> x[batch, length, model]
///
/// `ids` hold numbers from 0 to V::size - 1; another ends the program with its place. Local where `V` is whole; where it is split, no row of the table
/// travels: an all-reduce of the result over its axes. Gradient: dz is added to the rows it came from; it owes the axes of the ids' dimensions.
template<Dimension V, Element T, class L, class... D, class U, class R, class... I>
constexpr auto gather(tensor<T, L, D...> const& table, tensor<U, R, I...> const& ids, std::source_location at = std::source_location::current()) {
  using plan    = gather_plan<wet<L>, shape<D...>, V, shape<I...>>;
  using number  = std::conditional_t<std::is_same_v<U, std::int32_t>, legal, operands_have_different_elements<std::int32_t, U>>;
  using verdict = first_objection<detail::fit_verdict<tensor<U, L>, tensor<U, R>>, number, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: gather can't take these rows of this table");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto& m = table.machine();
    m.enter("gather", at);
    detail::expect_one_mesh(m, ids.machine());
    auto z = tensor_of<T, L, typename plan::result>::uninitialised(m);
    m.run(task::gather_rows<T>{}, plan::rows, table.data(), ids.data(), z.data());
    m.because(&detail::reason_to_look_up<wet<L>, typename plan::loops>);
    m.all_reduce(reduction::sum, z.data(), z.size, plan::finished_over);

    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(table))
        detail::record(z, [table = table.without_value(), ids = detail::keep(ids)](auto const& dz) {
          tensor<T, L, D...> sums{dz.machine()};
          dz.machine().run(task::scatter_rows<T>{}, plan::rows, sums.data(), ids.value().data(), dz.data());
          detail::contribute(table, sums, plan::table_owes);
        });
    return z;
  }
}

/// Rows of a table that is an open sum: open over what it owes and over the axes that split `V`. Nothing is sent.
template<Dimension V, Element T, class L, class... D, class Over, class U, class R, class... I>
constexpr auto gather(partial<tensor<T, L, D...>, Over> const& p, tensor<U, R, I...> const& ids,
                      std::source_location at = std::source_location::current()) {
  using plan    = gather_plan<wet<L>, shape<D...>, V, shape<I...>>;
  using number  = std::conditional_t<std::is_same_v<U, std::int32_t>, legal, operands_have_different_elements<std::int32_t, U>>;
  using verdict = first_objection<detail::fit_verdict<tensor<U, L, D...>, tensor<U, R, I...>>, number, typename plan::verdict,
                                  detail::open_verdict<L, shape<I...>, Over>>;
  static_assert(accepted<verdict>, "meshtf: gather can't take these rows of an open sum: gather<...>(finish(table), ids)");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    static_assert(algebra::after(algebra::use::moved, algebra::pending::sum).sound());
    auto const& table = p.addend();
    auto& m           = table.machine();
    m.enter("gather", at);
    detail::expect_one_mesh(m, ids.machine());
    auto z = tensor_of<T, L, typename plan::result>::uninitialised(m);
    m.run(task::gather_rows<T>{}, plan::rows, table.data(), ids.data(), z.data());
    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(table))
        detail::record(z, [table = table.without_value(), ids = detail::keep(ids)](auto const& dz) {
          tensor<T, L, D...> sums{dz.machine()};
          dz.machine().run(task::scatter_rows<T>{}, plan::rows, sums.data(), ids.value().data(), dz.data());
          detail::contribute(table, sums, plan::table_owes);
        });
    return partial<decltype(z), detail::united_axes<L, Over, axes_of<L, V>>>{std::move(z), p.owed() | plan::finished_over};
  }
}

}  // namespace meshtf::inline v0
