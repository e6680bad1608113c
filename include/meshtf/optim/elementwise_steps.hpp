// Steps of optimizers that update each element by itself: from its gradient and from an array that is placed as the parameter is.
#pragma once

#include <source_location>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

/// What such optimizers have in common; each keeps one array for a parameter. It lives on the parameter's machine, and begins as zeros when a step
/// first meets it. A step that ends in an exception discards the gradients; what it leaves of weights and arrays is said at `adam`.
class elementwise_steps {
public:
  /// If not 0, gradients are first scaled so that their `global_norm` is at most this; it costs one more all-reduce of one number.
  double max_norm = 0;
  /// N processes that hold the same shard of P elements each update ceil(P / N) of them, and keep the arrays of these alone, as in `adam`. The steps
  /// are the same. Set it before the first step.
  bool shard_state = false;

  /// Makes the arrays of all parameters now instead of at the end of the first step, when no activation is alive any more.
  template<class... Part>
  constexpr void prepare(parameter_list<Part...> const& list) {
    states_.rewind();
    list.for_each([this](auto& w) { this->make_arrays(w); });
  }

  // ---- for checkpoints

  template<class Self, class F>
  static constexpr void for_each_number(Self&, F const&) {}
  /// Makes the array of `w`, all zeros, as the first step would.
  template<class T, class L, class... D>
  constexpr void make_arrays(parameter<T, L, D...>& w) {
    state_of(w);
  }

protected:
  /// f(name, handle, parts) for the array that the optimizer keeps of `w`, if any: this process's part of a shard.
  template<class T, class L, class... D, class F>
  constexpr void show_array(parameter<T, L, D...> const& w, char const* name, F const& f) const {
    if (auto const* const s = states_.template find<state<T, L>>(w)) f(name, s->array, s->parts);
  }

  /// Adds up the gradients, calls f(w, array, g) for each element, where f = f_of.operator()<T>(rank of the parameter), and clears the gradients.
  template<class F, class... Part>
  constexpr void take_steps(char const* name, std::source_location at, parameter_list<Part...> const& list, F const& f_of) {
    ++step_;
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      m->enter(name, at);
      try {
        take_step(*m, list, f_of);
      } catch (...) {
        zero_gradients(list);
        throw;
      }
    }
  }

private:
  template<class T, class L>
  struct state {
    using handle = typename tensor<T, L>::handle_type;
    parts_under<L> parts;
    unsigned collected_in = 0;  // the step in which the slot got this process's part of the finished gradient
    handle array;

    constexpr state(machine<L>& m, parts_under<L> const& p) : parts(p), array(handle::make(m, m, p.part())) { m.fill(p.part(), T{}, array->data()); }
  };

  template<class Machine, class F, class... Part>
  constexpr void take_step(Machine& m, parameter_list<Part...> const& list, F const& f_of) {
    bool const clips = max_norm > 0;
    detail::buckets sent{m, detail::count_in(list)};
    states_.rewind();
    list.for_each([&, this](auto& w) {
      if (!w.slot().sum) return;
      auto& s = this->state_of(w);
      if (this->collect(w, s, sent) && !clips) this->update(w, s, f_of, sent);  // a long one is updated while it is in the cache
    });
    sent.send();
    if (clips) clip(list);
    states_.rewind();
    list.for_each([&, this](auto& w) {
      if (w.slot().sum) this->update(w, this->state_of(w), f_of, sent);
    });
    sent.send();
  }

  template<class T, class L, class... D>
  constexpr state<T, L>& state_of(parameter<T, L, D...>& w) {
    return states_.template of<state<T, L>>(w, parts_of_replicas<L, shape<D...>>(shard_state));
  }

  /// Puts this process's part of the finished gradient into the slot: at once if it is long (then it returns true), else when `sent` is sent.
  template<class T, class L, class... D, class Sent>
  constexpr bool collect(parameter<T, L, D...>& w, state<T, L>& s, Sent& sent) {
    if (s.collected_in == step_) return false;
    s.collected_in = step_;
    detail::clear_padding_of_gradient(w);
    if (s.parts.count == 1) return sent.sum(w.slot(), w.size);
    return sent.scatter(w.slot(), s.parts);
  }

  template<class... Part>
  constexpr void clip(parameter_list<Part...> const& list) {
    using number = detail::norm_of<parameter_list<Part...>>;
    detail::norm_sum<typename number::element_type, typename number::layout_type> sum{detail::machine_of_gradients(list)};
    states_.rewind();
    list.for_each([this, &sum]<class T, class L, class... D>(parameter<T, L, D...>& w) {
      if (!w.slot().sum) return;
      auto const& p           = this->state_of(w).parts;
      axis_set const replicas = joining_axes<typename L::mesh_type> & ~split_over<L, shape<D...>>;
      sum.add(w.slot().sum->data(), p.part(), replicas & ~p.over);
    });
    auto const factor = detail::clip_factor(sum.norm(), max_norm);
    states_.rewind();
    list.for_each([this, &factor](auto& w) {
      if (w.slot().sum) detail::scale(w.slot().sum, this->state_of(w).parts.part(), factor);
    });
  }

  /// Updates the weights and clears the gradient. Where the arrays are sharded, other processes get the new weights at once, or when `sent` is sent.
  template<class T, class L, class... D, class F, class Sent>
  constexpr void update(parameter<T, L, D...>& w, state<T, L>& s, F const& f_of, Sent& sent) {
    w.handle()->written();
    auto const f = f_of.template operator()<T>(int{sizeof...(D)});
    sent.gather(w.data(), s.parts,
                [&](T* part) { w.machine().transform(s.parts.part(), f, part, s.array->data(), static_cast<T const*>(w.slot().sum->data())); });
    w.zero_gradient();
  }

  optimizer_states states_{};
  unsigned step_ = 0;  // the number of steps of this object, including those that ended in an exception
};

}  // namespace v0
}  // namespace meshtf
