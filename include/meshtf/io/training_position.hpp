// The position of a training: what a checkpoint and a log know of how far it has come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include <unistd.h>

#include <meshtf/core/error.hpp>
#endif

namespace meshtf {
inline namespace v0 {

/// How far training has come: `step` steps are done, so the next batch is number `step`, counted from 0, in
/// the order that `seed` gives.
///
/// `run` is the identity of the training, by which its log knows it. `log_to` makes it, `save` writes it into
/// the checkpoint, and `load` gives it back; it is 0 if the training has no log.
///
/// `vocabulary` is the hash of the vocabulary that the ids are of (`sentencepiece_tokenizer::hash`), for the
/// program to compare: 0 where there is none, or the file names none.
struct training_position {
  std::uint64_t step       = 0;
  std::uint64_t seed       = 0;
  std::uint64_t run        = 0;
  std::uint64_t vocabulary = 0;

  friend constexpr bool operator==(training_position const&, training_position const&) = default;
};

namespace detail {

/// The key of the identity, in the metadata of a checkpoint and as the name in the first line of a log.
inline constexpr char const* run_key = "run";

/// A random number that no other training has, which is not 0.
std::uint64_t new_run();

/// As 16 hexadecimal digits.
std::string spelled_run(std::uint64_t run);

/// The identity in such a text; nothing if the text is another one, or 0.
std::optional<std::uint64_t> parsed_run(std::string_view text);

#if MESHTF_DEFINES_RUNTIME

inline constexpr std::size_t digits_of_run = 16;

MESHTF_DEFINE std::uint64_t new_run() {
  std::uint64_t run = 0;
  while (run == 0)
    if (::getentropy(&run, sizeof run) != 0)
      throw unavailable("the system gave no random number for the identity of a training: " +
                        std::string{std::strerror(errno)});
  return run;
}

MESHTF_DEFINE std::string spelled_run(std::uint64_t run) {
  char digits[digits_of_run];
  auto const n =
      static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, run, 16).ptr - digits);
  return std::string(sizeof digits - n, '0') + std::string{digits, n};
}

MESHTF_DEFINE std::optional<std::uint64_t> parsed_run(std::string_view text) {
  std::uint64_t run          = 0;
  char const* const end      = text.data() + text.size();
  auto const [stop, failure] = std::from_chars(text.data(), end, run, 16);
  if (text.size() != digits_of_run || failure != std::errc{} || stop != end || run == 0) return std::nullopt;
  return run;
}

#endif

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
