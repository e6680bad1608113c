// The command lines of the examples: what their settings have in common.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <meshtf/core/error.hpp>

/// Errors: `usage_error` unless `text` is a whole number from `least` to 999,999,999.
inline long whole_number(std::string const& option, std::string const& text, long least) {
  long n                    = 0;
  char const* const end     = text.data() + text.size();
  auto const [stop, failed] = std::from_chars(text.data(), end, n);
  if (failed != std::errc{} || stop != end || n < least || n > 999'999'999)
    throw meshtf::usage_error("expected a whole number of at least " + std::to_string(least) + " after " +
                              option + ", got '" + text + "': for example " + option + " 20");
  return n;
}

/// Errors: `usage_error` unless `text` is one of `layouts`.
inline std::string one_of(std::vector<std::string> const& layouts, std::string const& text) {
  std::string all;
  for (auto const& name : layouts) all += (all.empty() ? "" : " ") + name;
  if (std::ranges::find(layouts, text) == layouts.end())
    throw meshtf::usage_error("expected a layout (one of " + all + "), got '" + text +
                              "': for example --layout " + layouts.back());
  return text;
}

/// What settings of numbers expect. 999,999,999 is the most.
template<long N, class T = long>
bool at_least(T const& x) {
  return x >= static_cast<T>(N) && x <= static_cast<T>(999'999'999);
}
inline constexpr char const* from_0 = "a whole number of at least 0";
inline constexpr char const* from_1 = "a whole number of at least 1";

inline bool is_named(std::string const& name) { return !name.empty(); }
