// What an optimizer's step knows of a parameter.
#pragma once

#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/treatment.hpp>
#include <meshtf/plan/shard_plan.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A parameter in numbers and addresses. Its dimensions are no longer in the type, so all parameters of an
/// element type are stepped by the same code, which is compiled once.
template<class T, class Machine>
struct trained {
  storage<T, Machine>& weights;
  slot<T, Machine>& gradient;
  parts_on<Machine> parts;  // what this process updates
  axis_set replicas;        // the axes along which other processes hold the same weights
  int rank;
  treatment settings;
  void (*clear_padding)(Machine&, T*);  // of the weights or the gradient; null if there is none
  std::size_t number = 0;               // in the list
  bool listed_before = false;

  constexpr bool decays(int min_rank) const { return settings.decays_at(rank, min_rank); }

  constexpr void drop_gradient() const {
    gradient.sum       = {};
    gradient.unreduced = 0;
    gradient.of_blocks = false;
  }
};

template<class T, class L, class S>
constexpr void clear_shard_padding(machine<L>& m, T* shard) {
  m.run(task::clear_padding<T>{}, shard_plan<actual<L>, S>, shard);
}

/// `shares`: whether the processes that hold the same weights share the update.
template<class T, class L, class... D>
constexpr trained<T, machine<L>> trained_of(parameter<T, L, D...>& w, bool shares, treatments const& treated,
                                            std::size_t number = 0) {
  using shape_type               = shape<D...>;
  void (*clear)(machine<L>&, T*) = nullptr;
  if constexpr (is_uneven<L, shape_type>) clear = &clear_shard_padding<T, L, shape_type>;
  return {*w.handle(),
          w.slot(),
          parts_of_replicas<L, shape_type>(shares),
          replica_axes<L, shape_type>,
          int{sizeof...(D)},
          treated.of(&*w.handle()),
          clear,
          number};
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
