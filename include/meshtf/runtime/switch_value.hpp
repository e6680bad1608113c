// Environment variables that know a few values: another one is refused, since it would be taken for one of
// them without a word.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `value` of the variable `name`, or an empty text if it is null.
/// Errors: `usage_error` if it is neither empty nor one of `known`.
std::string_view switch_value(char const* name, char const* value,
                              std::initializer_list<std::string_view> known);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string_view switch_value(char const* name, char const* value,
                                            std::initializer_list<std::string_view> known) {
  std::string_view const text = value == nullptr ? "" : value;
  if (text.empty() || std::find(known.begin(), known.end(), text) != known.end()) return text;
  std::string list;
  for (auto const word : known) (list += list.empty() ? "" : ", ") += word;
  throw usage_error("expected " + std::string{name} + " to be one of " + list + ", got '" +
                    std::string{text} + "': docs/environment.md says what each does");
}

/// Reads all of `text` as a number. Unlike strtod it knows neither locales nor blanks.
template<class Number>
bool read_number(std::string_view text, Number& number) {
  char const* const end     = text.data() + text.size();
  auto const [stop, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc{} && stop == end;
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
