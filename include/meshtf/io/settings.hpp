// Settings: what a program lets its user choose, as a struct that says the names of its members once. They
// are read from a command line or a file, kept in checkpoints, and compared when one is loaded.
//
// Sizes, meshes and layouts are types, so they are no settings: `describe` lists those. What is left are
// numbers, bools and texts. They are names and values, which is the form that safetensors' metadata have.
// (Lingvo, Shen et al. 2019, keeps what an experiment was as nested parameters with names; this is its
// counterpart.) Boost.Program_options, which would parse a command line, is a further library to link, binds
// no members, and neither writes what it reads nor suggests the nearest name.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/io/settings_text.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class T>
struct setting_value {
  using type = T;
};
template<class T>
struct setting_value<std::optional<T>> {
  using type = T;
};

template<class T>
concept SettingValue = std::is_arithmetic_v<T> || std::same_as<T, std::string>;

}  // namespace detail

/// A setting of the struct `S`: its name, and the member that has its value: a number, a bool, a
/// `std::string`, a `std::optional` of these, or a struct that has settings, whose names follow this one and
/// a dot. What else is to hold is said after it:
///
///     setting{"rate", &training::rate}.expects("a number above 0", [](double x) { return x > 0; })
///     setting{"seed", &training::seed}.must_match()
template<class S, class T>
struct setting {
  using value_type = typename detail::setting_value<T>::type;

  char const* name;
  T S::* member;
  char const* expected            = nullptr;
  bool (*fits)(value_type const&) = nullptr;
  bool is_matched                 = false;
  bool is_kept                    = true;
  bool is_agreed                  = true;

  constexpr setting(char const* called, T S::* place) : name{called}, member{place} {}

  /// A value that is read, for which `test` is false, is a `usage_error`, which names `words`.
  constexpr setting expects(char const* words, bool (*test)(value_type const&)) const {
    setting s  = *this;
    s.expected = words;
    s.fits     = test;
    return s;
  }
  /// To load a checkpoint of another value is a `usage_error`, and not one line on stderr.
  constexpr setting must_match() const {
    setting s    = *this;
    s.is_matched = true;
    return s;
  }
  /// It is of one run, such as the name of a folder: no checkpoint keeps it.
  constexpr setting not_kept() const {
    setting s = *this;
    s.is_kept = false;
    return s;
  }
  /// Processes may have different values: `agree_on` leaves it out.
  constexpr setting may_differ() const {
    setting s   = *this;
    s.is_agreed = false;
    return s;
  }
};

/// A struct that says its settings:
///
///     struct training_settings {
///       double rate = 1e-3;
///       long warmup = 100;
///
///       static constexpr auto settings() {
///         return std::tuple{meshtf::setting{"rate", &training_settings::rate},
///                           meshtf::setting{"warmup", &training_settings::warmup}};
///       }
///     };
template<class S>
concept Settings = requires { std::tuple_size<decltype(S::settings())>::value; };

