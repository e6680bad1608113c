// Stochastic gradient descent.
#pragma once

#include <array>
#include <source_location>
#include <utility>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/update.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

/// w -= rate * gradient for each parameter. It keeps no state.
struct sgd {
  double rate = 0.01;

  /// Adds up the gradients over the processes that share a parameter (all-reduces over the axes that are owed together, small gradients in one),
  /// updates the weights and clears the gradients. A step that ends in an exception discards the gradients, since some may be added up and others
  /// not; parameters that came earlier in the list have their new weights.
  template<class... Part>
  constexpr void step(parameter_list<Part...> const& list, std::source_location at = std::source_location::current()) {
    if constexpr (sizeof...(Part) > 0) {
      auto* const m = detail::machine_in(list);
      if (m == nullptr) return;
      // the gradient is taken out of the parameter: nobody else reads it
      auto const go_down = [this, at]<class T, class L, class... D>(parameter<T, L, D...>& w) {
        tensor<T, L, D...> const g{w.machine(), std::move(w.slot().sum)};
        w.zero_gradient();
        update(w, g, rate, at);
      };
      try {
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
      } catch (...) {
        zero_gradients(list);
        throw;
      }
    }
  }
  /// Refused with a sentence: a model is not a list.
  template<class Model>
    requires(!detail::is_parameter_list<Model>)
  constexpr void step(Model const&) const {
    static_assert(detail::is_parameter_list<Model>, "meshtf: an optimizer's step takes a list of parameters: step(parameters(model))");
  }

  // ---- for checkpoints: there is nothing to keep

  static constexpr char const* kind = "sgd";
  static constexpr std::array<char const*, 0> array_names{};

  template<class Self, class F>
  static constexpr void for_each_number(Self&, F const&) {}
  template<class Parameter, class F>
  constexpr void for_each_array(Parameter const&, F const&) const {}
  template<class Parameter>
  constexpr void make_arrays(Parameter const&) {}
};

}  // namespace v0
}  // namespace meshtf
