// The command line of mlp.cpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/data/labelled_images.hpp>

constexpr char const* usage = R"(usage: mlp [--steps N] [--layout NAME] [--data DIR] [--seed N]

  --steps N       training steps (default: 1400, six epochs)
  --layout NAME   one layout alone (default: a few steps under all of them, then training under mixed)
  --data DIR      where the four IDX files are (default: those of Debian's dataset-fashion-mnist)
  --seed N        of the initial parameters and the order of the images (default: 1)
  --help          this text
)";

struct options {
  long steps         = 1400;
  std::string layout = {};   // empty: all
  std::string data   = meshtf::fashion_mnist_folder;
  std::uint64_t seed = 1;
  bool help          = false;
};

inline long whole_number(std::string const& option, std::string const& text, long least) {
  long n                    = 0;
  char const* const end     = text.data() + text.size();
  auto const [stop, failed] = std::from_chars(text.data(), end, n);
  if (failed != std::errc{} || stop != end || n < least || n > 999'999'999)
    throw meshtf::usage_error("expected a whole number of at least " + std::to_string(least) + " after " + option + ", got '" + text +
                              "': for example " + option + " 20");
  return n;
}

inline std::string one_of(std::vector<std::string> const& names, std::string const& text) {
  std::string all;
  for (auto const& name : names) all += (all.empty() ? "" : " ") + name;
  if (std::ranges::find(names, text) == names.end())
    throw meshtf::usage_error("expected a layout (one of " + all + "), got '" + text + "': for example --layout " + names.back());
  return text;
}

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts) {
  options chosen;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i], value;
    bool is_there      = false;
    if (option == "--help") {
      chosen.help = true;
      return chosen;
    }
    if (auto const equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {   // --steps=20
      value    = option.substr(equals + 1);
      option   = option.substr(0, equals);
      is_there = true;
    }
    auto const next = [&] {
      if (!is_there && ++i == argc) throw meshtf::usage_error("expected a value after " + option + ", got nothing: --help shows the options");
      return is_there ? value : std::string{argv[i]};
    };
    if (option == "--steps") chosen.steps = whole_number(option, next(), 1);
    else if (option == "--layout") chosen.layout = one_of(layouts, next());
    else if (option == "--data") chosen.data = next();
    else if (option == "--seed") chosen.seed = static_cast<std::uint64_t>(whole_number(option, next(), 0));
    else throw meshtf::usage_error("expected --steps, --layout, --data, --seed or --help, got '" + option + "': --help shows the options");
  }
  return chosen;
}
