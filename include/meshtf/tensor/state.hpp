// State: named values of a model that are not trained.
#pragma once

#include <source_location>

#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {

/// A value that a model keeps from step to step and that no gradient reaches: a running mean, a counter, a
/// moving average of weights. Every operation takes it as a tensor, which is data for it. It moves but does
/// not copy, and assigning a tensor copies the values in.
///
///     meshtf::state<float, L, model> running;                       // a member of the model, named in its
///     parameters()
///     running.update(running * 0.9f + mean<batch>(x) * 0.1f);       // in its forward pass
///
/// Checkpoints keep it under its name with the parameters, and optimizers pass it over. Where a gradient
/// needs the values that it had before it was written, compute with `copy(running)`: `backward` detects
/// writes, but not those in a function that is computed again (`recompute`). Hand that function the copy as
/// an argument if its results, not only what it writes, depend on the state.
template<Element T, Layout L, Dimension... D>
class state : public tensor<T, L, D...> {
  using base = tensor<T, L, D...>;

public:
  /// All zeros.
  constexpr explicit state(meshtf::machine<L>& m) : base(m) { this->handle()->count_again(true); }

  /// The values that `initialiser` (`constant{1}`, ...) gives, the same under every layout.
  template<class Initialiser>
  constexpr state(meshtf::machine<L>& m, Initialiser const& initialiser) : base(base::uninitialised(m)) {
    this->handle()->count_again(true);
    detail::all_counted const all{m};
    initialiser(static_cast<base&>(*this));
  }

  constexpr state(state&&) noexcept            = default;
  constexpr state& operator=(state&&) noexcept = default;
  state(state const&)                          = delete;
  state& operator=(state const&)               = delete;

  /// Copies the values of `x` in, in a step that trains: once, not in a backward pass that computes a
  /// function again (`recompute`), and not in an evaluation, under `no_gradient`. `x` needs no gradient for
  /// it.
  constexpr state& update(base const& x, std::source_location at = std::source_location::current()) {
    auto& m = this->machine();
    if (!m.records_gradients()) return *this;
    m.begin_operation("update", at);
    return *this = x;
  }

  /// Copies the values of `x` in, also in an evaluation, but not where a backward pass computes a function
  /// again. The state keeps its shard.
  constexpr state& operator=(base const& x) {
    if (!this->machine().recomputes()) detail::copy_values(x, *this);
    return *this;
  }

  constexpr state& update(rejected) { return *this; }
  constexpr state& operator=(rejected) { return *this; }
};

}  // namespace v0
}  // namespace meshtf
