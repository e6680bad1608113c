// The command line of translation.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

inline std::string usage(std::string const& size, long steps, long pace) {
  return "usage: translation_" + size +
         " [--steps N] [--tflop N] [--minutes N] [--layout NAME] [--folder DIR] [--vocabulary FILE]\n" +
         "       [--checkpoint DIR] [--pace N] [--compare N] [--seed N] [--every N] [--strict] [--plain]\n" +
         "       translation_" + size +
         " --translate FILE --to FILE --checkpoint DIR [--folder DIR] [--vocabulary FILE] [--greedy]\n" +
         "       [--strict]\n\n" +
         "  --steps N       training steps; the learning rate falls towards the last one (default: " +
         std::to_string(steps) + ", if there\n                  is no --tflop)" + R"(
  --tflop N       as many steps as N teraflop pay for, counted by the ledger on all processes
  --minutes N     ends after N minutes, with a checkpoint: the same command goes on from there
  --layout NAME   one layout alone (default: with 4 processes a few steps under each, then under data)
  --folder DIR    where examples/translate has put the pairs (default: build/data/translation/default)
  --vocabulary FILE  SentencePiece's model (default: joint.model in the folder)
  --checkpoint DIR   goes on from the newest checkpoint there, if there is one, and saves there; the one of
                  the least loss on dev.tsv goes to DIR/best
  --pace N        the loss on dev.tsv and a checkpoint every N steps (default: )" +
         std::to_string(pace) + R"()
  --compare N     steps under each layout before a training begins, 0 for none (default: 5)
  --seed N        of the initial parameters, dropout and the order of the pairs (default: 1)
  --every N       a line of progress every N steps (default: the first, and each tenth of them)
  --translate FILE   translates a sentence a line, with the parameters in DIR/best
  --to FILE       where the translations go, a line each
  --greedy        the most probable next piece at a time, as the size tiny does it, instead of beam search
                  with 4 hypotheses
  --strict        refuses a sentence that is too long, which is cut otherwise
  --plain         lines of progress alone, without a bar, as in a file
  --help          this text
)";
}

struct options {
  long pace;                     // the default is that of the size
  long steps               = 0;  // 0: not given
  long tflop               = 0;
  long minutes             = 0;
  long compare             = 5;
  long every               = 0;
  std::string layout       = {};  // empty: all
  std::string folder       = "build/data/translation/default";
  std::string vocabulary   = {};  // empty: joint.model in the folder
  std::string checkpoint   = {};  // empty: none
  std::string translate    = {};  // empty: trains
  std::string to           = {};
  std::optional<long> seed = {};  // 1, or that of the checkpoint
  bool strict              = false;
  bool greedy              = false;
  bool plain               = false;
  bool help                = false;
};

/// All processes were given the same. Errors: `software_error` on all.
template<class Machine>
void agree_on(Machine const& m, options const& chosen) {
  m.agree("--steps", chosen.steps);
  m.agree("--tflop", chosen.tflop);
  m.agree("--minutes", chosen.minutes);
  m.agree("--compare", chosen.compare);
  m.agree("--pace", chosen.pace);
  m.agree("--every", chosen.every);
  m.agree("--layout", chosen.layout);
  m.agree("--folder", chosen.folder);
  m.agree("--vocabulary", chosen.vocabulary);
  m.agree("--checkpoint", chosen.checkpoint);
  m.agree("--translate", chosen.translate);
  m.agree("--to", chosen.to);
  m.agree("--seed", chosen.seed.value_or(-1));  // no seed is negative
  m.agree("--strict", static_cast<long>(chosen.strict));
  m.agree("--greedy", static_cast<long>(chosen.greedy));
}

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts, long pace) {
  options chosen{pace};
  auto const named = [](std::string const& option, std::string const& name) {
    if (name.empty())
      throw meshtf::usage_error("expected a name after " + option + ", got '': for example " + option +
                                " build/translation");
    return name;
  };
  chosen.help = for_each_option(
      argc, argv,
      "--steps, --tflop, --minutes, --layout, --folder, --vocabulary, --checkpoint, --pace, --compare, "
      "--seed, --every, --translate, --to, --greedy, --strict, --plain or --help",
      [&](std::string const& option, auto const& next) {
        if (option == "--steps") chosen.steps = whole_number(option, next(), 1);
        else if (option == "--tflop") chosen.tflop = whole_number(option, next(), 1);
        else if (option == "--minutes") chosen.minutes = whole_number(option, next(), 1);
        else if (option == "--layout") chosen.layout = one_of(layouts, next());
        else if (option == "--folder") chosen.folder = named(option, next());
        else if (option == "--vocabulary") chosen.vocabulary = named(option, next());
        else if (option == "--checkpoint") chosen.checkpoint = named(option, next());
        else if (option == "--pace") chosen.pace = whole_number(option, next(), 1);
        else if (option == "--compare") chosen.compare = whole_number(option, next(), 0);
        else if (option == "--seed") chosen.seed = whole_number(option, next(), 0);
        else if (option == "--every") chosen.every = whole_number(option, next(), 1);
        else if (option == "--translate") chosen.translate = named(option, next());
        else if (option == "--to") chosen.to = named(option, next());
        else if (option == "--strict") chosen.strict = true;
        else if (option == "--greedy") chosen.greedy = true;
        else if (option == "--plain") chosen.plain = true;
        else return false;
        return true;
      });
  if (chosen.vocabulary.empty()) chosen.vocabulary = chosen.folder + "/joint.model";
  if (chosen.translate.empty() != chosen.to.empty())
    throw meshtf::usage_error(
        std::string{"expected --translate FILE and --to FILE together, got one of them: "} +
        "for example --translate held_out.en --to held_out.fr");
  if (!chosen.translate.empty() && chosen.checkpoint.empty())
    throw meshtf::usage_error(
        "expected --checkpoint DIR with --translate, got none: name the folder that the training saved in");
  return chosen;
}
