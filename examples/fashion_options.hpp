// The command line of mlp.cpp and images.cpp, and their data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <meshtf/data/labelled_images.hpp>

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
};

/// All processes were given the same: a seed or a number of steps of its own would train wrongly, and not say
/// so. Errors: `software_error` on all.
template<class Machine>
void agree_on(Machine const& m, options const& chosen) {
  m.agree("--steps", chosen.steps);
  m.agree("--layout", chosen.layout);
  m.agree("--seed", chosen.seed);
}

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts, long steps) {
  options chosen{.steps = steps};
  chosen.help = for_each_option(argc, argv, "--steps, --layout, --data, --seed, --plain or --help",
                                [&](std::string const& option, auto const& next) {
                                  if (option == "--steps") chosen.steps = whole_number(option, next(), 1);
                                  else if (option == "--layout") chosen.layout = one_of(layouts, next());
                                  else if (option == "--data") chosen.data = next();
                                  else if (option == "--seed")
                                    chosen.seed = static_cast<std::uint64_t>(whole_number(option, next(), 0));
                                  else if (option == "--plain") chosen.plain = true;
                                  else return false;
                                  return true;
                                });
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
