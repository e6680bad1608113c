// Halos: what halo and the operations on windows have in common.
#pragma once

#include <meshtf/plan/halo_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Copies the rows of x to z, `before` and `after` of other parts around them: the same on a machine and,
/// with steps for one process, on the record of a search for a layout.
template<class T, class M, class Lines>
constexpr void widen_rows(M& m, Lines const& out, part_of_rows const& part, extent before, extent after,
                          T beyond, T const* x, T* z) {
  using handle       = shared<storage<T, M>, M>;
  using rows         = task::copy_rows<T>;
  auto const receive = [&](extent count, extent from, extent to, extent distance) {
    if (count == 0) return;
    extent const n       = count * part.row;
    handle const leaves  = handle::make(m, m, n);
    handle const arrives = handle::make(m, m, n);
    m.run(rows{.count = count, .from = from, .to_edge = true, .beyond = beyond}, out, x, leaves->data());
    m.fill(n, beyond, arrives->data());  // it stays at the end, where nothing arrives
    m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, part.over, distance,
                               false);
    m.run(rows{.count = count, .to = to, .from_edge = true}, out, static_cast<T const*>(arrives->data()), z);
  };
  m.run(rows{.count = part.allocated, .to = before, .beyond = beyond}, out, x, z);
  receive(before, part.allocated - before, 0, 1);
  receive(after, 0, before + part.allocated, -1);
}

/// The backward pass: rows of z that are other parts' are added there to those of x.
template<class T, class M, class Lines>
constexpr void narrow_rows(M& m, Lines const& back, part_of_rows const& part, extent before, extent after,
                           T const* z, T* x) {
  using handle         = shared<storage<T, M>, M>;
  using rows           = task::copy_rows<T>;
  auto const give_back = [&](extent count, extent from_row, extent to, extent distance) {
    if (count == 0) return;
    extent const n       = count * part.row;
    handle const leaves  = handle::make(m, m, n);
    handle const arrives = handle::make(m, m, n);
    m.run(rows{.count = count, .from = from_row, .to_edge = true}, back, z, leaves->data());
    m.fill(n, T{}, arrives->data());
    m.exchange_with_neighbours(static_cast<T const*>(leaves->data()), arrives->data(), n, part.over, distance,
                               false);
    m.run(task::add_rows<T>{.count = count, .to = to}, back, static_cast<T const*>(arrives->data()), x);
  };
  m.run(rows{.count = part.allocated, .from = before}, back, z, x);
  give_back(before, 0, part.allocated - before, -1);
  give_back(after, before + part.allocated, 0, 1);
}

/// `x`, each part of `D` with its halo, and `beyond` where the dimension has no elements.
///
/// Parts that are not full are the last ones: what lies past their elements counts as `beyond`, in their own
/// rows and in those that they hand on.
template<class D, extent Before, extent After, class T, class L, class... X>
constexpr auto with_halo(tensor<T, L, X...> const& x, T beyond = {}) {
  using plan = halo_plan<actual<L>, shape<X...>, D, Before, After>;
  auto& m    = x.machine();
  auto z     = tensor_of<T, L, typename plan::result>::uninitialised(m);
  if constexpr (!plan::exchanges) {
    m.run(task::displace<T>{{.offset = -Before}, beyond}, plan::out, x.data(), z.data());
  } else {
    constexpr placed along = placed_under<L, D>;
    widen_rows<T>(m, plan::out, {along.allocated_extent(), plan::row, along.parts, plan::over}, Before, After,
                  beyond, x.data(), z.data());
  }
  return z;
}

/// The backward pass: what each process has in its halo is added to the elements that it came from.
template<class D, extent Before, extent After, class T, class L, class... Z>
constexpr auto without_halo(tensor<T, L, Z...> const& z) {
  using wide = haloed<D, Before, After, parts_with_halo<actual<L>, D>()>;
  using from = replaced<shape<Z...>, wide, shape<D>>;
  using plan = halo_plan<actual<L>, from, D, Before, After>;
  auto& m    = z.machine();
  auto x     = tensor_of<T, L, from>::uninitialised(m);
  if constexpr (!plan::exchanges) {
    m.run(task::displace<T>{{.offset = Before}, T{}}, plan::back, z.data(), x.data());
  } else {
    constexpr placed along = placed_under<L, D>;
    narrow_rows<T>(m, plan::back, {along.allocated_extent(), plan::row, along.parts, plan::over}, Before,
                   After, z.data(), x.data());
  }
  return x;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
