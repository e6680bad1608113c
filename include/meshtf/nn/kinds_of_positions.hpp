// How a model of sequences is told of positions: by trained vectors, or not at all. nn/positions.hpp has
// sinusoids.
#pragma once

#include <meshtf/nn/weight.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// A trained vector for each position.
struct learned_positions {
  template<class T, class L, class Length, class Model>
  struct layer {
    kept_parameter<T, L, Length, Model> table;

    template<class Initialiser>
    constexpr layer(machine<L>& m, Initialiser const& initialiser) : table{m, initialiser} {}

    template<class X>
    constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
      return x + detail::weight_for<X>(table, at);
    }
    /// The same of some positions, which `places` names.
    template<class X, class Places>
    constexpr auto add(X const& x, Places const& places, std::source_location at) const {
      auto const& all  = detail::weight_for<X>(table, at);
      auto const found = gather<Length>(all, places, at);
      return x + found;
    }
  };
};

/// Positions that the model is not told. It finds some of them out by itself, since each position sees only
/// those before it.
/// Source: Haviv et al., Transformer Language Models without Positional Encodings Still Learn Positional
/// Information (2022).
struct no_positions {
  template<class T, class L, class Length, class Model>
  struct layer {
    constexpr layer(machine<L>&, auto const&) {}
    template<class X>
    constexpr X const& operator()(X const& x) const {
      return x;
    }
    template<class X, class Places>
    constexpr X const& add(X const& x, Places const&, std::source_location) const {
      return x;
    }
  };
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
