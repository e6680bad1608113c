// A moving average of the weights, with any optimizer.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>

#include <meshtf/core/error.hpp>
#include <meshtf/core/exchange.hpp>
#include <meshtf/optim/buckets.hpp>
#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/idle_if_absent.hpp>
#include <meshtf/optim/running_mean.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct into_average : of_elements<3> {
  running_mean<T> next;
  constexpr explicit into_average(double kept) : next(kept) {}
  template<class V>
  constexpr void operator()(V& average, V const& w) const {
    average = next(average, w);
  }
};

struct exchanged : of_elements<0> {
  template<class V>
  constexpr void operator()(V& a, V& b) const {
    V const before = a;
    a              = b;
    b              = before;
  }
};

}  // namespace function

#define MESHTF_AVERAGED(T)                                                                        \
  template void kernel::update(extent, function::into_average<computed<T>> const&, T*, T const*); \
  template void kernel::update(extent, function::exchanged const&, T*, T*);
MESHTF_COMPILE_WIDE(MESHTF_AVERAGED)
#undef MESHTF_AVERAGED

namespace detail {

[[noreturn]] inline void throw_step_of_averages() {
  throw software_error(
      "step while the weights are the averages: call exchange once more, which gives back the weights that "
      "are trained");
}

[[noreturn]] inline void throw_files_of_averages() {
  throw software_error(
      "save or load while the weights are the averages: call exchange first, which gives back the weights "
      "that are trained");
}

/// Whether the optimizer's next step changes `w`.
template<class Optimizer, class Parameter>
constexpr bool will_step(Optimizer const& opt, Parameter const& w) {
  if constexpr (requires { opt.will_step(w); }) return opt.will_step(w);
  else return bool(w.slot().sum);
}

}  // namespace detail

/// `Optimizer`, and after each of its steps average = kept average + (1 - kept) w for each parameter that it
/// stepped. An average begins as the weights before the first step. It is an array of the optimizer:
/// checkpoints hold it, and with `shard_state` a process keeps its part alone.
///
///     meshtf::averaged<meshtf::adamw> opt{0.999, 1e-3};   // adamw{1e-3}
///     opt.exchange(parameters(net));                      // to evaluate: the weights are the averages
///     opt.exchange(parameters(net));                      // to go on: bit by bit what they were
///
/// With `start_correction` the weights before the first step have no share in it: after step t it is the sum
/// of kept^(t - i) w_i over the steps i from 1 to t, divided by the sum of these factors. So the average
/// after one step is the weights after it, and those of the first 1 / (1 - kept) steps are nearly plain
/// means. `kept` may change from step to step: `kept = std::min(0.999, (1.0 + t) / (10.0 + t))` before step t
/// is TensorFlow's ExponentialMovingAverage with `num_updates`.
///
/// Source: Polyak, Juditsky, Acceleration of Stochastic Approximation by Averaging (1992), with weights that
/// fall exponentially. The correction is that of Kingma, Ba, Adam (2015), as `debias` of optax's `ema` has
/// it; PyTorch's `get_ema_multi_avg_fn` has none.
template<class Optimizer>
class averaged : public Optimizer {
public:
  double kept = 0.999;
  /// Set it before the first step. The correction counts the steps of the optimizer, whichever parameters
  /// they step.
  bool start_correction = false;

  constexpr averaged() = default;
  /// What is kept, and the arguments of the optimizer: with one number alone it would not be clear which of
  /// the two it is.
  template<class... A>
    requires(sizeof...(A) > 0)
  constexpr explicit averaged(double k, A const&... arguments) : Optimizer{arguments...}, kept(k) {}

