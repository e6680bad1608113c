// The command line of mlp.cpp and images.cpp, and their data.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <meshtf/data/labelled_images.hpp>
#include <meshtf/io/settings.hpp>

#include "options.hpp"

/// The text of --help; `steps` says how many there are if nobody asks for another number.
inline std::string usage_of(std::string const& program, std::string const& steps) {
  return "usage: " + program + R"( [--steps N] [--layout NAME] [--data DIR] [--seed N] [--plain]

  --steps N       training steps (default: )" +
         steps + R"()
  --layout NAME   one layout alone (default: a few steps under all of them, then training under mixed)
  --data DIR      where the four IDX files are (default: those of Debian's dataset-fashion-mnist)
  --seed N        of the initial parameters and the order of the images (default: 1)
  --plain         lines of progress alone, without a bar, as in a file
  --help          this text
)";
}

struct options {
  long steps         = 0;
  std::string layout = {};  // empty: all
  std::string data   = meshtf::fashion_mnist_folder;
  std::uint64_t seed = 1;
  bool plain         = false;
  bool help          = false;

  static constexpr auto settings() {
    using meshtf::setting;
    using self = options;
    return std::tuple{setting{"steps", &self::steps}.expects(from_1, at_least<1>),
                      setting{"layout", &self::layout},
                      setting{"data", &self::data}.may_differ(),
                      setting{"seed", &self::seed}.expects(from_0, at_least<0, std::uint64_t>),
                      setting{"plain", &self::plain}.may_differ(),
                      setting{"help", &self::help}};
  }
};

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts, long steps) {
  auto const chosen = meshtf::read_settings(argc, argv, options{.steps = steps});
  if (!chosen.layout.empty()) one_of(layouts, chosen.layout);
  return chosen;
}

struct image_data {
  meshtf::labelled_images images;
  meshtf::labelled_images unseen;
};

/// The images to learn from and those to test with, on every process; equal ones, or `software_error` on all.
template<class Machine>
image_data read_both(Machine const& m, std::string const& folder) {
  image_data read{meshtf::agreed(m.world(), [&] { return meshtf::read_mnist(folder, "train"); }),
                  meshtf::agreed(m.world(), [&] { return meshtf::read_mnist(folder, "t10k"); })};
  m.agree("the images in --data", read.images.bytes);
  m.agree("the labels in --data", read.images.labels);
  m.agree("the test images in --data", read.unseen.bytes);
  m.agree("the test labels in --data", read.unseen.labels);
  auto const by = standard_scale(read.images);
  scale(read.images, by);
  scale(read.unseen, by);
  return read;
}
