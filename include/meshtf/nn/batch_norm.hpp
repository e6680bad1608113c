// The layer batch_norm: it keeps running statistics, by which it normalises in evaluations.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/ops/normalise/batch_norm.hpp>
#include <meshtf/tensor/state.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// x * kept + y * taken: a step of a running mean.
template<class T>
struct blend : of_elements<3> {
  T kept;
  T taken;
  constexpr blend(T k, T t) : kept(k), taken(t) {}
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return x * V(kept) + y * V(taken);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_OF(2, function::blend)

namespace nn {
namespace detail {

template<class T, class L, class S>
struct state_of_shape;
template<class T, class L, class... D>
struct state_of_shape<T, L, shape<D...>> : std::type_identity<state<T, L, D...>> {};
/// A tensor of shape `S` that is kept and not trained.
template<class T, class L, class S>
using state_of = typename state_of_shape<T, L, S>::type;

}  // namespace detail

/// `meshtf::batch_norm` of `Channels`, a dimension or a `shape` of several, with a trained scale, which
/// starts at 1, and a trained bias, which starts at 0.
///
/// In a step that trains, x is normalised by its own statistics, over batch and space, and the running ones
/// are written: once, also where the step is computed again (`recompute`). In an evaluation, under
/// `no_gradient`, it is normalised by the running ones, which start as mean 0 and variance 1. As in PyTorch,
/// a step takes the part `momentum` of the new ones, and the running variance is an estimate: of n elements
/// it takes n / (n - 1) times the variance. Checkpoints keep the running statistics with the parameters. They
/// are in elements `T`, also where x is narrower.
template<FloatingElement T, Layout L, class Channels>
struct batch_norm {
  using channels = detail::shape_of<Channels>;
  template<class E>
  using element_of_weights = computed<E>;

  detail::parameter_of<T, L, channels> scale;
  detail::parameter_of<T, L, channels> bias;
  detail::state_of<T, L, channels> running_mean;
  detail::state_of<T, L, channels> running_variance;
  double epsilon  = 1e-5;
  double momentum = 0.1;

  constexpr explicit batch_norm(machine<L>& m)
      : scale{m, constant{1}}, bias{m}, running_mean{m}, running_variance{m, constant{1}} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return normed(channels{}, x, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("scale", scale), named("bias", bias), named("running_mean", running_mean),
                              named("running_variance", running_variance));
  }

private:
  template<class... C, class X>
  constexpr auto normed(shape<C...>, X const& x, std::source_location at) const {
    if constexpr (meshtf::detail::AnyRejected<X>) return x;
    else return normed_operand(shape<C...>{}, x, at);
  }
  template<class... C, class X>
  constexpr auto normed_operand(shape<C...>, X const& x, std::source_location at) const {
    auto& m            = scale.machine();
    auto const& factor = detail::vector_for<X>(scale, at);
    auto const& add    = detail::vector_for<X>(bias, at);
    if (!m.records_gradients())
      return meshtf::batch_norm<C...>(x, factor, add, detail::vector_for<X>(running_mean, at),
                                      detail::vector_for<X>(running_variance, at), epsilon, at);
    auto current = meshtf::batch_norm<C...>(x, factor, add, epsilon, at);
    auto const n = static_cast<double>(m.counted().size_of(without<meshtf::detail::shape_in<X>, channels>{}));
    if (n == 0) return std::move(current.norm);  // no element says anything of the whole
    step(running_mean, current.mean, momentum, at);
    step(running_variance, current.variance, n > 1 ? momentum * n / (n - 1) : momentum, at);
    return std::move(current.norm);
  }
  template<class... C, class V>
  constexpr void step(state<T, L, C...> const& running, V const& current, double taken,
                      std::source_location at) const {
    auto& m = running.machine();
    if (m.recomputes()) return;
    m.begin_operation("update", at);
    tensor<T, L, C...> values = running;  // a handle: what a layer keeps is not the layer
    function::blend<T> const f{static_cast<T>(1 - momentum), static_cast<T>(taken)};
    if constexpr (std::is_same_v<typename V::element_type, T>)
      meshtf::detail::copy_values(meshtf::detail::each<T, channels>(f, running, current), values);
    else
      meshtf::detail::copy_values(
          meshtf::detail::each<T, channels>(f, running, meshtf::detail::in_elements<T>(current)), values);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
