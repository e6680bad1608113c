// The names of a model's arrays, as files have them.
#pragma once

#include <iostream>
#include <ostream>
#include <string>

#include <meshtf/core/element.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// "float [hidden=16, out=8]"
template<class T, class L, class... D>
std::string array_text(tensor<T, L, D...> const&) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::string{name_of<D>()} + "=" + std::to_string(D::size)), ...);
  return std::string{to_string(element_of<T>)} + " [" + text + "]";
}

}  // namespace detail

/// Prints the name, the element type and the dimensions of each array that `save` writes for these parameters
/// and `load` expects, one a line:
///
///     meshtf::print_names(net);       // blocks.0.attention.query.weight  float [model=128, heads=4, key=32]
///
/// Only process 0 prints, and nothing is sent. Under a dry layout every process prints.
template<class First, class... Rest>
void print_names(parameter_list<First, Rest...> const& list, std::ostream& out = std::cout) {
  list.for_each_named([&out]<class W>(std::string const& name, W& w) {
    if constexpr (requires { w.machine().rank(); })
      if (w.machine().rank() != 0) return;
    out << name << "  " << detail::array_text(w) << "\n";
  });
}

/// The same of a model alone: the names of `parameters(net)`.
template<detail::HasParameters Net>
void print_names(Net& net, std::ostream& out = std::cout) {
  print_names(meshtf::parameters(net), out);
}

}  // namespace v0
}  // namespace meshtf
