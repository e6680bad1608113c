// Weights in mixed precision: a layer's weights in the elements in which it computes.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/ops/pointwise/cast.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
namespace detail {

using namespace meshtf::detail;

/// A weight as a layer uses it with `X`: itself if the elements are the same, otherwise cast to those of `X`. Each use has a cast of its own, so the
/// gradients of all uses are added up in the weight's own type.
/// Source: Micikevicius et al., Mixed Precision Training (2018), section 3.1: weights are kept in single precision, and rounded where they are used.
template<Operand X, Tensor W>
constexpr decltype(auto) weight_for(W const& w, std::source_location at) {
  if constexpr (std::is_same_v<element_in<X>, typename W::element_type> || !FloatingElement<element_in<X>>) return (w);
  else return cast<element_in<X>>(w, at);
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
