// Where a call comes from: the operation, and the line that called it, also in words.
#pragma once

#include <source_location>
#include <string_view>

#include <meshtf/core/text.hpp>

namespace meshtf {
inline namespace v0 {

/// Where a collective or an allocation comes from: the operation, and the line that called it. An operator
/// can't take a location, so it has only its name.
struct call_site {
  char const* operation = "";
  std::source_location at{};
  bool backward = false;  // in the operation's gradient

  constexpr bool has_line() const { return at.line() != 0; }
  /// Equal if place and direction are. Operators have no place and are distinguished by their names. Files
  /// are not compared: that would take the compiler more time than all the rest, and two calls at the same
  /// line and column of two files are rare.
  friend constexpr bool operator==(call_site const& a, call_site const& b) {
    if (a.at.line() != b.at.line() || a.at.column() != b.at.column() || a.backward != b.backward)
      return false;
    return a.has_line() || std::string_view{a.operation} == b.operation;
  }
};

namespace detail {

/// "transformer.hpp:74": the folder of the file is left out.
constexpr fixed_text<255> place_text(std::string_view file, extent line) {
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  fixed_text<255> out{file.substr(0, 200)};
  out += ':';
  return out += number_text(line);
}
/// The same, or nothing for an operator.
constexpr fixed_text<255> place_text(call_site const& site) {
  return site.has_line() ? place_text(site.at.file_name(), static_cast<extent>(site.at.line()))
                         : fixed_text<255>{};
}

/// "einsum's gradient, feed_forward.hpp:22".
constexpr fixed_text<255> site_text(call_site const& site) {
  fixed_text<255> out{std::string_view{site.operation}.substr(0, 40)};
  if (site.backward) out += "'s gradient";
  if (site.has_line()) out += ", ";
  return out += place_text(site);
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
