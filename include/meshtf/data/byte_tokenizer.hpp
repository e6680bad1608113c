// The byte tokenizer: every byte of a text is a token, and its value is its id.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/data/tokenizer.hpp>

namespace meshtf {
inline namespace v0 {

/// Converts text to ids and back. It can represent every text and needs no training: a character outside
/// ASCII becomes several tokens.
///
///     struct vocab : meshtf::dim<meshtf::byte_tokenizer::vocabulary> {};
struct byte_tokenizer {
  static constexpr extent vocabulary = 256;
  static constexpr extent vocabulary_size() { return vocabulary; }

  /// There is one vocabulary of bytes: the FNV-1a hash of "byte_tokenizer".
  static constexpr std::uint64_t hash() { return 0x544a5f8eb7d3e1f3; }

  /// From 0 to 255, whether or not `char` is signed.
  static constexpr std::int32_t id_of(char byte) { return static_cast<unsigned char>(byte); }

  static std::vector<std::int32_t> encode(std::string_view text);

  /// Errors: `data_error` if an id is not a byte.
  static std::string decode(std::span<std::int32_t const> ids);
};
static_assert(Tokenizer<byte_tokenizer>);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::vector<std::int32_t> byte_tokenizer::encode(std::string_view text) {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (char const byte : text) ids.push_back(id_of(byte));
  return ids;
}

MESHTF_DEFINE std::string byte_tokenizer::decode(std::span<std::int32_t const> ids) {
  std::string text;
  text.reserve(ids.size());
  for (auto const id : ids) {
    if (id < 0 || id >= vocabulary)
      throw data_error("expected ids from 0 to " + std::to_string(vocabulary - 1) + ", got " +
                       std::to_string(id) + " as number " + std::to_string(text.size()) +
                       ": they are no bytes, decode them with the vocabulary that they are of");
    text.push_back(static_cast<char>(static_cast<unsigned char>(id)));
  }
  return text;
}

#endif

}  // namespace v0
}  // namespace meshtf
