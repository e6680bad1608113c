// Steps of optimizers that update each element by itself: from its gradient and from arrays that are placed
// as the parameter is.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include <meshtf/core/exchange.hpp>
#include <meshtf/optim/elementwise_state.hpp>
#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/idle_if_absent.hpp>
#include <meshtf/optim/skipped_steps.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/optim/steps_lists.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/optim/trained_list.hpp>
#include <meshtf/optim/trust_ratios.hpp>
#include <meshtf/optim/updates_in_backward.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

/// What such optimizers have in common; each keeps `Arrays` arrays, one or two, for a parameter. They live on
/// the parameter's machine, and begin as zeros when a step first meets it. A step that ends in an exception
/// discards the gradients; what it leaves of weights and arrays is said at `adam`.
template<int Arrays>
class elementwise_steps : public detail::steps_lists {
public:
  /// If not 0, gradients are first scaled so that their `global_norm` is at most this; it costs one more
  /// all-reduce of one number.
  double max_norm = 0;
  /// If not 0, a step in which the `global_norm` of the gradients is not finite is skipped, on all processes:
  /// the gradients are discarded, and weights, arrays and numbers stay as they are. That many in a row end
  /// the job with a `data_error` (status 65), which names a parameter, a process and an index. It costs one
  /// more all-reduce of one number, the same as `max_norm`'s if both are set. The step that may be the last
  /// of a row looks at each element of this process's gradients before they are added up, which no price
  /// includes.
  int skip_if_not_finite = 0;
  /// N processes that hold the same shard of P elements each update ceil(P / N) of them, and keep the arrays
  /// of these alone: the gradient is reduce-scattered instead of all-reduced, and the new weights are
  /// all-gathered. The steps are the same. Set it before the first step.
  /// Source: Rajbhandari and others, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models
  /// (2020), stage 1.
  bool shard_state = false;
  /// The type as which the gradients of float parameters travel when they are added up over processes. As
  /// `element::bfloat16` they take half the bytes, in a reduce-scatter and an all-gather of each message.
  /// Each term is rounded, the terms are added in float, and the sum is rounded: the error is at most 2^-8 of
  /// the sum of the terms' absolute values, and 2^-8 of the sum. All processes get the same bits. Gradients
  /// of double parameters, new weights (`shard_state`) and gradients that were finished before the step
  /// (`global_norm`) travel as they are. It can't be set while an `early_sums` lives.
  /// Source: Abadi and others, TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems
  /// (2016), section 5.5; `bf16_compress_hook` of PyTorch's DDP.
  element sums_travel_as = element::float32;
  /// The arrays are in a file between two updates, those of at least 64 KiB (`spill_from`); the results have
  /// the same bits. A step holds the arrays of three parameters at a time: it updates one while it writes
  /// those of the one before and reads those of the next. Where the file is: docs/beyond_memory.md. Set it
  /// before the first step, or before `prepare`.
  bool spill_state = false;

  /// Makes the arrays of all parameters now instead of at the end of the first step, when no activation is
  /// alive any more. What a program's constructor holds counts in `dry_run`'s peak: with this, the peak of
  /// the first step is that of every step.
  template<class... Part>
  constexpr void prepare(parameter_list<Part...> const& list) {
    states_.rewind();
    detail::spilled_states turns;
    list.for_each([&, this](auto& w) {
      if (!detail::needs_arrays(w)) return;
      this->make_arrays(w);
      if (spill_state) this->send_away(w, turns);
    });
    turns.finish();
  }

  /// From now on these parameters are stepped so. A checkpoint does not hold it, as it does not hold the
  /// rate.
  template<class... Part>
  constexpr void treat(parameter_list<Part...> const& list, treatment const& settings) {
    list.for_each([&, this](auto& w) { treated_.give(&*w.handle(), settings); });
  }

  /// Begins to bring back what `spill_state` has sent away of `w`, so that a step of `w` waits less.
  template<class T, class L, class... D>
  constexpr void bring_state(parameter<T, L, D...>& w) {
    auto* const s = states_.template find<state<T, machine<L>>>(*w.handle());
    if (s != nullptr) s->act(s, detail::spilled_array::move::begin_return);
  }

  /// Whether the next step changes `w`.
  constexpr bool will_step(auto const& w) const { return w.slot().sum && !treated_.of(&*w.handle()).frozen; }

