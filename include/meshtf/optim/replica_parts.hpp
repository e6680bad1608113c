// How the processes that hold the same shard of a parameter share the work of its update.
#pragma once

#include <algorithm>
#include <type_traits>

#include <meshtf/optim/gradient_sums.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

/// A shard of `size` elements in `count` equal parts, padded with zeros at the end: part number r belongs to
/// rank r along `over`. If there is one part, nothing is divided.
struct replica_parts {
  extent size   = 0;
  extent count  = 1;
  axis_set over = 0;

  constexpr extent part() const { return (size + count - 1) / count; }
  constexpr extent padded_size() const { return part() * count; }
  constexpr bool is_padded() const { return padded_size() != size; }
  /// Where part number `rank` begins, and how many of its elements belong to the shard.
  constexpr extent first(extent rank) const { return std::min(rank * part(), size); }
  constexpr extent local_extent(extent rank) const { return std::min(part(), size - first(rank)); }
  [[deprecated("use local_extent")]] constexpr extent held(extent rank) const { return local_extent(rank); }
};

namespace detail {

/// How replicas divide a shard under `L`. In the search their number is not known
/// (search/undecided_buckets.hpp).
template<class L>
struct replicas_under {
  template<class S>
  static constexpr replica_parts parts(bool divided) {
    using mesh_type         = typename L::mesh_type;
    constexpr axis_set over = replica_axes<L, S>;
    if (!divided) return {shard_size<L, S>, 1, 0};
    return {shard_size<L, S>, processes_along(axis_sizes<mesh_type>, over), over};
  }
};

/// Whether gradients may be added up, and parameters updated, during a backward pass. The machine of a search
/// has no processes yet.
template<class Machine>
concept SumsEarly = requires { typename Machine::sum_in_flight; };

/// What `parts_of_replicas` returns under the layouts of this machine.
template<class Machine>
struct replica_parts_on : std::type_identity<replica_parts> {};
template<class Machine>
using parts_on = typename replica_parts_on<Machine>::type;

}  // namespace detail

/// The parts of a shard of shape `S` over all its replicas; one part if `divided` is false.
template<Layout L, class S>
constexpr auto parts_of_replicas(bool divided) {
  return detail::replicas_under<actual<L>>::template parts<S>(divided);
}

namespace detail {

/// Copies this process's part of a shard, padded with zeros.
template<class Machine, class T>
constexpr void take_part(Machine& m, replica_parts const& p, T const* shard, T* part) {
  extent const rank = m.rank_along(p.over);
  m.copy_filled(p.local_extent(rank), p.part(), array_at<Machine>(shard, p.first(rank)), part);
}

/// This process's part of the gradient `sum`, which is unreduced over `unreduced`; `sum` is released.
///
/// A reduce-scatter of the padded shard over all replicas. Along axes on which the gradient is whole it
/// counts on coordinate 0; a gradient that needs no reduction is only cut into parts.
template<class T, class Machine>
constexpr shared<storage<T, Machine>, Machine> scattered(Machine& m, replica_parts const& p,
                                                         shared<storage<T, Machine>, Machine>& sum,
                                                         axis_set unreduced, gradient_sums const& sums) {
  using handle          = shared<storage<T, Machine>, Machine>;
  handle part           = handle::make(m, m, p.part());
  T const* const shard  = sum->data();
  axis_set const whole  = p.over & ~unreduced;
  bool const as_it_lies = whole == 0 && !p.is_padded();
  if (unreduced == 0) {
    take_part(m, p, shard, part->data());
  } else if (as_it_lies) {
    sums.reduce_scatter(m, shard, p.part(), part->data(), p.over);
  } else {
    handle const packed = handle::make(m, m, p.padded_size());
    if (whole == 0) m.copy(p.size, shard, packed->data());
    else m.add_up(p.size, m.counts(whole), false, shard, shard, packed->data());
    m.fill(p.padded_size() - p.size, T{}, array_at<Machine>(packed->data(), p.size));
    sums.reduce_scatter(m, static_cast<T const*>(packed->data()), p.part(), part->data(), p.over);
  }
  sum = {};
  return part;
}

/// `update(part)` changes this process's part of `shard`; then all replicas get all parts.
template<class Machine, class T, class Update>
constexpr void update_parts(Machine& m, replica_parts const& p, T* shard, Update const& update) {
  using handle      = shared<storage<T, Machine>, Machine>;
  extent const rank = m.rank_along(p.over);
  if (!p.is_padded()) {
    update(array_at<Machine>(shard, p.first(rank)));
    m.all_gather(shard, p.part(), p.over);
  } else {
    handle const packed = handle::make(m, m, p.padded_size());
    T* const mine       = array_at<Machine>(packed->data(), rank * p.part());
    take_part(m, p, static_cast<T const*>(shard), mine);
    update(mine);
    m.all_gather(packed->data(), p.part(), p.over);
    m.copy(p.size, static_cast<T const*>(packed->data()), shard);
  }
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
