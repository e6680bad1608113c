// Names: how a dimension, axis, layout or element type was spelled in the program.
#pragma once

#include <cstddef>
#include <string_view>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class T>
consteval std::string_view spelled() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
#ifdef __clang__
  text.remove_suffix(1);  // clang ends the signature at ']'
#else
  text = text.substr(0, text.find_first_of(";]"));  // gcc appends "; std::string_view = ..."
#endif
  return text;
}

consteval std::string_view without_scopes(std::string_view text) {
  // find the last scope of the outermost name; scopes inside its template arguments, or inside the arguments
  // of what encloses it, do not count
  int depth        = 0;
  std::size_t name = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    if (depth == 0 && text.substr(i, 2) == "::") name = i + 2;
  }
  return text.substr(name);
}

template<class T>
inline constexpr std::string_view name = without_scopes(spelled<T>());

template<class T>
  requires requires { std::string_view{T::name}; }
inline constexpr std::string_view name<T> = T::name;

}  // namespace detail

/// The name that `T` was declared with, without its namespaces: "batch". A member
/// `static constexpr std::string_view name` takes precedence; it keeps the name in files and plots stable
/// when the type is renamed.
template<class T>
consteval std::string_view name_of() {
  return detail::name<T>;
}

}  // namespace v0
}  // namespace meshtf