  /// How many steps of this object were skipped.
  constexpr long skipped() const { return skips_.count(); }

  // ---- for checkpoints

  template<class Self, class F>
  static constexpr void for_each_number(Self&, F const&) {}
  /// Makes the arrays of `w`, all zeros, as the first step would.
  template<class T, class L, class... D>
  constexpr void make_arrays(parameter<T, L, D...>& w) {
    [[maybe_unused]] auto const idle = detail::idle_if_absent(w);
    states_.template of<state<T, machine<L>>>(w.machine(), *w.handle(),
                                              parts_of_replicas<L, shape<D...>>(shard_state));
  }

protected:
  /// f(name, handle, parts) for each array that the optimizer keeps of `w`, if any: this process's part of a
  /// shard.
  template<class T, class L, class... D, class F>
  constexpr void show_arrays(parameter<T, L, D...> const& w,
                             std::array<char const*, std::size_t{Arrays}> const& names, F const& f) const {
    auto const* const s = states_.template find<state<T, machine<L>>>(*w.handle());
    if (s == nullptr) return;
    f(names[0], s->first, s->parts);
    if constexpr (Arrays == 2) f(names[1], s->second, s->parts);
  }

  /// Adds up the gradients, calls f(w, arrays..., g) for each element, where f = f_of(parameter), and clears
  /// the gradients. If `f_of` scales by norms (`detail::scales_by_norms`), all norms are joined by one
  /// all-reduce before the first update. Whether the step was taken and not skipped. `pass` computes the
  /// gradients, and parameters are updated meanwhile.
  template<class F, class Pass = detail::no_pass, class... Part>
  constexpr bool take_steps(char const* name, std::source_location at, parameter_list<Part...> const& list,
                            F const& f_of, Pass const& pass = {}) {
    if constexpr (!std::is_same_v<Pass, detail::no_pass>) take_steps_during(pass, name, at, list, f_of);
    ++step_;
    if constexpr (sizeof...(Part) > 0) {
      using first = typename detail::first_parameter<parameter_list<Part...>>::type;
      using taken = step<typename first::element_type, typename first::layout_type, F>;
      detail::trained_list<typename first::machine_type, taken> const all{list, shard_state, treated_};
      auto* const m = all.machine_of_list();
      if (m == nullptr) return true;
      auto const stepped = m->begin_step(name, at);
      // a parameter has all its elements, however many are counted now
      detail::all_counted const all_elements{*m};
      detail::make_absent_arrays(*this, list);
      taken taken_steps{*this, *m, f_of, all.size()};
      bool is_taken = false;
      try {
        is_taken = taken_steps.take(all);
      } catch (...) {
        all.visit(taken_steps, taken::phase::drop);
        throw;
      }
      if constexpr (first::machine_type::computes) {
        if (is_taken) {
          skips_.note_taken();
        } else {
          all.visit(taken_steps, taken::phase::drop);
          skips_.note_skipped(*m, skip_if_not_finite, taken_steps.found(), list);
        }
      }
      return is_taken;
    }
    return true;
  }

private:
  template<class Pass, class F, class... Part>
  constexpr void take_steps_during(Pass const& pass, char const* name, std::source_location at,
                                   parameter_list<Part...> const& list, F const& f_of) {
    if (max_norm > 0 || skip_if_not_finite > 0) detail::throw_needs_all_gradients(max_norm > 0);
    ++step_;
    if constexpr (sizeof...(Part) > 0) {
      using first = typename detail::first_parameter<parameter_list<Part...>>::type;
      if (auto* const m = detail::machine_in(list); m != nullptr) {
        step<typename first::element_type, typename first::layout_type, F> now{*this, *m, f_of,
                                                                               detail::count_in(list)};
        detail::update_during(pass, list, *m, now, shard_state, treated_, name, at);
        return now.finish();
      }
    }
    pass();
  }

  template<class T, class Machine>
  using state = detail::elementwise_state<Arrays, T, Machine>;

  template<class T, class L, class... D>
  constexpr void send_away(parameter<T, L, D...>& w, detail::spilled_states& turns) {
    auto* const s = states_.template find<state<T, machine<L>>>(*w.handle());
    if (!s->spills(w.machine())) return;
    turns.use(*s);
    turns.send_away(*s);
  }

