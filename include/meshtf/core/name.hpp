// Names: how a dimension, axis, layout or element type was spelled in the program.
#pragma once

#include <string_view>

namespace meshtf::inline v0 {

namespace detail {

template<class T>
consteval std::string_view spelled() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
#ifdef __clang__
  text.remove_suffix(1);                          // clang ends the signature at ']'
#else
  text = text.substr(0, text.find_first_of(";]"));   // gcc appends "; std::string_view = ..."
#endif
  return text;
}

consteval std::string_view without_scopes(std::string_view text) {
  // only the scopes of the outermost name: those of template arguments stay
  auto const arguments = text.find('<');
  auto const scope     = text.substr(0, arguments).rfind("::");
  if (scope != std::string_view::npos) text.remove_prefix(scope + 2);
  return text;
}

template<class T>
inline constexpr std::string_view name = without_scopes(spelled<T>());

template<class T>
  requires requires { std::string_view{T::name}; }
inline constexpr std::string_view name<T> = T::name;

}  // namespace detail

/// The name that `T` was declared with, without its namespaces: "batch". A member `static constexpr std::string_view name` takes precedence; it keeps the
/// name in files and plots stable when the type is renamed.
template<class T>
consteval std::string_view name_of() {
  return detail::name<T>;
}

}  // namespace meshtf::inline v0
