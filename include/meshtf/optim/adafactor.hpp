// Adafactor: an estimate of each gradient's square from two factors, a row and a column.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

#include <meshtf/optim/adafactor_functions.hpp>
#include <meshtf/optim/factors.hpp>
#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/idle_if_absent.hpp>
#include <meshtf/optim/skipped_steps.hpp>
#include <meshtf/optim/state.hpp>
#include <meshtf/optim/steps_lists.hpp>
#include <meshtf/optim/treatment.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// In the place of `shard_state` of an optimizer that can't have it.
struct never_sharded {
  constexpr operator bool() const { return false; }
  template<class Yes>
  constexpr void operator=(Yes) {
    static_assert(
        sizeof(Yes) == 0,
        "meshtf: adafactor has no sharded state: its factors are whole over replicas, and it keeps little "
        "else");
  }
};

}  // namespace detail

/// w -= rate' u, where u is the gradient divided by the root of its mean square. Of a parameter with two
/// dimensions of at least `least_factored` elements the mean squares are kept as means over its largest
/// dimension (rows) and over its second largest (columns), so a matrix of n x m takes n + m numbers. rate' is
/// the rate times the root mean square of the weights, divided by that of u if it is above `threshold`.
///
/// The factors are placed as the parameter's dimensions are and whole over replicas. Means over split
/// dimensions take an all-reduce each. There is no `shard_state`: every part of a gradient would need the
/// means over all of its rows and columns, and what would be divided is n + m numbers of n x m.
/// Source: Shazeer, Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost (2018), algorithms 4
/// to 6, as in Mesh TensorFlow.
class adafactor : public detail::steps_lists {
public:
  /// Below 0, as at first: step t, counted from 0, has the rate min(1 / sqrt(t + 1), 0.01), a 20th of that
  /// without `scaled_by_weights`.
  double rate = -1;
  /// Step t keeps 1 - (t + 1)^-decay of the mean squares.
  double decay = 0.8;
  /// Above 0 (and less than 1), step t keeps beta2 (1 - beta2^t) / (1 - beta2^(t + 1)) instead: the mean
  /// squares are those of Adam, corrected for their start at 0. Without `bias_correction` every step keeps
  /// beta2, as with a constant `decay_rate` of Mesh TensorFlow.
  double beta2         = 0;
  bool bias_correction = true;
  /// Above 0, steps go along a running mean of u, which is kept as a whole array.
  double beta1 = 0;
  /// Added to the squares of gradients.
  double epsilon1 = 1e-30;
  /// The least root mean square that weights count with.
  double epsilon2        = 1e-3;
  double threshold       = 1;
  bool scaled_by_weights = true;
  extent least_factored  = 128;
  /// If not 0, a step in which a gradient is not finite is skipped on all processes, and that many in a row
  /// end the job: see `adam`. It costs one more all-reduce of one number.
  int skip_if_not_finite = 0;
  /// `element::bfloat16`: gradients of float parameters travel rounded, see `elementwise_steps`.
  element sums_travel_as = element::float32;
  /// Says why there is none.
  [[no_unique_address]] detail::never_sharded shard_state{};

  constexpr adafactor() = default;
  constexpr explicit adafactor(double r) : rate(r) {}