  /// A step while it is taken. `Number` is the element type of the norm of all gradients.
  template<class First, class L, class F>
  class step {
    using Machine = machine<L>;

  public:
    enum class phase { inspect, ask, collect, add_to_norm, scale, measure, update, drop };

    constexpr step(elementwise_steps& own, Machine& m, F const& f_of, std::size_t max_parameters)
        : own_(own),
          machine_(m),
          f_of_(f_of),
          clips_(own.max_norm > 0),
          skips_(own.skip_if_not_finite > 0),
          waits_(clips_ || skips_ || by_norms),
          sent_(m, max_parameters, own.sums_travel_as),
          ratios_(m, f_of, max_parameters) {}

    /// Whether it was taken, and not skipped.
    constexpr bool take(detail::trained_list<Machine, step> const& all) {
      if constexpr (Machine::computes)
        if (skips_ && own_.skips_.next_is_last(own_.skip_if_not_finite)) go(all, phase::inspect);
      if constexpr (by_norms) expect_norms_of_wholes(all);
      if (!clips_ && !skips_) collect_all(all);
      else if (!collect_and_clip(all)) return false;
      if constexpr (by_norms) measure(all);
      go(all, phase::update);
      sent_.send();
      finish();
      return true;
    }

    /// What comes after the last parameter.
    constexpr void finish() { turns_.finish(); }

    /// One parameter whose gradient is complete, and shares no message.
    template<class T>
    constexpr void update_alone(detail::trained<T, Machine>& w) {
      visit(w, phase::collect);
      visit(w, phase::update);
    }

    constexpr detail::element_found const& found() const { return found_; }

    template<class T>
    constexpr void visit(detail::trained<T, Machine>& w, phase phase_now) {
      if (phase_now == phase::drop) return w.drop_gradient();
      if (w.listed_before || !w.gradient.sum) return;
      if constexpr (Machine::computes)
        if (phase_now == phase::inspect) return inspect(w);
      if (phase_now == phase::ask) {
        whole_  = whole_ && w.gradient.of_blocks;
        blocks_ = blocks_ || w.gradient.of_blocks;
        return;
      }
      state<T, Machine>& s = own_.states_.template of<state<T, Machine>>(machine_, w.weights, w.parts);
      switch (phase_now) {
        case phase::collect:
          if (collect(w, s) && !waits_) update(w, s);  // a long one is updated while it is in the cache
          return;
        case phase::add_to_norm:
          return norm_->add(w.number, w.gradient.sum->data(), s.parts.part(), w.replicas & ~s.parts.over);
        case phase::scale: return detail::scale(w.gradient.sum, s.parts.part(), *factor_);
        case phase::measure:
          if constexpr (by_norms) add_norms(w, s);
          return;
        case phase::update: return update(w, s);
        case phase::inspect:
        case phase::ask:
        case phase::drop: break;
      }
    }

  private:
    static constexpr bool by_norms = detail::scales_by_norms<F>;
    using element_type             = detail::number_of_norm<First>;
    using norm_type                = detail::norm_sum<element_type, L>;

    constexpr void go(detail::trained_list<Machine, step> const& all, phase phase_now) {
      own_.states_.rewind();
      ratios_.rewind();
      all.visit(*this, phase_now);
    }

    constexpr void collect_all(detail::trained_list<Machine, step> const& all) {
      go(all, phase::collect);
      sent_.send();
    }
    /// Norms of parts, joined, have bits that depend on the number of parts.
    constexpr void expect_norms_of_wholes(detail::trained_list<Machine, step> const& all) {
      if (!own_.shard_state) return;
      go(all, phase::ask);
      if (blocks_) detail::throw_norms_of_parts();
    }
    /// Gradients that `reproducible` left are measured before they are cut into parts: so the bits of the
    /// norm do not depend on the number of parts.
    constexpr bool collect_and_clip(detail::trained_list<Machine, step> const& all) {
      whole_ = own_.shard_state;
      if (whole_) go(all, phase::ask);
      if (!whole_) collect_all(all);
      norm_type sum{machine_, all.listed(), skips_};
      norm_ = &sum;
      if (whole_) collect_all(all);
      return is_finite_and_clipped(all);
    }
    /// The norm of the gradients decides whether the step is skipped, and how much they are scaled.
    constexpr bool is_finite_and_clipped(detail::trained_list<Machine, step> const& all) {
      if (!whole_) go(all, phase::add_to_norm);
      auto const norm = norm_->norm(!skips_);
      if constexpr (Machine::computes)
        if (skips_ && !(*norm.data() - *norm.data() == 0)) return false;
      if (!clips_) return true;
      auto const factor = detail::clip_factor(norm, own_.max_norm);
      factor_           = &factor;
      go(all, phase::scale);
      return true;
    }

