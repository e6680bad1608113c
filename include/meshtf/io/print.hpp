// Printing tensors: their values as a whole, and where they are.
#pragma once

#include <ostream>
#include <string>

#include <meshtf/io/global.hpp>   // first: see kernel/xtensor.hpp

#if __has_include(<xtensor/io/xio.hpp>)   // since 0.26
#include <xtensor/io/xio.hpp>
#else
#include <xtensor/xio.hpp>
#endif

namespace meshtf::inline v0 {

namespace detail {

template<class A>
struct axis_names;
template<class... A>
struct axis_names<axes<A...>> {
  static std::string list() {
    std::string text;
    ((text += (text.empty() ? "" : ", "), text += name_of<A>()), ...);
    return text;
  }
};

template<class L, class D>
std::string placement_of_dim() {
  std::string text = std::string{name_of<D>()} + "=" + std::to_string(D::size);
  if (axes_of<L, D>::count > 0) text += " over " + axis_names<axes_of<L, D>>::list();
  return text;
}

}  // namespace detail

/// "float [batch=8 over rows, hidden=16 over cols]"
template<class T, class L, class... D>
std::string placement_text(tensor<T, L, D...> const&) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + detail::placement_of_dim<wet<L>, D>()), ...);
  return std::string{to_string(element_of<T>)} + " [" + text + "]";
}

/// The placement and all elements. Every process of the mesh calls it, since elements travel; the stream of process 0 gets the text.
template<class T, class L, class... D>
std::ostream& operator<<(std::ostream& out, tensor<T, L, D...> const& x) {
  auto const whole = to_global(x);
  if (x.machine().rank() == 0) out << placement_text(x) << "\n" << whole << "\n";
  return out;
}

}  // namespace meshtf::inline v0
