// finish: adds up a partial sum over the processes that hold its local terms.
#pragma once

#include <source_location>

#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

/// The finished sum of `p`, equal on all processes that hold the same part: one all-reduce over all unreduced
/// axes together, or no message if nothing is left to reduce.
/// Gradient: the dual of a sum is a copy, so the gradient of each local term is that of the sum, and needs no
/// reduction.
template<class T, class L, class... D, class Over>
constexpr auto finish(partial<tensor<T, L, D...>, Over> p,
                      std::source_location at = std::source_location::current()) {
  axis_set const unreduced = p.owed();
  auto z                   = std::move(p).local_terms();
  z.machine().begin_operation("finish", at);
  auto const operand = z.without_value();
  z                  = z.without_slot();
  detail::finish_in_place(z, unreduced);
  if (detail::wants_gradient(operand))
    detail::record(z, [operand](auto const& dz) { detail::contribute(operand, dz); });
  return z;
}

/// A tensor needs no reduction, so finishing twice is harmless.
template<class T, class L, class... D>
constexpr auto finish(tensor<T, L, D...> const& x) {
  return x;
}

/// `x` as a local term of a sum that is unreduced over `A...`: it counts once, on coordinate 0 of those axes.
/// `p + as_partial<A...>(x)` adds it to a partial sum.
template<MeshAxis... A, class T, class L, class... D>
constexpr auto as_partial(tensor<T, L, D...> const& x,
                          std::source_location at = std::source_location::current()) {
  static_assert((L::mesh_type::all_axes::template has<A> && ...), "meshtf: this mesh has no such axis");
  constexpr axis_set over = joining_among<typename L::mesh_type, axes<A...>>;
  static_assert((split_over<L, shape<D...>> & over) == 0,
                "meshtf: an axis that splits a tensor can't be one that it is summed over");
  auto& m = x.machine();
  m.begin_operation("as_partial", at);
  auto z = tensor<T, L, D...>::uninitialised(m);
  m.add_up(x.size, m.counts(over), false, x.data(), x.data(), z.data());
  if (detail::wants_gradient(x))
    detail::record(z, [x = x.without_value()](auto const& dz) { detail::contribute(x, dz); });
  return partial<tensor<T, L, D...>, axes<A...>>{std::move(z), over};
}

MESHTF_ACCEPT_REJECTED(finish)
MESHTF_ACCEPT_REJECTED(as_partial)

}  // namespace v0
}  // namespace meshtf
