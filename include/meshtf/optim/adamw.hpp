// AdamW.
#pragma once

#include <source_location>

#include <meshtf/optim/adam.hpp>

namespace meshtf {
inline namespace v0 {

/// Adam with decoupled weight decay: each step also shrinks weights by rate * weight_decay of themselves,
/// apart from the gradient's update.
///
/// Parameters of fewer than `decayed_rank` dimensions (biases, scales of norms) do not decay; with 0 all
/// parameters decay, as in PyTorch's AdamW. For any other choice there is `treat`.
/// Source: Loshchilov, Hutter, Decoupled Weight Decay Regularization (2019), algorithm 2, with the decay
/// scaled by the rate as in PyTorch.
class adamw : public adam {
public:
  using updates_alone = adamw;

  double weight_decay = 0.01;
  int decayed_rank    = 2;

  constexpr adamw() = default;
  constexpr explicit adamw(double r, double decay = 0.01, double b1 = 0.9, double b2 = 0.999, double e = 1e-8)
      : adam(r, b1, b2, e), weight_decay(decay) {}

  /// Adds up the gradients over the processes that share a parameter (one sum for gradients with the same
  /// unreduced axes), updates the weights and clears the gradients.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list,
                      std::source_location at = std::source_location::current()) {
    step_with_decay("adamw::step", at, weight_decay, decayed_rank, list);
  }
  /// Runs `pass`, a backward pass, and updates each parameter of the list in it as soon as that is possible:
  /// see `backward(loss, opt, list)`.
  template<class Pass, class... Part>
  constexpr void step_during(Pass const& pass, parameter_list<Part...> const& list,
                             std::source_location at = std::source_location::current()) {
    step_with_decay("adamw::step", at, weight_decay, decayed_rank, list, pass);
  }
  using detail::steps_lists::step;
};

}  // namespace v0
}  // namespace meshtf
