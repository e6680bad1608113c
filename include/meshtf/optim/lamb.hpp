// LAMB: Adam whose step is scaled by the norm of the weights, for large batches.
#pragma once

#include <algorithm>
#include <limits>
#include <source_location>

#include <meshtf/optim/adam.hpp>
#include <meshtf/optim/update.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct lamb_direction : of_elements<15> {
  running_mean<T> first;
  running_mean<T> second;
  T epsilon;
  T correction1;
  T correction2;
  T decay;
  constexpr lamb_direction(double b1, double b2, T e, T c1, T c2, T d)
      : first(b1), second(b2), epsilon(e), correction1(c1), correction2(c2), decay(d) {}

  template<class V>
  constexpr void operator()(V& g, V& m, V& v, V const& w) const {
    using math::sqrt;
    m = first(m, g);
    v = second(v, V(g * g));
    g = m * V(correction1) / (sqrt(v * V(correction2)) + V(epsilon)) + V(decay) * w;
  }
};

/// The squares of two norms -> their ratio, or 1 if one of them is 0.
struct into_ratio : of_elements<5> {
  template<class V>
  constexpr void operator()(V& weights, V const& direction) const {
    using math::select;
    using math::sqrt;
    weights = select(weights > V(0), select(direction > V(0), sqrt(weights) / sqrt(direction), V(1)), V(1));
  }
};

}  // namespace function

#define MESHTF_LAMB(T)                                                                                      \
  template void kernel::update(extent, function::lamb_direction<computed<T>> const&, T*, T*, T*, T const*); \
  template void kernel::update(extent, function::into_ratio const&, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_LAMB)
#undef MESHTF_LAMB

/// u = m' / (sqrt(v') + epsilon) + weight_decay w, w -= rate |w| / |u| u: Adam's step, as long as a share of
/// the weights. The norms are those of a whole parameter, wherever its elements are: one all-reduce joins the
/// norms of all parameters. If |w| or |u| is 0, their ratio counts as 1. So does that of parameters that do
/// not decay, of fewer than `decayed_rank` dimensions or as `treat` says. Other members are `adam`'s.
///
/// With `shard_state` norms are added up by parts, so gradients of `reproducible` are refused then
/// (`software_error`).
///
/// Source: You and others, Large Batch Optimization for Deep Learning: Training BERT in 76 Minutes (2020),
/// algorithm 2, where phi is the identity.
class lamb : public adam {
public:
  double weight_decay = 0.01;
  int decayed_rank    = 2;

  constexpr lamb() : lamb(1e-3) {}
  constexpr explicit lamb(double r, double decay = 0.01, double b1 = 0.9, double b2 = 0.999, double e = 1e-6)
      : adam(r, b1, b2, e), weight_decay(decay) {}

  /// Adds up the gradients over the processes that share a parameter, updates the weights and clears the
  /// gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    with_next_powers([&, this] { return take_steps("lamb::step", at, list, rule{*this}); });
  }
  using detail::steps_lists::step;

  static constexpr char const* kind = "lamb";

private:
  struct rule {
    static constexpr bool by_norms = true;
    lamb const& o;

    constexpr bool adapts(auto const& w) const { return w.decays(o.decayed_rank); }
    /// Padding and elements whose gradients were all 0 have the direction 0, without an epsilon too, and not
    /// 0 / 0, which would be in the norm.
    template<class C>
    constexpr C epsilon() const {
      return std::max(static_cast<C>(o.epsilon), std::numeric_limits<C>::min());
    }
    template<class T, class Machine>
    constexpr auto direction(detail::trained<T, Machine> const& w) const {
      using C = computed<T>;
      return function::lamb_direction<C>{o.beta1,
                                         o.beta2,
                                         epsilon<C>(),
                                         static_cast<C>(o.correction1()),
                                         static_cast<C>(o.correction2()),
                                         static_cast<C>(adapts(w) ? o.weight_decay : 0)};
    }
    template<class N>
    constexpr auto ratio(auto const&) const {
      return function::into_ratio{};
    }
    template<class T, class Machine, class N>
    constexpr auto update(detail::trained<T, Machine> const& w, N const* factor) const {
      return function::step_down_by_value<computed<T>, N>{static_cast<computed<T>>(o.rate * w.settings.rate),
                                                          factor};
    }
  };
};

}  // namespace v0
}  // namespace meshtf
