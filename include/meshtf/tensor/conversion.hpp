// What converts an element to another type.
#pragma once

#include <type_traits>

#include <meshtf/core/element.hpp>
#include <meshtf/core/function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class To>
struct converted {
  static constexpr bool parallel = true;
  static constexpr extent flops  = 0;
  template<class From>
  constexpr To operator()(From x) const {
    return static_cast<To>(x);
  }
};

}  // namespace function

namespace detail {

/// What converts an element. Between a narrow type and the one that it is computed with, kernels convert by
/// themselves.
template<class To, class From>
using conversion = std::conditional_t<(NarrowElement<To> || NarrowElement<From>) &&
                                          std::is_same_v<computed<To>, computed<From>>,
                                      function::identity, function::converted<To>>;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
