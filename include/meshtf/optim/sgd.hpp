// Stochastic gradient descent.
#pragma once

#include <source_location>

#include <meshtf/ops/finish.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf::inline v0 {

/// w -= rate * gradient, for each parameter. It keeps no state.
struct sgd {
  double rate = 0.01;

  /// Adds up the gradients over the processes that share a parameter (an all-reduce each, over the axes that are owed together), updates, and clears them.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list, std::source_location at = std::source_location::current()) {
    list.for_each([this, at](auto& w) {
      if (!w.slot().sum) return;
      {
        auto const g = finish(detail::taken_gradient(w), at);
        update(w, g, rate, at);
      }
      w.zero_gradient();
    });
  }
};

}  // namespace meshtf::inline v0
