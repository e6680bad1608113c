// Adam.
#pragma once

#include <array>
#include <cmath>
#include <source_location>
#include <type_traits>
#include <utility>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct adam_update : of_elements<13> {
  T kept, rate, beta1, beta2, epsilon, correction2;   // kept: the share of a weight that decay leaves
  constexpr adam_update(T k, T r, T b1, T b2, T e, T c2) : kept(k), rate(r), beta1(b1), beta2(b2), epsilon(e), correction2(c2) {}

  template<class V>
  constexpr void operator()(V& w, V& m, V& v, V const& g) const {
    using math::sqrt;
    m = V(beta1) * m + V(1 - beta1) * g;
    v = V(beta2) * v + V(1 - beta2) * g * g;
    w = V(kept) * w - V(rate) * m / (sqrt(v * V(correction2)) + V(epsilon));
  }
};

}  // namespace function

#define MESHTF_ADAM(T) template void kernel::update(extent, function::adam_update<computed<T>> const&, T*, T*, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_ADAM)
#undef MESHTF_ADAM

/// w -= rate * m' / (sqrt(v') + epsilon), where m and v are running means of the gradient and of its square, and m' and v' are
/// these means corrected for their start at 0. The two means of a parameter live on its machine and are placed as the parameter
/// is; `step` makes them when it first meets it.
///
/// A step that ends in an exception does not count. It discards the gradients, since some may be added up over the processes and others not. If it
/// ended before the first update (in the sums of gradients, if all are short or `max_norm` is set, or in the sum of the norm), a step with recomputed
/// gradients gives the result that this one would have given. If it ended later, some parameters have new weights and means and others the old ones;
/// with `shard_state`, where new weights are exchanged, processes may hold different weights: go on from a checkpoint.
/// Source: Kingma, Ba, Adam: A Method for Stochastic Optimization (2015), algorithm 1.
class adam {
public:
  double rate    = 1e-3;
  double beta1   = 0.9;
  double beta2   = 0.999;
  double epsilon = 1e-8;
  /// If not 0, gradients are first scaled so that their `global_norm` is at most this; it costs one more all-reduce of one number.
  double max_norm = 0;
  /// N processes that hold the same shard of P elements each update ceil(P / N) of them, and keep the means of these alone: the gradient is
  /// reduce-scattered instead of all-reduced, and the new weights are all-gathered. The steps are the same. Set it before the first step.
  /// Source: Rajbhandari and others, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models (2020), stage 1.
  bool shard_state = false;
  /// Without it m and v themselves are used, so the first steps are small, as in Mesh TensorFlow and BERT.
  bool bias_correction = true;

  constexpr adam() = default;
  constexpr explicit adam(double r, double b1 = 0.9, double b2 = 0.999, double e = 1e-8) : rate(r), beta1(b1), beta2(b2), epsilon(e) {}

  /// Adds up the gradients over the processes that share a parameter (axes that are owed together in one sum),
  /// updates the weights and clears the gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list, std::source_location at = std::source_location::current()) {
    step_with_decay("adam::step", at, 0, 0, list);
  }
  /// Refused with a sentence: a model is not a list.
  template<class Model>
    requires(!detail::is_parameter_list<Model>)
  constexpr void step(Model const&) const {
    static_assert(detail::is_parameter_list<Model>, "meshtf: an optimizer's step takes a list of parameters: step(parameters(model))");
  }

  /// Makes the means of all parameters now instead of at the end of the first step, when no activation is alive any more. What a program's
  /// constructor holds counts in `dry_run`'s peak: with this, the peak of the first step is that of every step.
  template<class... Part>
  constexpr void prepare(parameter_list<Part...> const& list) {
    states_.rewind();
    list.for_each([this](auto& w) { this->make_arrays(w); });
  }

  // ---- for checkpoints

  static constexpr char const* kind = "adam";
  /// The arrays that the optimizer keeps of each parameter that has had a gradient.
  static constexpr std::array array_names{"first", "second"};

  /// f(name, x) for each number that the steps change.
  template<class Self, class F>
  static constexpr void for_each_number(Self& self, F const& f) {
    f("power1", self.power1_);
    f("power2", self.power2_);
  }
  /// The numbers are powers of the decay rates: a checkpoint with values outside this range is damaged. After long training they are 0.
  static constexpr std::pair<double, double> number_range{0.0, 1.0};
  /// f(name, handle, parts) for each array that the optimizer keeps of `w`, if any: this process's part of a shard.
  template<class T, class L, class... D, class F>
  constexpr void for_each_array(parameter<T, L, D...> const& w, F const& f) const {
    if (auto const* const s = states_.template find<state<T, L>>(w)) {
      f(array_names[0], s->first, s->parts);
      f(array_names[1], s->second, s->parts);
    }
  }
  /// Makes the arrays of `w`, all zeros, as the first step would.
  template<class T, class L, class... D>
  constexpr void make_arrays(parameter<T, L, D...>& w) {
    state_of(w);
  }

