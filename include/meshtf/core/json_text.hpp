// Texts in JSON.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `text` between quotes, as JSON wants it.
inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
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