  /// The optimizer's step. Errors: `software_error` between two calls of `exchange`.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    if (out_ > 0) detail::throw_step_of_averages();
    ++step_;
    averages_.rewind();
    list.for_each([this](auto& w) {
      if (w.handle()->is_absent()) this->average_of(w);
      if (!detail::will_step<Optimizer>(*this, w)) return;
      auto& a   = this->average_of(w);
      a.stepped = step_;
    });
    Optimizer::step(list, at);
    double const before = detail::exchange(power_, power_ * kept);
    double const share  = start_correction && power_ < 1 ? kept * (1 - before) / (1 - power_) : kept;
    averages_.rewind();
    list.for_each([this, share]<class T, class L, class... D>(parameter<T, L, D...>& w) {
      auto* const a = averages_.template find<average<T, machine<L>>>(*w.handle());
      if (a == nullptr || detail::exchange(a->stepped, 0u) != step_) return;
      detail::buckets sent{w.machine(), 1};
      sent.show(static_cast<T const*>(w.data()), a->parts, [&](T const* part) {
        w.machine().transform(a->parts.part(), function::into_average<computed<T>>{share}, a->array->data(),
                              part);
      });
    });
  }

  /// Exchanges the weights and their averages. With `shard_state` the weights are all-gathered, short ones in
  /// shared messages. A parameter that is listed twice is exchanged once.
  template<class... Part>
  constexpr void exchange(parameter_list<Part...> const& list,
                          std::source_location at = std::source_location::current()) {
    ++exchange_;
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      m->begin_operation("averaged::exchange", at);
      detail::buckets sent{*m, detail::count_in(list)};
      list.for_each([&, this]<class T, class L, class... D>(parameter<T, L, D...>& w) {
        auto* const a = averages_.template find<average<T, machine<L>>>(*w.handle());
        if (a == nullptr || detail::exchange(a->exchanged_in, exchange_) == exchange_) return;
        a->is_out = !a->is_out;
        out_ += a->is_out ? 1 : -1;
        if (w.handle()->is_absent()) return;  // another stage exchanges it
        w.handle()->written();
        sent.gather(w.data(), a->parts, [&](T* part) {
          m->transform(a->parts.part(), function::exchanged{}, part, a->array->data());
        });
      });
      sent.send();
    }
  }

  /// Makes the arrays of all parameters now; the averages begin as the weights of now.
  template<class... Part>
  constexpr void prepare(parameter_list<Part...> const& list) {
    if constexpr (requires { Optimizer::prepare(list); }) Optimizer::prepare(list);
    averages_.rewind();
    list.for_each([this](auto& w) { this->average_of(w); });
  }

  // ---- for checkpoints

  template<class Self, class F>
  static constexpr void for_each_number(Self& self, F const& f) {
    Optimizer::for_each_number(self, f);
    if (self.start_correction) f(power_name, self.power_);
  }
  /// Files of averages without a correction lack this number: they go on without one, as if it were 0. If a
  /// file has no averages either, it is 1.
  static constexpr bool may_lack(std::string_view number) { return number == power_name; }

  static constexpr auto array_names = [] {
    std::array<char const*, Optimizer::array_names.size() + 1> all{};
    for (std::size_t i = 0; i < Optimizer::array_names.size(); ++i) all[i] = Optimizer::array_names[i];
    all.back() = "average";
    return all;
  }();
  template<class T, class L, class... D, class F>
  constexpr void for_each_shape(parameter<T, L, D...> const& w, F const& f) const
    requires Optimizer::has_shapes_of_its_own
  {
    Optimizer::for_each_shape(w, f);
    f(array_names.back(), shape<D...>{});
  }
  template<class T, class L, class... D, class F>
  constexpr void for_each_array(parameter<T, L, D...> const& w, F const& f) const {
    Optimizer::for_each_array(w, f);
    auto const* const a = averages_.template find<average<T, machine<L>>>(*w.handle());
    if (a == nullptr) return;
    if (a->is_out) detail::throw_files_of_averages();
    f(array_names.back(), a->array, a->parts);
  }
  template<class T, class L, class... D>
  constexpr void make_arrays(parameter<T, L, D...>& w) {
    Optimizer::make_arrays(w);
    average_of(w);
  }
  /// If `w` has an average, it begins again as the weights of now: a file that was loaded has the weights
  /// alone.
  template<class T, class L, class... D>
  constexpr void begin(parameter<T, L, D...>& w) {
    [[maybe_unused]] auto const idle = detail::idle_if_absent(w);
    auto* const a                    = averages_.template find<average<T, machine<L>>>(*w.handle());
    if (a != nullptr) a->begin(w.machine(), static_cast<T const*>(w.data()));
  }

private:
  template<class T, class Machine>
  struct average {
    using handle     = detail::shared<detail::storage<T, Machine>, Machine>;
    using parts_type = detail::parts_on<Machine>;
    parts_type parts;
    handle array;
    unsigned stepped      = 0;      // the step that is under way, if it steps the parameter
    unsigned exchanged_in = 0;      // the call of `exchange` that was the last for the parameter
    bool is_out           = false;  // the weights are the average, and the array holds what is trained

    constexpr average(Machine& m, parts_type const& p, T const* weights)
        : parts(p), array(handle::make(m, m, p.part())) {
      begin(m, weights);
    }
    constexpr void begin(Machine& m, T const* weights) {
      detail::buckets sent{m, 1};
      sent.show(weights, parts, [&](T const* part) { m.copy(parts.part(), part, array->data()); });
    }
  };

  template<class T, class L, class... D>
  constexpr auto& average_of(parameter<T, L, D...>& w) {
    [[maybe_unused]] auto const idle = detail::idle_if_absent(w);
    bool shares                      = false;
    if constexpr (requires { this->shard_state; }) shares = this->shard_state;
    return averages_.template of<average<T, machine<L>>>(
        w.machine(), *w.handle(), parts_of_replicas<L, shape<D...>>(shares), static_cast<T const*>(w.data()));
  }

  static constexpr char const* power_name = "average_power";

  optimizer_states averages_{};
  double power_      = 1;  // the product of what all steps kept
  unsigned step_     = 0;
  unsigned exchange_ = 0;
  int out_           = 0;  // how many averages are exchanged
};

}  // namespace v0
}  // namespace meshtf
