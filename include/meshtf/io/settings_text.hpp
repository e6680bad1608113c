// Settings as texts: what reads, writes and compares them without knowing their struct.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#endif

namespace meshtf {
inline namespace v0 {

/// Names and values, in the order of the struct.
using setting_texts = std::vector<std::pair<std::string, std::string>>;

namespace detail {

/// A setting whose member is known: all that reading and writing need, without the member's type.
struct bound_setting {
  std::string name;
  std::string expected;     // what a value is, in words
  bool is_flag    = false;  // a bool, which a command line may name without a value
  bool is_matched = false;
  bool is_kept    = true;
  bool is_agreed  = true;
  std::function<std::optional<std::string>()> text;  // nothing: the optional has none
  std::function<bool(std::string const&)> take;      // false: the text is no such value
};

inline constexpr char const* setting_prefix = "setting.";

/// Errors: `software_error` if two have one name.
void check_setting_names(std::vector<bound_setting> const& all);

/// What a checkpoint keeps: those that have a value.
setting_texts kept_settings(std::vector<bound_setting> const& all);

std::string setting_lines(std::vector<bound_setting> const& all);
void read_setting_lines(std::vector<bound_setting> const& all, std::string_view text,
                        std::string const& from);
void read_setting_options(std::vector<bound_setting> const& all, int argc, char const* const* argv);

/// Compares what a checkpoint keeps of its settings with those of the program: a line for each that differs.
/// Errors: `usage_error` if one of them must match.
std::vector<std::string> compared_settings(std::vector<bound_setting> const& all, std::string const& path,
                                           setting_texts const& kept);

#if MESHTF_DEFINES_RUNTIME

/// The least number of letters that are put in, taken out or replaced to make `b` of `a` (Levenshtein).
MESHTF_DEFINE std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal                   = row[j];
      row[j]                     = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// "--help shows them" where there is such a setting.
MESHTF_DEFINE std::string unknown_setting(std::vector<bound_setting> const& all, std::string const& name,
                                          std::string const& dashes) {
  std::string text = "got '" + dashes + name + "'";
  auto const near  = std::min_element(all.begin(), all.end(), [&name](auto const& a, auto const& b) {
    return edit_distance(name, a.name) < edit_distance(name, b.name);
  });
  if (near != all.end()) text += ": did you mean '" + dashes + near->name + "'?";
  bool const helps = std::any_of(all.begin(), all.end(), [](auto const& one) { return one.name == "help"; });
  return helps && !dashes.empty() ? text + " --help shows the options" : text;
}

MESHTF_DEFINE bound_setting const* find_setting(std::vector<bound_setting> const& all,
                                                std::string const& name) {
  auto const found = std::find_if(all.begin(), all.end(), [&name](auto const& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// For files, which programs write: a value that is there already is one, though nobody may give it. A
/// default may mean "none".
MESHTF_DEFINE bool take_setting(bound_setting const& one, std::string const& value) {
  return one.take(value) || one.text() == value;
}

MESHTF_DEFINE void check_setting_names(std::vector<bound_setting> const& all) {
  std::vector<std::string> names;
  for (auto const& one : all) names.push_back(one.name);
  std::sort(names.begin(), names.end());
  if (auto const twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw software_error("expected settings of different names, got two that are called '" + *twice +
                         "': give one another name");
}

MESHTF_DEFINE setting_texts kept_settings(std::vector<bound_setting> const& all) {
  setting_texts texts;
  for (auto const& one : all)
    if (one.is_kept)
      if (auto value = one.text()) texts.emplace_back(one.name, *std::move(value));
  return texts;
}

inline constexpr std::string_view blanks_of_settings = " \t\r";

MESHTF_DEFINE std::string_view without_blanks(std::string_view text) {
  auto const first = text.find_first_not_of(blanks_of_settings);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks_of_settings) - first + 1);
}

MESHTF_DEFINE std::string quoted_setting(std::string const& value) {
  bool const plain = value.find('\n') == std::string::npos && !value.starts_with('"') &&
                     without_blanks(value).size() == value.size();
  if (plain) return value;
  std::string text = "\"";
  for (char const c : value)
    if (c == '\n') text += "\\n";
    else if (c == '"' || c == '\\') (text += '\\') += c;
    else text += c;
  return text + '"';
}

/// The value of such a text; nothing if a quote is missing.
MESHTF_DEFINE std::optional<std::string> unquoted_setting(std::string_view text) {
  if (!text.starts_with('"')) return std::string{text};
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1 == text.size() ? std::optional{value} : std::nullopt;
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (++i == text.size()) break;
    value += text[i] == 'n' ? '\n' : text[i];
  }
  return std::nullopt;
}

MESHTF_DEFINE std::string setting_lines(std::vector<bound_setting> const& all) {
  std::string lines;
  for (auto const& one : all)
    if (auto const value = one.text()) lines += one.name + " = " + quoted_setting(*value) + "\n";
  return lines;
}

MESHTF_DEFINE void read_setting_lines(std::vector<bound_setting> const& all, std::string_view text,
                                      std::string const& from) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto const end  = std::min(text.find('\n'), text.size());
    auto const line = without_blanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    std::string const here = " in line " + std::to_string(number) + " of " + from;
    auto const equals      = line.find('=');
    std::string const name{without_blanks(line.substr(0, equals))};
    if (equals == std::string_view::npos)
      throw usage_error("expected 'name = value'" + here + ", got '" + std::string{line} + "'");
    bound_setting const* const one = find_setting(all, name);
    if (one == nullptr)
      throw usage_error("expected the name of a setting" + here + ", " + unknown_setting(all, name, ""));
    auto const given = without_blanks(line.substr(equals + 1));
    auto const value = unquoted_setting(given);
    if (!value || !take_setting(*one, *value))
      throw usage_error("expected " + one->expected + " for " + name + here + ", got '" + std::string{given} +
                        "'");
  }
}

MESHTF_DEFINE std::string settings_file(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (!file.is_open() || file.bad())
    throw no_input("expected a file with settings after --settings, got '" + path + "', which can't be read");
  return text;
}

MESHTF_DEFINE void read_setting_options(std::vector<bound_setting> const& all, int argc,
                                        char const* const* argv) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::optional<std::string> value;
    if (!name.starts_with("--"))
      throw usage_error("expected --" + (all.empty() ? "settings FILE" : all.front().name) +
                        " or another setting, got '" + name + "', which does not begin with --");
    name.erase(0, 2);
    if (auto const equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.erase(equals);
    }
    auto const next = [&](std::string const& expected) {
      if (!value && ++i == argc)
        throw usage_error("expected " + expected + " after --" + name + ", got nothing");
      return value ? *value : std::string{argv[i]};
    };
    bound_setting const* const one = find_setting(all, name);
    if (one == nullptr && name == "settings") {
      std::string const path = next("a file");
      read_setting_lines(all, settings_file(path), path);
      continue;
    }
    if (one == nullptr)
      throw usage_error("expected the name of a setting, " + unknown_setting(all, name, "--"));
    if (one->is_flag && !value) {
      one->take("true");
      if (name == "help") return;  // whatever else is there
      continue;
    }
    std::string const given = next(one->expected);
    std::string const usual = one->text().value_or("");
    if (!one->take(given))
      throw usage_error("expected " + one->expected + " after --" + name + ", got '" + given + "'" +
                        (usual.empty() ? "" : ": for example --" + name + " " + usual));
  }
}

