// cast: the same values as another element type.
#pragma once

#include <source_location>

#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

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

/// `x` as elements of type `To`: float, double or int (towards zero). Local. Gradient: between floating types, cast back, and a parameter's stays open; through
/// int none.
template<Element To, class T, class L, class... D>
constexpr auto cast(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  x.machine().enter("cast", at);
  auto z = detail::each<To, shape<D...>>(function::converted<To>{}, x);
  if constexpr (FloatingElement<To> && FloatingElement<T>)
    if (detail::wants_gradient(x)) {
      bool const open = x.gradient_stays_open();
      detail::record<detail::incoming::open_if_open>(
          z,
          [x = x.without_value()](auto const& dz, axis_set owed) {
            detail::contribute(x, detail::each<T, shape<D...>>(function::converted<T>{}, dz), owed);
          },
          open);
    }
  return z;
}

namespace detail {

/// Does `To` hold every value of `From`?
template<class To, class From>
inline constexpr bool holds_all_of = std::is_same_v<To, From> || std::is_same_v<To, double>;

}  // namespace detail

/// An open sum as elements of a type that holds every value of its own stays open; one that rounds does not compile, since rounded addends have another sum.
template<Element To, class T, class L, class... D, class Over>
constexpr auto cast(partial<tensor<T, L, D...>, Over> const& p, std::source_location at = std::source_location::current()) {
  constexpr algebra::use how = detail::holds_all_of<To, T> ? algebra::use::widened : algebra::use::narrowed;
  using verdict              = detail::use_verdict<how, partial<tensor<T, L, D...>, Over>>;
  static_assert(accepted<verdict>, "meshtf: this cast rounds addends: cast<...>(finish(x))");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else return detail::handed_through<how>(p, cast<To>(p.addend(), at));
}

}  // namespace meshtf::inline v0
