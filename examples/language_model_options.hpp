// The command line of language_model.cpp.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <meshtf/io/settings.hpp>

#include "options.hpp"

inline std::string usage(std::string const& size, long steps) {
  return "usage: language_model_" + size +
         " [--steps N] [--layout NAME] [--data FILE] [--seed N] [--every N] [--model NAME] [--sums NAME]\n" +
         "       [--save DIR] [--resume DIR] [--log DIR] [--report FILE] [--write N] [--plain]\n\n" +
         "  --steps N       training steps (default: " + std::to_string(steps) +
         R"()
  --layout NAME   one layout alone (default: a few steps under each that this number of processes has,
                  then training under mixed with 4 or 8 processes, under data with 2)
  --data FILE     the text (default: build/data/kjv.txt, which examples/demo makes); a thread reads the next
                  batch while a step is taken
  --seed N        of the initial parameters and the order of the text (default: 1)
  --every N       a line of progress every N steps (default: the first, and each tenth of them)
  --size NAME     that of this program: other sizes are other programs
  --model NAME    gpt2 or llama, that of this program, too
  --sums NAME     as what gradients travel between processes: float32, or bfloat16 in half of the bytes
                  (default: float32)
  --save DIR      write a checkpoint there after each tenth of the training, and at least every 500 steps
  --resume DIR    go on from the newest checkpoint there, with the same --steps and --data; of the same
                  folder as --save, if there is one: so this command may be repeated
  --log DIR       log the loss, the rate and histograms there, for TensorBoard and as lines of JSON
  --report FILE   write a page in HTML at the end: the losses, the layouts, where the time went, the sample
  --write N       how many bytes the model writes at the end, each from a pass (default: 300)
  --plain         lines of progress alone, without a bar, as in a file
  --help          this text
)";
}

inline bool is_name_of_sums(std::string const& name) { return name == "float32" || name == "bfloat16"; }

struct options {
  long steps;                     // the default is that of the size
  std::string size;               // that of the program
  std::string model;              // that of the program
  std::string layout       = {};  // empty: all
  std::string sums         = "float32";
  std::string data         = "build/data/kjv.txt";
  long every               = 0;   // not given
  std::optional<long> seed = {};  // 1, or that of the checkpoint
  // empty: not
  std::string save   = {};
  std::string resume = {};
  std::string log    = {};
  std::string report = {};  // empty: none
  long write         = 300;
  bool plain         = false;
  bool help          = false;

  static constexpr auto settings() {
    using meshtf::setting;
    using self = options;
    return std::tuple{setting{"steps", &self::steps}.expects(from_1, at_least<1>),
                      setting{"size", &self::size}.must_match(),
                      setting{"model", &self::model}.must_match(),
                      setting{"layout", &self::layout}.not_kept(),
                      setting{"sums", &self::sums}.expects("float32 or bfloat16", is_name_of_sums).not_kept(),
                      setting{"data", &self::data}.may_differ(),
                      setting{"every", &self::every}.expects(from_1, at_least<1>).not_kept(),
                      setting{"seed", &self::seed}.expects(from_0, at_least<0>).not_kept(),
                      setting{"save", &self::save}.expects("a folder", is_named).not_kept(),
                      setting{"resume", &self::resume}.expects("a folder", is_named).not_kept(),
                      setting{"log", &self::log}.expects("a folder", is_named).not_kept(),
                      setting{"report", &self::report}.not_kept(),
                      setting{"write", &self::write}.expects(from_0, at_least<0>).not_kept(),
                      setting{"plain", &self::plain}.not_kept().may_differ(),
                      setting{"help", &self::help}.not_kept()};
  }
};

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts,
                            std::string const& size, std::string const& model, long steps) {
  auto const chosen = meshtf::read_settings(argc, argv, options{steps, size, model});
  if (!chosen.layout.empty()) one_of(layouts, chosen.layout);
  if (chosen.size != size)
    throw meshtf::usage_error(
        "expected --size " + size + ", which this program was compiled for, got '" + chosen.size +
        "': a size is a program of its own, which examples/demo builds: for example --size small");
  if (chosen.model != model)
    throw meshtf::usage_error(
        "expected --model " + model + ", which this program was compiled for, got '" + chosen.model +
        "': a model is a program of its own, which examples/demo builds: for example --model llama");
  return chosen;
}
