// The functions of elements that a step of Adafactor is made of.
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>
#include <meshtf/optim/running_mean.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// For a mean of squares: `by` is 1 divided by their number.
template<class T>
struct scaled_square : of_elements<2> {
  T factor;
  constexpr explicit scaled_square(T b) : factor(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return V(factor) * x * x;
  }
};

/// A running mean of squares that are never 0.
template<class T>
struct mean_of_squares : of_elements<4> {
  running_mean<T> next;
  T epsilon;
  constexpr mean_of_squares(double kept, T l) : next(kept), epsilon(l) {}
  template<class V>
  constexpr void operator()(V& mean, V const& square) const {
    mean = next(mean, V(square + V(epsilon)));
  }
};

/// The gradient divided by the root of the running mean of its square.
template<class T>
struct into_unit : of_elements<7> {
  running_mean<T> next;
  T epsilon;
  constexpr into_unit(double kept, T l) : next(kept), epsilon(l) {}
  template<class V>
  constexpr void operator()(V& g, V& mean) const {
    using math::sqrt;
    mean = next(mean, V(g * g + V(epsilon)));
    g    = g / sqrt(mean);
  }
};

/// The same, where rows * columns / (the mean of the rows) stands for the mean.
struct unit_by_factors : of_elements<6> {
  template<class V>
  constexpr V operator()(V const& g, V const& rows, V const& mean_of_rows, V const& columns) const {
    using math::sqrt;
    return g / (sqrt(rows / mean_of_rows) * sqrt(columns));
  }
};

/// The mean squares of weights and direction -> the factor of the direction in the step.
template<class T>
struct adafactor_length : of_elements<6> {
  T rate;
  T epsilon;
  T threshold;
  bool by_weights;
  constexpr adafactor_length(T r, T l, T t, bool b) : rate(r), epsilon(l), threshold(t), by_weights(b) {}
  template<class V>
  constexpr void operator()(V& weights, V const& direction) const {
    using math::max;
    using math::sqrt;
    V const size = by_weights ? V(max(V(epsilon), V(sqrt(weights)))) : V(1);
    weights      = V(rate) * size / max(V(1), V(sqrt(direction) / V(threshold)));
  }
};

/// A step down along a running mean of the directions, of a length that is known only when the step runs.
template<class T, class By>
struct step_along_mean : of_elements<5> {
  running_mean<T> next;
  By const* factor;
  constexpr step_along_mean(double beta, By const* b) : next(beta), factor(b) {}
  template<class V>
  constexpr void operator()(V& w, V& mean, V const& direction) const {
    mean = next(mean, V(V(static_cast<T>(*factor)) * direction));
    w    = w - mean;
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM_OF(1, function::scaled_square)
MESHTF_COMPILE_MAP(4, function::unit_by_factors)
#define MESHTF_ADAFACTOR(T)                                                                           \
  template void kernel::update(extent, function::mean_of_squares<computed<T>> const&, T*, T const*);  \
  template void kernel::update(extent, function::into_unit<computed<T>> const&, T*, T*);              \
  template void kernel::update(extent, function::adafactor_length<computed<T>> const&, T*, T const*); \
  template void kernel::update(extent, function::step_along_mean<computed<T>, T> const&, T*, T*, T const*);
MESHTF_COMPILE_WIDE(MESHTF_ADAFACTOR)
#undef MESHTF_ADAFACTOR

}  // namespace v0
}  // namespace meshtf
