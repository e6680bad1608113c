// The command lines of the examples: what their options have in common.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
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

/// Errors: `usage_error` unless `text` is a finite number that `fits`, as `range` says in words.
template<class Fits>
double real_number(std::string const& option, std::string const& text, std::string const& range,
                   std::string const& example, Fits const& fits) {
  double x                  = 0;
  char const* const end     = text.data() + text.size();
  auto const [stop, failed] = std::from_chars(text.data(), end, x);
  if (failed != std::errc{} || stop != end || !std::isfinite(x) || !fits(x))
    throw meshtf::usage_error("expected a number " + range + " after " + option + ", got '" + text +
                              "': for example " + option + " " + example);
  return x;
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

/// Calls take(option, next) for each option, up to --help. next() is the option's value, of `--steps 20` or
/// of `--steps=20`; `take` is false if it does not know the option. True if --help was asked for.
///
/// Errors: `usage_error`, on every process alike.
template<class Take>
bool for_each_option(int argc, char** argv, std::string const& known, Take const& take) {
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    std::string value;
    bool is_there = false;
    if (option == "--help") return true;
    if (auto const equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {
      value    = option.substr(equals + 1);
      option   = option.substr(0, equals);
      is_there = true;
    }
    auto const next = [&] {
      if (!is_there && ++i == argc)
        throw meshtf::usage_error("expected a value after " + option +
                                  ", got nothing: --help shows the options");
      return is_there ? value : std::string{argv[i]};
    };
    if (!take(option, next))
      throw meshtf::usage_error("expected " + known + ", got '" + option + "': --help shows the options");
  }
  return false;
}
