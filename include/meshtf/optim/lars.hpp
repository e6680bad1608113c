// LARS: momentum whose step is scaled by the norm of the weights, for large batches.
#pragma once

#include <array>
#include <source_location>

#include <meshtf/optim/elementwise_steps.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// The squares of the norms of weights and gradient -> trust |w| / (|g| + decay |w|), or 1 if one of them is
/// 0.
template<class T>
struct into_local_rate : of_elements<7> {
  T trust;
  T decay;
  constexpr into_local_rate(T t, T d) : trust(t), decay(d) {}
  template<class V>
  constexpr void operator()(V& weights, V const& gradient) const {
    using math::select;
    using math::sqrt;
    V const norm = sqrt(weights);
    weights =
        select(weights > V(0),
               select(gradient > V(0), V(trust) * norm / (sqrt(gradient) + V(decay) * norm), V(1)), V(1));
  }
};

template<class T, class By>
struct lars_update : of_elements<7> {
  T rate;
  T along;
  T decay;
  By const* factor;
  constexpr lars_update(T r, T a, T d, By const* b) : rate(r), along(a), decay(d), factor(b) {}
  template<class V>
  constexpr void operator()(V& w, V& velocity, V const& g) const {
    velocity = V(along) * velocity + V(rate) * V(static_cast<T>(*factor)) * (g + V(decay) * w);
    w        = w - velocity;
  }
};

}  // namespace function

#define MESHTF_LARS(T)                                                                                 \
  template void kernel::update(extent, function::into_local_rate<computed<T>> const&, T*, T const*);   \
  template void kernel::update(extent, function::lars_update<computed<T>, computed<T>> const&, T*, T*, \
                               T const*);
MESHTF_COMPILE_WIDE(MESHTF_LARS)
#undef MESHTF_LARS

/// v = mu v + rate trust |w| / (|g| + weight_decay |w|) (g + weight_decay w), w -= v. The norms are those of
/// a whole parameter, wherever its elements are: one all-reduce joins the norms of all parameters. If |w| or
/// |g| is 0, the factor is `rate` alone. So it is for parameters that do not decay, of fewer than
/// `decayed_rank` dimensions or as `treat` says.
///
/// With `shard_state` norms are added up by parts, so gradients of `reproducible` are refused then
/// (`software_error`).
///
/// Source: You, Gitman, Ginsburg, Large Batch Training of Convolutional Networks (2017), algorithm 1.
class lars : public elementwise_steps<1> {
public:
  double rate         = 1;
  double weight_decay = 1e-4;
  double mu           = 0.9;
  double trust        = 1e-3;
  int decayed_rank    = 2;

  constexpr lars() = default;
  constexpr explicit lars(double r, double decay = 1e-4, double m = 0.9, double t = 1e-3)
      : rate(r), weight_decay(decay), mu(m), trust(t) {}

  /// Adds up the gradients over the processes that share a parameter, updates the weights and clears the
  /// gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    take_steps("lars::step", at, list, rule{*this});
  }
  using detail::steps_lists::step;

  // ---- for checkpoints

  static constexpr char const* kind = "lars";
  static constexpr std::array<char const*, 1> array_names{"velocity"};
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const& w, F const& f) const {
    show_arrays(w, array_names, f);
  }

private:
  struct rule {
    static constexpr bool by_norms = true;
    lars const& o;

    constexpr bool adapts(auto const& w) const { return w.decays(o.decayed_rank); }
    template<class N>
    constexpr auto ratio(auto const&) const {
      return function::into_local_rate<N>{static_cast<N>(o.trust), static_cast<N>(o.weight_decay)};
    }
    template<class T, class Machine, class N>
    constexpr auto update(detail::trained<T, Machine> const& w, N const* factor) const {
      using C = computed<T>;
      return function::lars_update<C, N>{static_cast<C>(o.rate * w.settings.rate), static_cast<C>(o.mu),
                                         static_cast<C>(adapts(w) ? o.weight_decay : 0), factor};
    }
  };
};

}  // namespace v0
}  // namespace meshtf
