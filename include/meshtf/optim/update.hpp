// update: one step down a gradient.
#pragma once

#include <source_location>

#include <meshtf/core/function.hpp>
#include <meshtf/tensor/gradient.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

/// A gradient that is still a sum over `Axes` would update each process differently: use
/// `finish(gradient(w))`, whose price is `Fix`.
template<class Axes, class... Fix>
struct gradient_is_not_summed_over {};

namespace function {

template<class T>
struct step_down : of_elements<2> {
  T rate;
  constexpr explicit step_down(T r) : rate(r) {}
  template<class V>
  constexpr void operator()(V& w, V const& g) const {
    w = w - V(rate) * g;
  }
};

/// A step down of a length that is known only when the step runs.
template<class T, class By>
struct step_down_by_value : of_elements<3> {
  T rate;
  By const* factor;
  constexpr step_down_by_value(T r, By const* b) : rate(r), factor(b) {}
  template<class V>
  constexpr void operator()(V& w, V const& direction) const {
    w = w - V(rate) * V(static_cast<T>(*factor)) * direction;
  }
};

}  // namespace function

#define MESHTF_STEP_DOWN(T)                                                                               \
  template void kernel::update(extent, function::step_down<computed<T>> const&, T*, T const*);            \
  template void kernel::update(extent, function::step_down_by_value<computed<T>, computed<T>> const&, T*, \
                               T const*);
MESHTF_COMPILE_WIDE(MESHTF_STEP_DOWN)
#undef MESHTF_STEP_DOWN

/// w -= rate * g, for a finished gradient g.
template<class T, class L, class... D, class Rate>
constexpr void update(parameter<T, L, D...>& w, tensor<T, L, D...> const& g, Rate rate,
                      std::source_location at = std::source_location::current()) {
  w.machine().begin_operation("update", at);
  detail::expect_one_mesh(w.machine(), g.machine());
  w.handle()->written();
  w.machine().transform(w.size, function::step_down<computed<T>>{static_cast<computed<T>>(rate)}, w.data(),
                        g.data());
}

template<class T, class L, class... D, class V, class Over, class Rate>
constexpr void update(parameter<T, L, D...>&, partial<V, Over> const&, Rate) {
  using gradient = partial<V, Over>;
  using verdict =
      std::conditional_t<algebra::after(algebra::use::update, detail::pending_of<gradient>).sound(), legal,
                         gradient_is_not_summed_over<Over, typename detail::finishing<gradient>::sends>>;
  static_assert(accepted<verdict>, "meshtf: update takes finished gradients: finish(g)");
}

MESHTF_ACCEPT_REJECTED(update)

}  // namespace v0
}  // namespace meshtf
