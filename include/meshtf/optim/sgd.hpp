// Stochastic gradient descent.
#pragma once

#include <array>
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

  // ---- what checkpoints are written with: nothing to keep

  static constexpr char const* kind = "sgd";
  static constexpr std::array<char const*, 0> array_names{};

  template<class Self, class F>
  static constexpr void for_each_number(Self&, F const&) {}
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const&, F const&) const {}
  template<class Parameter>
  constexpr void make_arrays(Parameter const&) {}
};

}  // namespace meshtf::inline v0