namespace detail {

/// In the fewest digits that give the same number back.
template<SettingValue T>
std::string setting_text(T const& x) {
  if constexpr (std::same_as<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::same_as<T, std::string>) {
    return x;
  } else {
    char digits[64];
    return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
  }
}

template<SettingValue T>
std::optional<T> setting_from(std::string const& text) {
  if constexpr (std::same_as<T, bool>) {
    if (text == "true" || text == "false") return text == "true";
    return std::nullopt;
  } else if constexpr (std::same_as<T, std::string>) {
    return text;
  } else {
    T x{};
    char const* const end     = text.data() + text.size();
    auto const [stop, failed] = std::from_chars(text.data(), end, x);
    if (failed != std::errc{} || stop != end) return std::nullopt;
    return x;
  }
}

template<class T>
constexpr char const* setting_kind() {
  if constexpr (std::same_as<T, bool>) return "true or false";
  else if constexpr (std::same_as<T, std::string>) return "a text";
  else if constexpr (std::is_integral_v<T>) return "a whole number";
  else return "a number";
}

template<class S, class T>
bound_setting bind_setting(setting<S, T> const& one, std::string name, T& member) {
  using value = typename setting<S, T>::value_type;
  if constexpr (SettingValue<value>) {
    bound_setting b;
    b.name       = std::move(name);
    b.expected   = one.expected != nullptr ? one.expected : setting_kind<value>();
    b.is_flag    = std::same_as<value, bool>;
    b.is_matched = one.is_matched;
    b.is_kept    = one.is_kept;
    b.is_agreed  = one.is_agreed;
    b.text       = [&member]() -> std::optional<std::string> {
      if constexpr (SettingValue<T>) return setting_text(member);
      else return member ? std::optional{setting_text(*member)} : std::nullopt;
    };
    b.take = [&member, fits = one.fits](std::string const& text) {
      auto const x = setting_from<value>(text);
      if (!x || (fits != nullptr && !fits(*x))) return false;
      member = *x;
      return true;
    };
    return b;
  } else {
    static_assert(SettingValue<value>,
                  "meshtf: a setting is a number, a bool, a std::string, a std::optional of these, or a "
                  "struct with settings()");
    return {};
  }
}

template<Settings S>
void bind_settings(std::vector<bound_setting>& all, S& s, std::string const& prefix) {
  auto const bind = [&](auto const& one) {
    auto& member = s.*one.member;
    if constexpr (Settings<std::remove_cvref_t<decltype(member)>>)
      bind_settings(all, member, prefix + one.name + ".");
    else all.push_back(bind_setting(one, prefix + one.name, member));
  };
  std::apply([&bind](auto const&... one) { (bind(one), ...); }, S::settings());
}

template<Settings S>
std::vector<bound_setting> bound_settings(S& s) {
  std::vector<bound_setting> all;
  bind_settings(all, s, "");
  check_setting_names(all);
  return all;
}

}  // namespace detail

/// The settings as lines `name = value`, which `read_settings_text` reads: equal to the bit.
template<Settings S>
std::string settings_text(S settings) {
  return detail::setting_lines(detail::bound_settings(settings));
}

/// Reads lines `name = value` into `settings`; a line that begins with # is a comment, a value in quotes may
/// have \\ \" \n and blanks at its ends. What no line names keeps its value. `from` is named in errors.
///
/// Errors: `usage_error`, with the line's number, for a name that is none, with the nearest one, and for a
/// value that is none of that setting; `software_error` if two settings have one name.
template<Settings S>
void read_settings_text(S& settings, std::string_view text, std::string const& from) {
  detail::read_setting_lines(detail::bound_settings(settings), text, from);
}

/// Reads settings from a command line: `--rate 3e-4`, `--rate=3e-4`, of a bool `--quick` or `--quick=false`,
/// of a struct's setting `--decay.kind cosine`. `--settings FILE` reads a file as `read_settings_text` does,
/// where it stands: what follows overrides it. What is not named has the value of `settings`. After `--help`,
/// of a setting of that name, nothing is read.
///
///     auto const chosen = meshtf::read_settings<training_settings>(argc, argv);
///
/// Every process calls it with its own command line: `agree_on` compares them.
/// Errors: as those of `read_settings_text`; `no_input` if the file can't be read.
template<Settings S>
S read_settings(int argc, char const* const* argv, S settings = {}) {
  detail::read_setting_options(detail::bound_settings(settings), argc, argv);
  return settings;
}

/// Compares the settings on all processes, but those that may differ. Every process calls it. One comparison
/// a setting, as `m.agree` does.
/// Errors: `software_error` on all processes, with the setting's name and the process that differs.
template<class Machine, Settings S>
void agree_on(Machine const& m, S settings) {
  for (auto const& one : detail::bound_settings(settings))
    if (one.is_agreed) m.agree("--" + one.name, one.text().value_or(""));
}

}  // namespace v0
}  // namespace meshtf