  /// Adds up the gradients over the processes that share a parameter, updates the weights and clears the
  /// gradients. What a step that ends in an exception leaves is said at `adam`.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      auto const stepped = m->begin_step("adafactor::step", at);
      // a parameter has all its elements, however many are counted now
      detail::all_counted const all_elements{*m};
      try {
        if (!take_step(*m, list)) return;
      } catch (...) {
        zero_gradients(list);
        throw;
      }
    }
    step_ += 1;
  }
  using detail::steps_lists::step;

  /// Makes the arrays of all parameters now instead of at the end of the first step, when no activation is
  /// alive any more.
  template<class... Part>
  constexpr void prepare(parameter_list<Part...> const& list) {
    rewind();
    list.for_each([this](auto& w) {
      if (detail::needs_arrays(w)) this->make_arrays(w);
    });
  }

  /// From now on these parameters are stepped so; they don't decay in any case.
  template<class... Part>
  constexpr void treat(parameter_list<Part...> const& list, treatment const& settings) {
    list.for_each([&, this](auto& w) { treated_.give(&*w.handle(), settings); });
  }

  /// Whether the next step changes `w`.
  constexpr bool will_step(auto const& w) const { return w.slot().sum && !treated_.of(&*w.handle()).frozen; }

  /// How many steps of this object were skipped.
  constexpr long skipped() const { return skips_.count(); }

  // ---- for checkpoints

  static constexpr char const* kind = "adafactor";
  static constexpr std::array<char const*, 4> array_names{"rows", "columns", "second", "first"};
  static constexpr bool has_shapes_of_its_own = true;
  static constexpr std::pair<double, double> number_range{0.0, 1e15};

  template<class Self, class F>
  static constexpr void for_each_number(Self& self, F const& f) {
    f("step", self.step_);
  }
  /// f(name, shape) for each array that a step keeps of `w`.
  template<class T, class L, class... D, class F>
  constexpr void for_each_shape(parameter<T, L, D...> const&, F const& f) const {
    for_each_kept<shape<D...>>([&f](std::size_t which, auto state_of) { f(array_names[which], state_of); });
  }
  /// f(name, handle, parts, shape) for each array that is there.
  template<class T, class L, class... D, class F>
  constexpr void for_each_array(parameter<T, L, D...> const& w, F const& f) const {
    for_each_kept<shape<D...>>([&]<class S>(std::size_t which, S state_of) {
      auto const* const kept = list_in(*this, which).template find<state<T, machine<L>>>(*w.handle());
      if (kept != nullptr)
        f(array_names[which], kept->array, replica_parts{.size = shard_size<L, S>}, state_of);
    });
  }
  /// Makes the arrays of `w`, all zeros, as the first step would.
  template<class T, class L, class... D>
  constexpr void make_arrays(parameter<T, L, D...>& w) {
    [[maybe_unused]] auto const idle = detail::idle_if_absent(w);
    for_each_kept<shape<D...>>([&, this]<class S>(std::size_t which, S) { this->array_of<S>(which, w); });
  }

