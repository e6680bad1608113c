// Steps that are as long as a share of a parameter's weights.
#pragma once

#include <cstddef>
#include <type_traits>

#include <meshtf/core/error.hpp>
#include <meshtf/optim/elementwise_state.hpp>
#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/tensor/counted.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A rule by which the step of each parameter is scaled by a ratio of two norms. The rule has
///
///     adapts(w)            whether it is; otherwise the ratio is 1
///     direction(w)         f(g, arrays..., w) for each element, which makes the gradient the direction of
///                          the step; or no such member
///     ratio<N>(w)          f(a, b) for the squares of the norms of weights and direction, which makes `a`
///                          the ratio
///     update(w, ratio)     f(w, direction), or without `direction` f(w, arrays..., g), for each element
template<class F>
inline constexpr bool scales_by_norms = false;
template<class F>
  requires F::by_norms
inline constexpr bool scales_by_norms<F> = true;

[[noreturn]] inline void throw_norms_of_parts() {
  throw software_error(
      "expected shard_state = false with gradients of reproducible, got true: lamb and lars would measure "
      "parts, whose number is that of the processes; leave shard_state out, or take adamw");
}

/// The ratios of the parameters of one step by a rule `F`, each asked for in the order of the list. The
/// squares of the norms of each parameter's weights lie one after the other, and after them those of the
/// directions. As in `norm_sum`, elements that several processes hold count on one of them.
template<int Arrays, class Number, class L, class F>
class trust_ratios {
  using Machine = machine<L>;

public:
  constexpr trust_ratios(Machine& m, F const& rule, std::size_t max_parameters)
      : machine_(m), rule_(rule), max_parameters_(max_parameters) {}

  /// The next parameter is the first of the list.
  constexpr void rewind() { number_ = 0; }

  /// Sets all norms to 0.
  constexpr void begin() {
    norms_ = shared<storage<Number, Machine>, Machine>::make(machine_, machine_, count());
    machine_.fill(count(), Number{}, weights_norm(0));
  }
  /// Makes the gradient of the next parameter the direction, and adds the norms of `part`, this process's
  /// weights, and of their direction.
  template<class T>
  constexpr void add(trained<T, Machine> const& w, elementwise_state<Arrays, T, Machine>& s, T const* part) {
    static_assert(std::is_same_v<computed<T>, Number>,
                  "meshtf: parameters whose steps are scaled by norms have one element type");
    std::size_t const i = number_++;
    auto const n        = s.parts.part();
    if constexpr (requires { rule_.direction(w); }) {
      become_own_copy(w.gradient.sum, machine_, n);
      if constexpr (Arrays == 2)
        machine_.transform(n, rule_.direction(w), w.gradient.sum->data(), s.first->data(), s.second->data(),
                           part);
      else machine_.transform(n, rule_.direction(w), w.gradient.sum->data(), s.first->data(), part);
    }
    if (!rule_.adapts(w)) return;
    axis_set const replicas = w.replicas & ~s.parts.over;
    add_norm(part, n, replicas, weights_norm(i));
    add_norm(static_cast<T const*>(w.gradient.sum->data()), n, replicas, direction_norm(i));
  }
  /// Adds the norms up over the processes.
  constexpr void join() {
    machine_.all_reduce(reduction::sum, weights_norm(0), count(), replica_axes<L, shape<>>);
  }

  /// The function that updates the next parameter by its ratio.
  template<class T>
  constexpr auto update_of(trained<T, Machine> const& w) {
    std::size_t const i = number_++;
    machine_.transform(1, rule_.template ratio<Number>(w), weights_norm(i),
                       static_cast<Number const*>(direction_norm(i)));
    return rule_.update(w, static_cast<Number const*>(weights_norm(i)));
  }

private:
  constexpr extent count() const { return 2 * static_cast<extent>(max_parameters_); }
  constexpr Number* weights_norm(std::size_t i) {
    return array_at<Machine>(norms_->data(), static_cast<extent>(i));
  }
  constexpr Number* direction_norm(std::size_t i) { return weights_norm(max_parameters_ + i); }

  template<class T>
  constexpr void add_norm(T const* x, auto n, axis_set replicas, Number* to) {
    run_reduce<reduction::sum>(machine_, all_into_one(n), function::square{}, to, x);
    machine_.add_up(1, machine_.counts(replicas), false, static_cast<Number const*>(to),
                    static_cast<Number const*>(to), to);
  }

  Machine& machine_;
  F const& rule_;
  std::size_t max_parameters_;
  shared<storage<Number, Machine>, Machine> norms_{};
  std::size_t number_ = 0;  // of the next parameter
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
