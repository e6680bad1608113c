// What shift and roll have in common: elements that move along a dimension, which may be split.
#pragma once

#include <source_location>

#include <meshtf/plan/shift_plan.hpp>
#include <meshtf/tensor/displaced.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Moves the rows of x to z, some of them to other parts: the same on a machine and, with steps for one
/// process, on the record of a search for a layout.
template<class T, class M, class Lines>
constexpr void move_rows(M& m, Lines const& lines, part_of_rows const& part, extent offset, bool wraps,
                         T beyond, T const* x, T* z) {
  using handle    = shared<storage<T, M>, M>;
  using task      = task::copy_rows<T>;
  auto const r    = shifted_rows::plan(offset, part.allocated);
  auto const send = [&](extent count, extent leave, extent arrive, extent distance) {
    if (count == 0) return;
    extent const n       = count * part.row;
    handle const leaves  = handle::make(m, m, n);
    handle const arrives = handle::make(m, m, n);
    m.run(task{.count = count, .from = leave, .to_edge = true, .beyond = beyond}, lines, x, leaves->data());
    if (!wraps) m.fill(n, beyond, arrives->data());  // it stays at the end, where nothing arrives
    if (wraps || (distance < part.parts && -distance < part.parts))
      m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, part.over,
                                 distance, wraps);
    m.run(task{.count = count, .to = arrive, .from_edge = true}, lines,
          static_cast<T const*>(arrives->data()), z);
  };
  if (r.stay_by != 0) send(r.stay, r.from, r.to, r.stay_by);
  else if (r.stay > 0)
    m.run(task{.count = r.stay, .from = r.from, .to = r.to, .beyond = beyond}, lines, x, z);
  send(r.further, r.leave, r.arrive, r.leave_by);
}

/// z[i] = x[i - offset] along `Along`, which becomes `To`; where x has none, `beyond`, or if it `wraps`, x
/// from the other end.
///
/// Parts that are not full are the last ones. What lies past their elements counts as `beyond`, in their own
/// rows and in those that they hand on.
template<class Along, class To, class T, class L, class... D>
constexpr auto moved_where_known(tensor<T, L, D...> const& x, extent offset, bool wraps, T beyond) {
  using plan = shift_plan<actual<L>, shape<D...>, Along, To>;
  auto& m    = x.machine();
  if constexpr (!plan::exchanges) {
    return moved_along<Along, To>(x, {.offset = -offset, .wraps = wraps}, beyond);
  } else {
    constexpr placed along = placed_under<actual<L>, Along>;
    auto z                 = tensor_of<T, L, typename plan::result>::uninitialised(m);
    move_rows<T>(m, plan::lines, {along.allocated_extent(), plan::row, along.parts, plan::over}, offset,
                 wraps, beyond, x.data(), z.data());
    return z;
  }
}

/// The same; under a layout that has yet to be chosen rows move or not (search/undecided_shifts.hpp).
template<class L>
struct shift_under {
  template<class Along, class To, class X>
  static constexpr auto apply(X const& x, extent offset, bool wraps, typename X::element_type beyond) {
    return moved_where_known<Along, To>(x, offset, wraps, beyond);
  }
};
template<class Along, class To = Along, class T, class L, class... D>
constexpr auto moved_by(tensor<T, L, D...> const& x, extent offset, bool wraps, T beyond) {
  return shift_under<actual<L>>::template apply<Along, To>(x, offset, wraps, beyond);
}

/// `x` moved so, where parts of `From` and `To` correspond. Part of an operation that has begun.
template<class From, class To, class T, class L, class... D>
constexpr auto moved_in_parts(tensor<T, L, D...> const& x, extent offset, T beyond = {}) {
  auto z = moved_by<From, To>(x, offset, false, beyond);
  record_linear(z, x, [offset](auto const& to, auto const& dz, axis_set unreduced) {
    contribute(to, moved_by<To, From>(dz, -offset, false, T{}), unreduced);
  });
  return z;
}

template<class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> shifted(char const* name, std::source_location at, tensor<T, L, D...> const& x,
                                     extent offset, bool wraps, T beyond = {}) {
  auto& m = x.machine();
  m.begin_operation(name, at);
  if constexpr (shift_plan<actual<L>, shape<D...>, Along>::exchanges)
    if (wraps) offset = shortest_roll(offset, Along::size);
  auto z = moved_by<Along>(x, offset, wraps, beyond);
  record_linear(z, x, [offset, wraps](auto const& to, auto const& dz, axis_set unreduced) {
    contribute(to, moved_by<Along>(dz, -offset, wraps, T{}), unreduced);
  });
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
