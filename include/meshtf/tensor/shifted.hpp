// What shift and roll have in common: elements that move along a dimension, which may be split.
#pragma once

#include <source_location>

#include <meshtf/plan/shift_plan.hpp>
#include <meshtf/tensor/displaced.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// z[i] = x[i - offset] along `Along`, which becomes `To`; where x has none, `beyond`, or if it `wraps`, x from the other end.
///
/// Parts that are not full are the last ones. What lies past their elements counts as `beyond`, in their own rows and in those that they hand on.
template<class Along, class To = Along, class T, class L, class... D>
constexpr auto moved_by(tensor<T, L, D...> const& x, extent offset, bool wraps, T beyond) {
  using plan = shift_plan<wet<L>, shape<D...>, Along, To>;
  auto& m    = x.machine();
  if constexpr (!plan::exchanges) {
    return moved_along<Along, To>(x, {.offset = -offset, .wraps = wraps}, beyond);
  } else {
    using result    = tensor_of<T, L, typename plan::result>;
    using task      = task::copy_rows<T>;
    using handle    = typename result::handle_type;
    auto z          = result::uninitialised(m);
    auto const r    = shifted_rows::plan(offset, placed_under<L, Along>.room());
    auto const send = [&](extent count, extent leave, extent arrive, extent by) {
      if (count == 0) return;
      extent const n = count * plan::row, parts = placed_under<L, Along>.parts;
      handle const leaves = handle::make(m, m, n), arrives = handle::make(m, m, n);
      m.run(task{.count = count, .from = leave, .to_edge = true, .beyond = beyond}, plan::lines, x.data(), leaves->data());
      if (!wraps) m.fill(n, beyond, arrives->data());  // it stays at the end, where nothing arrives
      if (wraps || (by < parts && -by < parts))
        m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, plan::over, by, wraps);
      m.run(task{.count = count, .to = arrive, .from_edge = true}, plan::lines, static_cast<T const*>(arrives->data()), z.data());
    };
    if (r.stay_by != 0) send(r.stay, r.from, r.to, r.stay_by);
    else if (r.stay > 0) m.run(task{.count = r.stay, .from = r.from, .to = r.to, .beyond = beyond}, plan::lines, x.data(), z.data());
    send(r.further, r.leave, r.arrive, r.leave_by);
    return z;
  }
}

/// `x` moved so, where parts of `From` and `To` correspond. Part of an operation that has been entered.
template<class From, class To, class T, class L, class... D>
constexpr auto moved_in_parts(tensor<T, L, D...> const& x, extent offset, T beyond = {}) {
  auto z = moved_by<From, To>(x, offset, false, beyond);
  record_linear(z, x, [offset](auto const& to, auto const& dz, axis_set owed) { contribute(to, moved_by<To, From>(dz, -offset, false, T{}), owed); });
  return z;
}

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> shifted(char const* name, std::source_location at, tensor<T, L, D...> const& x, extent offset, bool wraps,
                                     T beyond = {}) {
  auto& m = x.machine();
  m.enter(name, at);
  if constexpr (shift_plan<wet<L>, shape<D...>, Along>::exchanges)
    if (wraps) offset = shortest_roll(offset, Along::size);
  auto z = moved_by<Along>(x, offset, wraps, beyond);
  record_linear(z, x,
                [offset, wraps](auto const& to, auto const& dz, axis_set owed) { contribute(to, moved_by<Along>(dz, -offset, wraps, T{}), owed); });
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
