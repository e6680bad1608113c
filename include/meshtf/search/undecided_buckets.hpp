// What an optimizer sends on a machine without a layout: pricing a layout decides which gradients share a
// message.
#pragma once

#include <cstddef>

#include <meshtf/core/exchange.hpp>
#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/optim/buckets.hpp>

namespace meshtf {
inline namespace v0 {

template<Dimension... D>
class recorder;

/// The `replica_parts` of a shard under an undecided layout: an optimizer that divides its update can't be
/// recorded, so there is one part.
struct undecided_parts {
  undecided_size size{};
  extent count  = 1;
  axis_set over = 0;

  constexpr undecided_size part() const { return size; }
};

namespace detail {

template<class... Open>
struct replicas_under<undecided_layout<Open...>> {
  template<class S>
  static constexpr undecided_parts parts(bool divided) {
    return {shard_size<undecided_layout<Open...>, S>, divided ? 2 : 1, 0};
  }
};
template<class... D>
struct replica_parts_on<recorder<D...>> : std::type_identity<undecided_parts> {};

/// The members of `buckets` that optimizers call. The recorder notes the gradients in order; `price` calls
/// `plan_buckets` on their sizes under a layout.
template<Dimension... D>
class buckets<recorder<D...>> {
public:
  using machine_type = recorder<D...>;

  constexpr buckets(machine_type& m, std::size_t, element sums_travel_as = element::float32) : machine_(m) {
    if (sums_travel_as != element::float32)
      throw "meshtf: an optimizer whose sums travel as bfloat16 can't be recorded without a layout yet";
  }
  buckets(buckets const&)        = delete;
  void operator=(buckets const&) = delete;

  /// Each gradient is updated as if it were long, one after the other; `price` decides which are.
  template<class T>
  constexpr bool sum(slot<T, machine_type>& s, undecided_size n) {
    static_assert(!NarrowElement<T>,
                  "meshtf: small updates get lost in bfloat16: keep float parameters, and compute with "
                  "cast<bfloat16>(w)");
    if (!s.sum.alone())
      throw "meshtf: two parameters share one gradient: this program can't be recorded without a layout yet";
    machine_.template note_send<T>(n, detail::exchange(s.unreduced, 0U));
    return true;
  }
  template<class T>
  constexpr bool scatter(slot<T, machine_type>&, undecided_parts const&) {
    return refused();
  }
  template<class T, class Update>
  constexpr void gather(T* shard, undecided_parts const& p, Update const& update) {
    if (p.count != 1) refused();
    update(shard);
  }
  template<class T, class Look>
  constexpr void show(T const* shard, undecided_parts const&, Look const& look) {
    look(shard);
  }
  constexpr void send() { machine_.end_of_sends(); }

private:
  constexpr bool refused() {
    throw "meshtf: an optimizer with shard_state can't be recorded without a layout yet";
    return false;  // clang requires a return
  }

  machine_type& machine_;
};

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
