// Safetensors files: named arrays after a header in JSON, as Python's package safetensors reads and writes
// them.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/json_text.hpp>
#include <meshtf/runtime/one_program.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstdio>
#include <memory>
#include <new>

#include <jansson.h>
#if MESHTF_WITH_ZLIB
#include <zlib.h>
#endif
#endif

namespace meshtf {
inline namespace v0 {

/// An array in a safetensors file: the name of its element type ("F32"), its shape, and where its row-major
/// elements begin and end, in bytes after the header.
struct safetensors_array {
  std::string type;
  std::vector<extent> extents;
  std::uint64_t begin = 0;
  std::uint64_t end   = 0;
};

/// The header of a safetensors file: its arrays and metadata.
struct safetensors_header {
  std::map<std::string, safetensors_array> arrays;
  std::map<std::string, std::string> metadata;
};

/// The name of an element type in a safetensors file.
constexpr std::string_view safetensors_type(element e) { return facts_of(e).safetensors; }

namespace detail {

/// The longest header that is accepted unless the reader of a file sets another limit: 100,000 arrays with
/// names of 100 characters. A parsed header takes 20 times its length in memory, and a malicious one 80
/// times, so the 100 MB that Python's package allows would take gigabytes before anything is known about the
/// file.
inline constexpr std::uint64_t longest_header = std::uint64_t{16} << 20;

/// The only element type of which not all bits are values.
inline constexpr std::string_view type_of_bools = safetensors_type(element_of<bool>);

/// The bytes of an element of this type; 0 for an unknown type.
constexpr std::uint64_t bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, std::uint64_t> known[]{
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2},
      {"I16", 2}, {"U16", 2}, {"BF16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  for (auto const& [name, bytes] : known)
    if (name == type) return bytes;
  return 0;
}

/// Text from a file for use in a message: shortened, on one line.
std::string spelled_text(std::string_view text);

/// "F32 [256, 128]"
std::string spelled_array(safetensors_array const& array);

/// The header's text; also sets the places of `arrays`, which follow the header one after the other. Padded
/// with spaces, so that the arrays begin at a multiple of 8 bytes.
std::string safetensors_header_text(std::vector<std::pair<std::string, std::string>> const& metadata,
                                    std::vector<std::pair<std::string, safetensors_array>>& arrays);

/// `without_zlib` replaces the checksum where none could be computed.
inline constexpr std::string_view checksum_key = "\"crc32\":\"";
inline constexpr std::string_view no_checksum  = "00000000";
inline constexpr std::string_view without_zlib = "none";

/// The metadata of our checkpoints give their format, which begins with this.
inline constexpr std::string_view our_format = "meshtf ";

/// The key of that mark in files for others' programs, some of which want a format of their own.
inline constexpr char const* our_mark = "written_by";

/// Whether the metadata have our mark. What another program calls "step", "crc32" or "not_finite" means
/// something else.
bool is_ours(safetensors_header const& header);

/// The checksum of a file, stored in its metadata. It covers the header, with zeros in the place of the
/// checksum, and all arrays. Without zlib there is none.
class checksum {
public:
  void add(void const* bytes, std::size_t n);
  std::string text() const;

private:
  unsigned long sum_ = 0;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string spelled_text(std::string_view text) {
  std::string line{text.substr(0, 100)};
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return line.size() < text.size() ? line + "..." : line;
}

MESHTF_DEFINE bool is_ours(safetensors_header const& header) {
  for (char const* const key : {"format", our_mark})
    if (auto const mark = header.metadata.find(key);
        mark != header.metadata.end() && mark->second.starts_with(our_format))
      return true;
  return false;
}

MESHTF_DEFINE std::string spelled_array(safetensors_array const& array) {
  std::string text;
  for (auto n : array.extents) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return spelled_text(array.type) + " [" + text + "]";
}

struct releases_json {
  void operator()(json_t* value) const { json_decref(value); }
};
using json = std::unique_ptr<json_t, releases_json>;

MESHTF_DEFINE json made(json_t* value) {
  if (value == nullptr) throw std::bad_alloc{};
  return json{value};
}

/// jansson has refused a text: it is no UTF-8, or memory ran out.
[[noreturn]] MESHTF_DEFINE void throw_refused_text(std::string const& place, std::string const& text) {
  if (in_utf8(text) == text) throw std::bad_alloc{};
  throw software_error("expected UTF-8 text " + place + " a safetensors file, got '" + spelled_text(text) +
                       "'");
}

// Both take ownership even if they fail.
MESHTF_DEFINE void put(json_t* object, std::string const& key, json value) {
  if (json_object_set_new(object, key.c_str(), value.release()) != 0) throw_refused_text("as a name in", key);
}
MESHTF_DEFINE void append(json_t* list, json value) {
  if (json_array_append_new(list, value.release()) != 0) throw std::bad_alloc{};
}

/// As JSON in one line. jansson's own buffer would lose bytes where memory runs out: it looks at the result
/// of some of its writes only.
MESHTF_DEFINE std::string dumped(json_t const* value) {
  struct target {
    std::string text;
    bool fits = true;
  } to;
  auto const add = [](char const* bytes, std::size_t n, void* data) {
    auto& [text, fits] = *static_cast<target*>(data);
    try {
      text.append(bytes, n);
    } catch (std::bad_alloc const&) {
      fits = false;
    }
    return fits ? 0 : -1;
  };
  if (json_dump_callback(value, add, &to, JSON_COMPACT | JSON_PRESERVE_ORDER) != 0 || !to.fits)
    throw std::bad_alloc{};
  return std::move(to.text);
}

MESHTF_DEFINE json integers(std::vector<std::uint64_t> const& numbers) {
  auto array = made(json_array());
  for (auto n : numbers) append(array.get(), made(json_integer(static_cast<json_int_t>(n))));
  return array;
}

MESHTF_DEFINE std::string safetensors_header_text(
    std::vector<std::pair<std::string, std::string>> const& metadata,
    std::vector<std::pair<std::string, safetensors_array>>& arrays) {
  auto const root = made(json_object());
  auto about      = made(json_object());
  for (auto const& [key, value] : metadata) {
    json text{json_string(value.c_str())};
    if (!text) throw_refused_text("in the metadata of", value);
    put(about.get(), key, std::move(text));
  }
  put(root.get(), "__metadata__", std::move(about));
  std::uint64_t at = 0;
  for (auto& [name, array] : arrays) {
    std::vector<std::uint64_t> const shape(array.extents.begin(), array.extents.end());
    std::uint64_t bytes = bytes_of_type(array.type);
    for (auto n : shape) bytes *= n;
    array.begin = std::exchange(at, at + bytes);
    array.end   = at;
    auto entry  = made(json_object());
    put(entry.get(), "dtype", made(json_string(array.type.c_str())));
    put(entry.get(), "shape", integers(shape));
    put(entry.get(), "data_offsets", integers({array.begin, array.end}));
    put(root.get(), name, std::move(entry));
  }
  std::string text = dumped(root.get());
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

MESHTF_DEFINE void checksum::add([[maybe_unused]] void const* bytes, [[maybe_unused]] std::size_t n) {
#if MESHTF_WITH_ZLIB
  sum_ = crc32_z(sum_, static_cast<unsigned char const*>(bytes), n);
#endif
}

MESHTF_DEFINE std::string checksum::text() const {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx", sum_);
  return digits;
}

#endif

}  // namespace detail

}  // namespace v0
}  // namespace meshtf

#endif