MESHTF_DEFINE std::vector<std::string> compared_settings(std::vector<bound_setting> const& all,
                                                         std::string const& path, setting_texts const& kept) {
  std::vector<std::string> lines;
  auto const spelled = [](std::optional<std::string> const& x) { return x ? "'" + *x + "'" : "not set"; };
  for (auto const& [name, was] : kept) {
    bound_setting const* const one = find_setting(all, name);
    auto const is                  = one != nullptr ? one->text() : std::nullopt;
    if (is == was || (one != nullptr && !one->is_kept)) continue;
    if (one != nullptr && one->is_matched)
      throw usage_error("expected setting " + name + " to be " + spelled(was) + ", as in " + path + ", got " +
                        (is ? spelled(is) : "none") +
                        ": what was trained with one value can't go on with another");
    lines.push_back("setting " + name + " was " + spelled(was) + " in " + path + ", is " +
                    (one != nullptr ? spelled(is) : "none of this program"));
  }
  for (auto const& [name, is] : kept_settings(all)) {
    bool const is_new =
        std::none_of(kept.begin(), kept.end(), [&](auto const& k) { return k.first == name; });
    if (is_new) lines.push_back("setting " + name + " is " + spelled(is) + ", not set in " + path);
  }
  return lines;
}

#endif

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