protected:
  /// Of the weights of parameters with at least `least_rank` dimensions, a share of 1 - rate * decay remains.
  template<class... Part>
  constexpr void step_with_decay(char const* name, std::source_location at, double decay, int least_rank, parameter_list<Part...> const& list) {
    double const power1 = power1_, power2 = power2_;
    ++step_;
    power1_ *= beta1;
    power2_ *= beta2;
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      m->enter(name, at);
      try {
        take_step(*m, decay, least_rank, list);
      } catch (...) {
        power1_ = power1;
        power2_ = power2;
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
    handle first, second;

    constexpr state(machine<L>& m, parts_under<L> const& p) : parts(p), first(handle::make(m, m, p.part())), second(handle::make(m, m, p.part())) {
      m.fill(p.part(), T{}, first->data());
      m.fill(p.part(), T{}, second->data());
    }
  };

  template<class Machine, class... Part>
  constexpr void take_step(Machine& m, double decay, int least_rank, parameter_list<Part...> const& list) {
    auto const kept  = [=, this](int rank) { return rank >= least_rank ? 1 - rate * decay : 1; };
    bool const clips = max_norm > 0;
    detail::buckets sent{m, detail::count_in(list)};
    states_.rewind();
    list.for_each([&, this](auto& w) {
      if (!w.slot().sum) return;
      auto& s = this->state_of(w);
      if (this->collect(w, s, sent) && !clips) this->update(w, s, kept, sent);  // a long one is updated while it is in the cache
    });
    sent.send();
    if (clips) clip(list);
    states_.rewind();
    list.for_each([&, this](auto& w) {
      if (w.slot().sum) this->update(w, this->state_of(w), kept, sent);
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

  /// Updates the weights and clears the gradient. Where the state is sharded, other processes get the new weights at once, or when `sent` is sent.
  template<class T, class L, class... D, class Kept, class Sent>
  constexpr void update(parameter<T, L, D...>& w, state<T, L>& s, Kept const& kept, Sent& sent) {
    w.handle()->written();
    using C = computed<T>;
    function::adam_update<C> const f{static_cast<C>(kept(int{sizeof...(D)})),
                                     static_cast<C>(bias_correction ? rate / (1 - power1_) : rate),
                                     static_cast<C>(beta1),
                                     static_cast<C>(beta2),
                                     static_cast<C>(epsilon),
                                     static_cast<C>(bias_correction ? 1 / (1 - power2_) : 1)};
    sent.gather(w.data(), s.parts, [&](T* part) {
      w.machine().transform(s.parts.part(), f, part, s.first->data(), s.second->data(), static_cast<T const*>(w.slot().sum->data()));
    });
    w.zero_gradient();
  }

  optimizer_states states_{};
  double power1_ = 1;
  double power2_ = 1;
  unsigned step_ = 0;  // the number of steps of this object, including those that ended in an exception
};

}  // namespace v0
}  // namespace meshtf
