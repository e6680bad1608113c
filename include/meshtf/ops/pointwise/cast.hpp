// cast: the same values in another element type.
#pragma once

#include <source_location>

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class To>
struct converted {
  static constexpr extent flops = 0;
  template<class From>
  constexpr To operator()(From x) const {
    return static_cast<To>(x);
  }
};

}  // namespace function

namespace detail {

/// Whether `To` can represent every value of `From`.
template<class To, class From>
inline constexpr bool holds_all_of = std::is_same_v<To, From> || std::is_same_v<To, double>;

}  // namespace detail

/// `x` in elements of type `To`: float, double or int (rounded towards zero). Local. Gradient: between floating-point types it is cast back, and that
/// of a parameter stays open; through int there is none. An open sum stays open if `To` can represent every value of its type. Otherwise the cast
/// does not compile, since rounded addends have another sum.
template<Element To, detail::Operand X>
constexpr auto cast(X const& operand, std::source_location at = std::source_location::current()) {
  using T                     = detail::element_in<X>;
  using dims                  = detail::shape_in<X>;
  constexpr algebra::use used = detail::holds_all_of<To, T> ? algebra::use::widened : algebra::use::narrowed;
  using verdict               = detail::use_verdict<used, X>;
  static_assert(accepted<verdict>, "meshtf: this cast rounds addends: cast<...>(finish(x))");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::widened>(operand, [&](auto const& x) {
      x.machine().enter("cast", at);
      auto z = detail::each<To, dims>(function::converted<To>{}, x);
      if constexpr (FloatingElement<To> && FloatingElement<T>)
        detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set owed) {
          detail::contribute(to, detail::each<T, dims>(function::converted<T>{}, dz), owed);
        });
      return z;
    });
  }
}

}  // namespace v0
}  // namespace meshtf
