// What a file of SentencePiece must be like before the library reads it: the library trusts its tables, and
// ends the program on some that are wrong (google/sentencepiece issues 1263 and 1308).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>

namespace meshtf {
inline namespace v0 {

/// The most bytes that a vocabulary's file may have.
inline constexpr extent largest_vocabulary_file = extent{1} << 26;

namespace detail {

/// The most bytes of a piece: the library recurses once for each.
inline constexpr std::size_t longest_piece = 4096;

/// Checks the bytes of a model from its first to its last: the lengths of the protocol buffer, each piece,
/// and each index in the tables of the normalizer.
///
/// Returns how many pieces there are. Errors: `data_error` names the file, what is wrong, and where.
extent check_piece_model(std::string const& path, std::string_view bytes);

#if MESHTF_DEFINES_RUNTIME

/// Reads a protocol buffer, field by field.
class wire_reader {
public:
  struct field {
    std::uint64_t number = 0;
    unsigned kind        = 0;  // 0: a number, 2: bytes, 1 and 5: 8 and 4 bytes
    std::uint64_t value  = 0;
    std::string_view content;
  };

  wire_reader(std::string const& path, std::string_view bytes, std::size_t offset)
      : path_{path}, bytes_{bytes}, offset_{offset} {}

  std::string const& path() const { return path_; }
  bool done() const { return at_ == bytes_.size(); }

  /// Where in the file the next field begins.
  std::size_t place() const { return offset_ + at_; }

  field next() {
    auto const key = number();
    field f{.number = key >> 3, .kind = static_cast<unsigned>(key & 7), .value = 0, .content = {}};
    switch (f.kind) {
      case 0: f.value = number(); break;
      case 1: f.content = take(8); break;
      case 2: f.content = take(number()); break;
      case 5: f.content = take(4); break;
      default: refuse("a field of a kind that protocol buffers lack");
    }
    return f;
  }

  [[noreturn]] void refuse(std::string const& what) const {
    throw data_error("expected " + path_ + " to be a model of SentencePiece, got " + what + " before byte " +
                     std::to_string(place()) +
                     ": train it with spm_train, or copy it anew from where it was trained");
  }

private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      auto const byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    refuse("a number of more than 64 bits");
  }

  std::string_view take(std::uint64_t n) {
    if (n > bytes_.size() - at_) refuse("a field that is longer than what is left");
    auto const taken = bytes_.substr(at_, static_cast<std::size_t>(n));
    at_ += taken.size();
    return taken;
  }

  std::string const& path_;
  std::string_view bytes_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

/// The number that four bytes are, the lowest first.
MESHTF_DEFINE std::uint32_t word_of(std::string_view bytes, std::size_t index) {
  std::uint32_t word = 0;
  for (unsigned k = 0; k < 4; ++k)
    word |= std::uint32_t{static_cast<unsigned char>(bytes[4 * index + k])} << 8 * k;
  return word;
}

/// A normalizer's rules: the bytes of a trie as a double array (darts-clone), preceded by how many they are,
/// and then the texts that its leaves point to. From unit i the library goes to the units
/// (i ^ offset) ^ byte, for any byte, and reads the text of a leaf to its zero.
MESHTF_DEFINE void check_normalizer(wire_reader const& file, std::string_view rules) {
  if (rules.empty()) return;
  std::size_t const size = rules.size() < 4 ? 0 : word_of(rules, 0);
  if (size == 0 || size % 4 != 0 || size >= rules.size() - 4)
    file.refuse("rules of the normalizer whose trie has no such size");
  auto const trie  = rules.substr(4, size);
  auto const texts = rules.substr(4 + size);
  if (texts.back() != '\0') file.refuse("rules of the normalizer that do not end with a zero");
  std::size_t const units = size / 4;
  for (std::size_t i = 0; i < units; ++i) {
    std::uint32_t const unit = word_of(trie, i);
    if (i != 0 && unit >> 31 != 0) continue;  // a leaf's value: no byte leads on from it
    std::size_t const next = i ^ (std::size_t{unit >> 10} << ((unit & 0x200U) >> 6));
    if ((next | 0xff) >= units) file.refuse("rules of the normalizer that lead out of their trie");
    if ((unit & 0x100U) != 0 && (word_of(trie, next) & 0x7fffffffU) >= texts.size())
      file.refuse("rules of the normalizer that lead out of their texts");
  }
}

MESHTF_DEFINE void check_piece(wire_reader const& file, std::string_view content, std::size_t offset) {
  wire_reader piece{file.path(), content, offset};
  std::string_view text;
  while (!piece.done()) {
    auto const f = piece.next();
    if (f.number == 1) text = f.content;
    if (f.number == 3 && (f.kind != 0 || f.value < 1 || f.value > 6)) file.refuse("a piece of no known type");
  }
  if (text.empty()) file.refuse("a piece without text");
  if (text.size() > longest_piece) file.refuse("a piece of " + std::to_string(text.size()) + " bytes");
  if (text.find('\0') != std::string_view::npos) file.refuse("a piece with a zero in it");
}

MESHTF_DEFINE extent check_piece_model(std::string const& path, std::string_view bytes) {
  wire_reader file{path, bytes, 0};
  if (std::cmp_greater(bytes.size(), largest_vocabulary_file))
    file.refuse(std::to_string(bytes.size()) + " bytes");
  extent pieces = 0;
  while (!file.done()) {
    auto const f = file.next();
    if (f.number >= 1 && f.number <= 5 && f.kind != 2) file.refuse("a part that is no message");
    auto const begins = file.place() - f.content.size();
    if (f.number == 1) {
      check_piece(file, f.content, begins);
      ++pieces;
    } else if (f.number == 3 || f.number == 5) {
      wire_reader normalizer{path, f.content, begins};
      while (!normalizer.done())
        if (auto const rule = normalizer.next(); rule.number == 2 && rule.kind == 2)
          check_normalizer(file, rule.content);
    }
  }
  if (pieces == 0) file.refuse("a file without pieces");
  return pieces;
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