private:
  /// One array of a parameter.
  template<class T, class Machine>
  struct state {
    using handle = detail::shared<detail::storage<T, Machine>, Machine>;
    handle array;

    constexpr state(Machine& m, auto size) : array(handle::make(m, m, size)) {
      m.fill(size, T{}, array->data());
    }
  };

  template<class S>
  constexpr bool is_factored() const {
    using by = detail::factors<S>;
    if constexpr (by::there_are) return by::second_dim::size >= least_factored;
    else return false;
  }

  /// f(number of the name, shape) for each array that is kept of a parameter of shape `S`.
  template<class S, class F>
  constexpr void for_each_kept(F const& f) const {
    using by = detail::factors<S>;
    if constexpr (by::there_are)
      if (is_factored<S>()) {
        f(std::size_t{0}, typename by::rows{});
        f(std::size_t{1}, typename by::columns{});
      }
    if (!is_factored<S>()) f(std::size_t{2}, S{});
    if (beta1 > 0) f(std::size_t{3}, S{});
  }

  /// The array of shape `S` with this number, zeros if it is new.
  template<class S, class T, class L, class... D>
  constexpr auto& array_of(std::size_t which, parameter<T, L, D...>& w) {
    return list_in(*this, which)
        .template of<state<T, machine<L>>>(w.machine(), *w.handle(), shard_size<L, S>)
        .array;
  }
  template<class Self>
  static constexpr auto& list_in(Self& self, std::size_t which) {
    switch (which) {
      case 0: return self.rows_;
      case 1: return self.columns_;
      case 2: return self.second_;
      default: return self.first_;
    }
  }
  constexpr void rewind() {
    for (std::size_t which = 0; which < array_names.size(); ++which) list_in(*this, which).rewind();
  }

  /// The numbers of a step.
  struct numbers {
    double rate;
    double kept;
  };
  constexpr numbers now() const {
    if (std::is_constant_evaluated()) return {0, 0};  // where nothing has values
    double const usual = std::fmin(1 / std::sqrt(step_ + 1), 0.01) * (scaled_by_weights ? 1 : 0.05);
    double const as_adam =
        bias_correction ? beta2 * (1 - std::pow(beta2, step_)) / (1 - std::pow(beta2, step_ + 1)) : beta2;
    return {rate < 0 ? usual : rate, beta2 > 0 ? as_adam : 1 - std::pow(step_ + 1, -decay)};
  }

  /// Whether it was taken, and not skipped.
  template<class Machine, class List>
  constexpr bool take_step(Machine& m, List const& list) {
    numbers const n = now();
    detail::make_absent_arrays(*this, list);
    list.for_each([this](auto& w) {
      if (treated_.of(&*w.handle()).frozen) w.zero_gradient();
    });
    bool const skips = skip_if_not_finite > 0;
    detail::element_found found{};
    if (skips) found = detail::prepare_to_look(list, skips_.next_is_last(skip_if_not_finite));
    detail::buckets sent{m, detail::count_in(list), sums_travel_as};
    rewind();
    list.for_each([&sent](auto& w) {
      if (w.slot().sum) sent.sum(w.slot(), w.size);
    });
    sent.send();
    bool const is_finite = !skips || detail::gradients_are_finite(m, list);
    if constexpr (Machine::computes)
      if (!is_finite) {
        zero_gradients(list);
        skips_.note_skipped(m, skip_if_not_finite, found, list);
        return false;
      }
    list.for_each([&, this](auto& w) {
      if (w.slot().sum) this->update(w, n);
    });
    skips_.note_taken();
    return true;
  }

  /// The mean of the squares of `x` over the dimensions that `Out` lacks.
  template<class Out, class T, class L, class... D>
  static constexpr auto mean_square(tensor<T, L, D...> const& x) {
    using C = computed<T>;
    return detail::finished(detail::reduced<reduction::sum, Out>(
        function::scaled_square<C>{
            C{1} / static_cast<C>(x.machine().counted().size_of(without<shape<D...>, Out>{}))},
        x));
  }

  template<class T, class L, class... D>
  constexpr void update(parameter<T, L, D...>& w, numbers const& n) {
    using C            = computed<T>;
    using all          = shape<D...>;
    using by           = detail::factors<all>;
    auto& m            = w.machine();
    double const kept  = n.kept;
    auto const epsilon = static_cast<C>(epsilon1);
    tensor<T, L, D...> g{m, std::move(w.slot().sum)};  // nobody else reads it
    w.zero_gradient();
    if constexpr (by::there_are) {
      if (is_factored<all>()) {
        using rows     = tensor_of<T, L, typename by::rows>;
        using columns  = tensor_of<T, L, typename by::columns>;
        auto const add = [&](auto& mean, auto const& square) {
          m.transform(square.size, function::mean_of_squares<C>{kept, epsilon}, mean.data(), square.data());
        };
        rows r{m, array_of<typename by::rows>(0, w)};
        columns c{m, array_of<typename by::columns>(1, w)};
        add(r, mean_square<typename by::rows>(g));
        add(c, mean_square<typename by::columns>(g));
        auto const mean = detail::finished(detail::reduced<reduction::sum, typename by::rest>(
            function::scaled<C>{C{1} / static_cast<C>(m.counted().size_of(typename by::second_dim{}))}, r));
        auto const u    = detail::each<T, all>(function::unit_by_factors{}, g, r, mean, c);
        return go_down(w, u, n);
      }
    }
    auto own = g.release();
    detail::become_own_copy(own, m, w.size);
    m.transform(w.size, function::into_unit<C>{kept, epsilon}, own->data(), array_of<all>(2, w)->data());
    go_down(w, tensor<T, L, D...>{m, std::move(own)}, n);
  }

  template<class T, class L, class... D>
  constexpr void go_down(parameter<T, L, D...>& w, tensor<T, L, D...> const& u, numbers const& n) {
    using C             = computed<T>;
    auto& m             = w.machine();
    auto length         = mean_square<shape<>>(static_cast<tensor<T, L, D...> const&>(w));
    auto const u_square = mean_square<shape<>>(u);
    double const own    = n.rate * treated_.of(&*w.handle()).rate;
    m.transform(1,
                function::adafactor_length<C>{static_cast<C>(own), static_cast<C>(epsilon2),
                                              static_cast<C>(threshold), scaled_by_weights},
                length.data(), u_square.data());
    w.handle()->written();
    T const* const factor = length.data();
    if (beta1 > 0)
      m.transform(w.size, function::step_along_mean<C, T>{beta1, factor}, w.data(),
                  array_of<shape<D...>>(3, w)->data(), u.data());
    else m.transform(w.size, function::step_down_by_value<C, T>{C{1}, factor}, w.data(), u.data());
  }

  // A list for each name, so that a record knows by which dimensions an array is split.
  optimizer_states rows_{};
  optimizer_states columns_{};
  optimizer_states second_{};
  optimizer_states first_{};
  detail::treatments treated_{};
  detail::skipped_steps skips_{};
  double step_ = 0;
};

}  // namespace v0
}  // namespace meshtf
