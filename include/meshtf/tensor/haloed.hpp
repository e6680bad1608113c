// Halos: what halo and the operations on windows have in common.
#pragma once

#include <meshtf/plan/halo_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `x`, each part of `D` with its halo, and `beyond` where the dimension has no elements.
///
/// Parts that are not full are the last ones: what lies past their elements counts as `beyond`, in their own rows and in those that they hand on.
template<class D, extent Before, extent After, class T, class L, class... X>
constexpr auto with_halo(tensor<T, L, X...> const& x, T beyond = {}) {
  using plan = halo_plan<wet<L>, shape<X...>, D, Before, After>;
  auto& m    = x.machine();
  auto z     = tensor_of<T, L, typename plan::result>::uninitialised(m);
  if constexpr (!plan::exchanges) {
    m.run(task::displace<T>{{.offset = -Before}, beyond}, plan::out, x.data(), z.data());
  } else {
    using rows            = task::copy_rows<T>;
    using handle          = typename tensor<T, L, X...>::handle_type;
    constexpr extent room = placed_under<L, D>.room();
    auto const receive    = [&](extent count, extent from, extent to, extent by) {
      if (count == 0) return;
      extent const n      = count * plan::row;
      handle const leaves = handle::make(m, m, n), arrives = handle::make(m, m, n);
      m.run(rows{.count = count, .from = from, .to_edge = true, .beyond = beyond}, plan::out, x.data(), leaves->data());
      m.fill(n, beyond, arrives->data());  // it stays at the end, where nothing arrives
      m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, plan::over, by, false);
      m.run(rows{.count = count, .to = to, .from_edge = true}, plan::out, static_cast<T const*>(arrives->data()), z.data());
    };
    m.run(rows{.count = room, .to = Before, .beyond = beyond}, plan::out, x.data(), z.data());
    receive(Before, room - Before, 0, 1);
    receive(After, 0, Before + room, -1);
  }
  return z;
}

/// The way back: what each process has in its halo is added to the elements that it came from.
template<class D, extent Before, extent After, class T, class L, class... Z>
constexpr auto without_halo(tensor<T, L, Z...> const& z) {
  using wide = haloed<D, Before, After, parts_with_halo<wet<L>, D>()>;
  using from = replaced<shape<Z...>, wide, shape<D>>;
  using plan = halo_plan<wet<L>, from, D, Before, After>;
  auto& m    = z.machine();
  auto x     = tensor_of<T, L, from>::uninitialised(m);
  if constexpr (!plan::exchanges) {
    m.run(task::displace<T>{{.offset = Before}, T{}}, plan::back, z.data(), x.data());
  } else {
    using rows            = task::copy_rows<T>;
    using handle          = typename tensor<T, L, Z...>::handle_type;
    constexpr extent room = placed_under<L, D>.room();
    auto const give_back  = [&](extent count, extent from_row, extent to, extent by) {
      if (count == 0) return;
      extent const n      = count * plan::row;
      handle const leaves = handle::make(m, m, n), arrives = handle::make(m, m, n);
      m.run(rows{.count = count, .from = from_row, .to_edge = true}, plan::back, z.data(), leaves->data());
      m.fill(n, T{}, arrives->data());
      m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, plan::over, by, false);
      m.run(task::add_rows<T>{.count = count, .to = to}, plan::back, static_cast<T const*>(arrives->data()), x.data());
    };
    m.run(rows{.count = room, .from = Before}, plan::back, z.data(), x.data());
    give_back(Before, 0, room - Before, -1);
    give_back(After, Before + room, 0, 1);
  }
  return x;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
