// The command line of generate.cpp.
#pragma once

#include <cstdint>
#include <string>

#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/nn/sampling.hpp>

#include "options.hpp"

inline std::string usage(std::string const& size) {
  return "usage: generate_" + size +
         R"( --checkpoint DIR --prompt TEXT [--tokens N] [--temperature T] [--top-k K] [--top-p P] [--seed N]

  --checkpoint DIR   what language_model has saved there, of this size and model (its --save DIR)
  --prompt TEXT      what the text begins with
  --tokens N         how many bytes follow (default: 200)
  --temperature T    lower prefers what is likely, 0 always takes the likeliest (default: 0.8)
  --top-k K          draw from the K likeliest bytes alone (default: from all 256)
  --top-p P          draw from the fewest bytes that have this part of the probability (default: 1)
  --seed N           of the draws: another number, another text (default: 1)
  --help             this text
)";
}

struct options {
  std::string checkpoint = {};
  std::string prompt     = {};
  long tokens            = 200;
  meshtf::nn::sampling choice{.temperature = 0.8};
  std::uint64_t seed = 1;
  bool help          = false;
};

/// Errors: `usage_error` unless `text` is a number of bytes that there are.
inline long byte_count(std::string const& option, std::string const& text) {
  long const n = whole_number(option, text, 1);
  if (n > meshtf::byte_tokenizer::vocabulary)
    throw meshtf::usage_error("expected a whole number of 1 to 256 after " + option + ", got '" + text +
                              "': there are 256 bytes; for example " + option + " 20");
  return n;
}

/// All processes were given the same: otherwise each would draw ids of its own. Errors: `software_error` on
/// all.
template<class Machine>
void agree_on(Machine const& m, options const& chosen) {
  m.agree("--checkpoint", chosen.checkpoint);
  m.agree("--prompt", chosen.prompt);
  m.agree("--tokens", chosen.tokens);
  m.agree("--temperature", chosen.choice.temperature);
  m.agree("--top-k", static_cast<long>(chosen.choice.top_k));
  m.agree("--top-p", chosen.choice.top_p);
  m.agree("--seed", chosen.seed);
}

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv) {
  options chosen;
  chosen.help = for_each_option(
      argc, argv, "--checkpoint, --prompt, --tokens, --temperature, --top-k, --top-p, --seed or --help",
      [&](std::string const& option, auto const& next) {
        if (option == "--checkpoint") chosen.checkpoint = next();
        else if (option == "--prompt") chosen.prompt = next();
        else if (option == "--tokens") chosen.tokens = whole_number(option, next(), 1);
        else if (option == "--temperature")
          chosen.choice.temperature =
              real_number(option, next(), "of at least 0", "0.8", [](double t) { return t >= 0; });
        else if (option == "--top-k") chosen.choice.top_k = byte_count(option, next());
        else if (option == "--top-p")
          chosen.choice.top_p = real_number(option, next(), "above 0 and up to 1", "0.9",
                                            [](double p) { return p > 0 && p <= 1; });
        else if (option == "--seed")
          chosen.seed = static_cast<std::uint64_t>(whole_number(option, next(), 0));
        else return false;
        return true;
      });
  if (chosen.help) return chosen;
  if (chosen.checkpoint.empty())
    throw meshtf::usage_error(
        "expected --checkpoint DIR with a trained model, got none: for example "
        "--checkpoint build/checkpoint, which language_model has saved");
  if (chosen.prompt.empty())
    throw meshtf::usage_error(
        "expected --prompt TEXT of at least one byte, got none: for example --prompt 'And God said'");
  return chosen;
}
