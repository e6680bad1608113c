// The command line of translation.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <meshtf/io/settings.hpp>

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

  static constexpr auto settings() {
    using meshtf::setting;
    using self        = options;
    auto const number = [](char const* name, long self::* member) {
      return setting{name, member}.expects(from_1, at_least<1>);
    };
    auto const text = [](char const* name, std::string self::* member) {
      return setting{name, member}.expects("a name", is_named).not_kept();
    };
    return std::tuple{number("pace", &self::pace).not_kept(),
                      number("steps", &self::steps).not_kept(),
                      number("tflop", &self::tflop).not_kept(),
                      number("minutes", &self::minutes).not_kept(),
                      setting{"compare", &self::compare}.expects(from_0, at_least<0>).not_kept(),
                      number("every", &self::every).not_kept(),
                      setting{"layout", &self::layout}.not_kept(),
                      text("folder", &self::folder),
                      text("vocabulary", &self::vocabulary),
                      text("checkpoint", &self::checkpoint),
                      text("translate", &self::translate),
                      text("to", &self::to),
                      setting{"seed", &self::seed}.expects(from_0, at_least<0>).not_kept(),
                      setting{"strict", &self::strict},
                      setting{"greedy", &self::greedy}.not_kept(),
                      setting{"plain", &self::plain}.not_kept().may_differ(),
                      setting{"help", &self::help}.not_kept()};
  }
};

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv, std::vector<std::string> const& layouts, long pace) {
  auto chosen = meshtf::read_settings(argc, argv, options{pace});
  if (!chosen.layout.empty()) one_of(layouts, chosen.layout);
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
