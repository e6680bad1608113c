// Texts in JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// How many bytes at the beginning of `text` are one character of UTF-8; 0 if none is there.
/// Source: table 3-7 of the Unicode standard: no byte sequence is longer than it must be, and no character is
/// half of a pair of UTF-16.
constexpr std::size_t bytes_of_character(std::string_view text) {
  auto const byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto const follows    = [&byte](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  unsigned const first  = byte(0);
  unsigned const second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xc2 || first > 0xf4 || !follows(1)) return 0;
  if (first < 0xe0) return 2;
  if (!follows(2) || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if (first < 0xf0) return 3;
  bool const exists = !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return exists && follows(3) ? 4 : 0;
}

/// `text` in UTF-8: bytes that are none are written as "\xff", as Python's backslashreplace does.
inline std::string in_utf8(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    std::size_t const n = bytes_of_character(text);
    if (n == 0) {
      auto const byte = static_cast<unsigned char>(text[0]);
      (out += "\\x") += {digits[byte >> 4], digits[byte & 15]};
    } else out += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

/// `text` between quotes, as JSON wants it, which is in UTF-8.
inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char const c : in_utf8(text)) {
    char code[8];
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else out += c;
  }
  return out += '"';
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
