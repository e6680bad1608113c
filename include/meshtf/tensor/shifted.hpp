// What shift and roll have in common: elements that move along a dimension, which may be split.
#pragma once

#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/plan/shift_plan.hpp>
#include <meshtf/tensor/displaced.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class Along>
[[noreturn]] void throw_shift_beyond(char const* operation, extent offset, extent room) {
  throw software_error(std::string{operation} + " of " + std::string{name_of<Along>()} + " by " + std::to_string(offset) +
                       " reaches beyond the part next to each, expected -" + std::to_string(room) + " to " + std::to_string(room) +
                       ": it is split into parts of " + std::to_string(room) + " elements; reshard to a layout in which it is whole");
}

/// z[i] = x[i - offset] along `Along`; where x has none, `beyond`, or if it `wraps`, x from the other end.
///
/// Parts that are not full are the last ones. What lies past their elements counts as `beyond`, in their own rows and in those that they hand on.
template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> moved_by(tensor<T, L, D...> const& x, extent offset, bool wraps, T beyond) {
  using plan = shift_plan<wet<L>, shape<D...>, Along>;
  auto& m    = x.machine();
  if constexpr (!plan::exchanges) {
    return moved_along<Along, Along>(x, {.offset = -offset, .wraps = wraps}, beyond);
  } else {
    using result = tensor<T, L, D...>;
    using task   = task::copy_rows<T>;
    using handle = typename result::handle_type;
    auto z       = result::uninitialised(m);
    auto const r = shifted_rows::plan(offset, placed_under<L, Along>.room());
    if (r.stay > 0) m.run(task{.count = r.stay, .from = r.from, .to = r.to, .beyond = beyond}, plan::lines, x.data(), z.data());
    if (r.exchanged == 0) return z;
    extent const n      = r.exchanged * plan::row;
    handle const leaves = handle::make(m, m, n), arrives = handle::make(m, m, n);
    m.run(task{.count = r.exchanged, .from = r.leave, .to_edge = true, .beyond = beyond}, plan::lines, x.data(), leaves->data());
    if (!wraps) m.fill(n, beyond, arrives->data());  // it stays at the end, where nothing arrives
    m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, plan::over, r.backwards, wraps);
    m.run(task{.count = r.exchanged, .to = r.arrive, .from_edge = true}, plan::lines, static_cast<T const*>(arrives->data()), z.data());
    return z;
  }
}

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> shifted(char const* name, std::source_location at, tensor<T, L, D...> const& x, extent offset, bool wraps,
                                     T beyond = {}) {
  auto& m = x.machine();
  m.enter(name, at);
  if constexpr (shift_plan<wet<L>, shape<D...>, Along>::exchanges) {
    if (wraps) offset = shortest_roll(offset, Along::size);
    if (extent const room = placed_under<L, Along>.room(); offset > room || offset < -room) throw_shift_beyond<Along>(name, offset, room);
  }
  auto z = moved_by<Along>(x, offset, wraps, beyond);
  record_linear(z, x,
                [offset, wraps](auto const& to, auto const& dz, axis_set owed) { contribute(to, moved_by<Along>(dz, -offset, wraps, T{}), owed); });
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
