// Stochastic gradient descent.
#pragma once

#include <array>
#include <source_location>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf::inline v0 {

/// w -= rate * gradient, for each parameter. It keeps no state.
struct sgd {
  double rate = 0.01;

  /// Adds up the gradients over the processes that share a parameter (all-reduces over the axes that are owed together, small gradients in one),
  /// updates, and clears them.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list, std::source_location at = std::source_location::current()) {
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      auto const go_down = [this, at](auto& w) {
        auto const g = detail::taken_gradient(w).addend();
        update(w, g, rate, at);
      };
      detail::buckets sent{*m, detail::count_in(list)};
      list.for_each([&sent, &go_down, at](auto& w) {
        if (!w.slot().sum) return;
        w.machine().enter("sgd::step", at);
        if (sent.sum(w.slot(), w.size)) go_down(w);
      });
      m->enter("sgd::step", at);
      sent.send();
      list.for_each([&go_down](auto& w) {
        if (w.slot().sum) go_down(w);
      });
    }
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