    /// Looks for the first element that is not finite, before gradients are added up over processes.
    template<class T>
    constexpr void inspect(detail::trained<T, Machine> const& w) {
      if (found_.is_there) return;
      if (w.clear_padding != nullptr) w.clear_padding(machine_, w.gradient.sum->data());
      found_ =
          detail::first_not_finite(static_cast<T const*>(w.gradient.sum->data()), w.parts.size, w.number);
    }

    /// Puts this process's part of the finished gradient into the slot: at once if it is long (then it
    /// returns true), else when `sent_` is sent.
    template<class T>
    constexpr bool collect(detail::trained<T, Machine>& w, state<T, Machine>& s) {
      w.listed_before = detail::exchange(s.collected_in, own_.step_) == own_.step_;
      if (w.listed_before) return false;
      if (w.clear_padding != nullptr) w.clear_padding(machine_, w.gradient.sum->data());
      if (whole_) norm_->add(w.number, w.gradient.sum->data(), w.parts.size, w.replicas);
      if (s.parts.count == 1) return sent_.sum(w.gradient, s.parts.size);
      return sent_.scatter(w.gradient, s.parts);
    }

    constexpr void measure(detail::trained_list<Machine, step> const& all) {
      ratios_.begin();
      go(all, phase::measure);
      ratios_.join();
    }

    template<class T>
    constexpr void add_norms(detail::trained<T, Machine> const& w, state<T, Machine>& s) {
      bool const spills = own_.spill_state && s.spills(machine_);
      if (spills) turns_.use(s);
      if (w.clear_padding != nullptr) w.clear_padding(machine_, w.weights.data());
      sent_.show(static_cast<T const*>(w.weights.data()), s.parts,
                 [&](T const* part) { ratios_.add(w, s, part); });
      if (spills) turns_.send_away(s);
    }

    /// f(w, ...) for each element, and what it is called with.
    template<class T>
    constexpr void change(detail::trained<T, Machine> const& w, state<T, Machine>& s, T* part) {
      auto const n     = s.parts.part();
      T const* const g = w.gradient.sum->data();
      auto const call  = [&](auto const& f) {
        if constexpr (Arrays == 2) machine_.transform(n, f, part, s.first->data(), s.second->data(), g);
        else machine_.transform(n, f, part, s.first->data(), g);
      };
      if constexpr (by_norms) {
        auto const f = ratios_.update_of(w);
        if constexpr (requires { f_of_.direction(w); }) machine_.transform(n, f, part, g);
        else call(f);
      } else {
        call(f_of_(w));
      }
    }

    /// Updates the weights and clears the gradient. Where the arrays are sharded, others get the new weights
    /// at once, or when `sent_` is sent.
    template<class T>
    constexpr void update(detail::trained<T, Machine> const& w, state<T, Machine>& s) {
      bool const spills = own_.spill_state && s.spills(machine_);
      if (spills) turns_.use(s);
      w.weights.written();
      sent_.gather(w.weights.data(), s.parts, [&](T* part) { change(w, s, part); });
      w.drop_gradient();
      if (spills) turns_.send_away(s);
    }

    elementwise_steps& own_;
    Machine& machine_;
    F const& f_of_;
    // waits: no parameter is updated before all gradients are finished
    bool clips_;
    bool skips_;
    bool waits_;
    bool whole_  = false;  // the norm is that of whole gradients
    bool blocks_ = false;  // `reproducible` left some
    detail::buckets<Machine> sent_;
    norm_type* norm_                       = nullptr;
    tensor<element_type, L> const* factor_ = nullptr;
    detail::trust_ratios<Arrays, element_type, L, F> ratios_;  // of `by_norms` alone
    detail::element_found found_{};
    detail::spilled_states turns_{};
  };

  optimizer_states states_{};
  detail::treatments treated_{};
  unsigned step_ = 0;  // the number of steps of this object, including those that ended in an exception
  detail::skipped_steps skips_{};
};

}  // namespace v0
}  // namespace meshtf
