// The command line of generate.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>

#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/io/settings.hpp>
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
  double temperature     = 0.8;
  int top_k              = meshtf::byte_tokenizer::vocabulary;
  double top_p           = 1;
  std::uint64_t seed     = 1;
  bool help              = false;

  meshtf::nn::sampling choice() const { return {.temperature = temperature, .top_k = top_k, .top_p = top_p}; }

  static constexpr auto settings() {
    using meshtf::setting;
    using self          = options;
    auto const is_count = [](int const& n) { return n >= 1 && n <= meshtf::byte_tokenizer::vocabulary; };
    auto const is_part  = [](double const& p) { return p > 0 && p <= 1; };
    auto const is_warm  = [](double const& t) { return t >= 0 && std::isfinite(t); };
    return std::tuple{setting{"checkpoint", &self::checkpoint},
                      setting{"prompt", &self::prompt},
                      setting{"tokens", &self::tokens}.expects(from_1, at_least<1>),
                      setting{"temperature", &self::temperature}.expects("a number of at least 0", is_warm),
                      setting{"top-k", &self::top_k}.expects("a whole number of 1 to 256 bytes", is_count),
                      setting{"top-p", &self::top_p}.expects("a number above 0 and up to 1", is_part),
                      setting{"seed", &self::seed}.expects(from_0, at_least<0, std::uint64_t>),
                      setting{"help", &self::help}};
  }
};

/// Errors: `usage_error`, on every process alike.
inline options read_options(int argc, char** argv) {
  auto const chosen = meshtf::read_settings<options>(argc, argv);
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
