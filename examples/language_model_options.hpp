// The command line of language_model.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

inline std::string usage(std::string const& size, long steps) {
  return "usage: language_model_" + size +
         " [--steps N] [--layout NAME] [--data FILE] [--seed N] [--every N] [--model NAME] [--save DIR]\n" +
         "       [--resume DIR] [--log DIR] [--report FILE] [--plain]\n\n" +
         "  --steps N       training steps (default: " + std::to_string(steps) +
         R"()
  --layout NAME   one layout alone (default: a few steps under each that this number of processes has,
                  then training under mixed with 4 or 8 processes, under data with 2)
  --data FILE     the text (default: build/data/kjv.txt, which examples/demo makes)
  --seed N        of the initial parameters and the order of the text (default: 1)
  --every N       a line of progress every N steps (default: the first, and each tenth of them)
  --size NAME     that of this program: other sizes are other programs
  --model NAME    gpt2 or llama, that of this program, too
  --save DIR      write a checkpoint there after each tenth of the training, and at least every 500 steps
  --resume DIR    go on from the newest checkpoint there, with the same --steps and --data; of the same
                  folder as --save, if there is one: so this command may be repeated
  --log DIR       log the loss, the rate and histograms there, for TensorBoard and as lines of JSON
  --report FILE   write a page in HTML at the end: the losses, the layouts, where the time went, the sample
  --plain         lines of progress alone, without a bar, as in a file
  --help          this text
)";
}

struct options {
  long steps;                     // the default is that of the size
  std::string layout       = {};  // empty: all
  std::string data         = "build/data/kjv.txt";
  long every               = 0;   // not given
  std::optional<long> seed = {};  // 1, or that of the checkpoint
  // empty: not
  std::string save   = {};
  std::string resume = {};
  std::string log    = {};
  std::string report = {};  // empty: none
  bool plain         = false;
  bool help          = false;
};

/// All processes were given the same: a seed or a number of steps of its own would train wrongly, and not say
/// so. Errors: `software_error` on all.
template<class Machine>
void agree_on(Machine const& m, options const& chosen) {
  m.agree("--steps", chosen.steps);
  m.agree("--layout", chosen.layout);
  m.agree("--every", chosen.every);
  m.agree("--seed", chosen.seed.value_or(-1));  // no seed is negative
  m.agree("--save", chosen.save);
  m.agree("--resume", chosen.resume);
  m.agree("--log", chosen.log);
  m.agree("--report", chosen.report);
}

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts,
                            std::string const& size, std::string const& model, long steps) {
  options chosen{steps};
  auto const folder = [](std::string const& option, std::string const& name) {
    if (name.empty())
      throw meshtf::usage_error("expected a folder after " + option + ", got '': for example " + option +
                                " build/checkpoint");
    return name;
  };
  chosen.help = for_each_option(
      argc, argv,
      "--steps, --layout, --data, --seed, --every, --size, --model, --save, --resume, --log, --report, "
      "--plain or --help",
      [&](std::string const& option, auto const& next) {
        if (option == "--steps") chosen.steps = whole_number(option, next(), 1);
        else if (option == "--layout") chosen.layout = one_of(layouts, next());
        else if (option == "--data") chosen.data = next();
        else if (option == "--seed") chosen.seed = whole_number(option, next(), 0);
        else if (option == "--every") chosen.every = whole_number(option, next(), 1);
        else if (option == "--save") chosen.save = folder(option, next());
        else if (option == "--resume") chosen.resume = folder(option, next());
        else if (option == "--log") chosen.log = folder(option, next());
        else if (option == "--report") chosen.report = next();
        else if (option == "--plain") chosen.plain = true;
        else if (option == "--size") {
          if (auto const wanted = next(); wanted != size)
            throw meshtf::usage_error(
                "expected --size " + size + ", which this program was compiled for, got '" + wanted +
                "': a size is a program of its own, which examples/demo builds: for example --size small");
        } else if (option == "--model") {
          if (auto const wanted = next(); wanted != model)
            throw meshtf::usage_error(
                "expected --model " + model + ", which this program was compiled for, got '" + wanted +
                "': a model is a program of its own, which examples/demo builds: for example --model llama");
        } else return false;
        return true;
      });
  return chosen;
}
