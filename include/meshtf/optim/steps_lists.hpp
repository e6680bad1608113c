// What an optimizer says of a step of something else than a list.
#pragma once

#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The base of optimizers, which have `using steps_lists::step` next to their own: a model is refused with a
/// sentence.
struct steps_lists {
  template<class Model>
    requires(!is_parameter_list<Model>)
  constexpr void step(Model const&) const {
    static_assert(is_parameter_list<Model>,
                  "meshtf: an optimizer's step takes a list of parameters: step(parameters(model))");
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
