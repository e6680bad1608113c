// Reads safetensors files, and checks what their headers say.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/elements.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/file_lock.hpp>
#include <meshtf/io/safetensors.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

struct json_t;  // of jansson, which only definitions need

namespace meshtf {
inline namespace v0 {

/// A safetensors file that is read array by array. Everything in its header is checked before the first array
/// is read.
///
/// Errors: `no_input` if the file can't be read, `data_error` if its content violates the format. Both name
/// the file; `remedy` says what to do about a damaged one.
/// Source: the format is described at https://github.com/huggingface/safetensors.
class safetensors_reader {
public:
  /// A header of more than `longest` bytes is refused before it is read.
  explicit safetensors_reader(std::string path, std::string remedy = "fetch it again",
                              std::uint64_t longest = detail::longest_header);

  std::string const& path() const { return path_; }
  safetensors_header const& header() const { return header_; }
  /// Where in the file the elements of an array begin.
  std::uint64_t byte_of(safetensors_array const& array) const { return data_ + array.begin; }

  /// From now on, each array has the name new_name(its old name); one whose new name is empty is left out.
  /// Errors: `data_error` if two arrays get one name.
  template<class F>
  void rename_arrays(F const& new_name) {
    std::map<std::string, safetensors_array> renamed;
    for (auto const& [name, array] : header_.arrays)
      if (std::string to = new_name(name); !to.empty() && !renamed.emplace(to, array).second)
        throw_two_of_one_name(to, name);
    header_.arrays = std::move(renamed);
  }

  /// Reads all elements of `array`, which must be in the header, into an array of its size.
  /// Errors: `data_error` if a byte of a BOOL is neither 0 nor 1: a bool of such bits is both and neither. Of
  /// the other element types all bits are values.
  void read(safetensors_array const& array, void* into) const {
    read_at(data_ + array.begin, into, array.end - array.begin);
    if (array.type == detail::type_of_bools) check_bools(array, 0, into, array.end - array.begin);
  }

  /// The elements of the array `name`, row-major. Errors: `data_error` if the file has no such array, or if
  /// it has another element type.
  template<Element T>
  std::vector<T> read(std::string const& name) const {
    safetensors_array const& array = array_of(name, element_of<T>);
    auto const n                   = (array.end - array.begin) / sizeof(T);
    if constexpr (std::is_same_v<T, bool>) {  // whose vector has no elements to read into
      detail::elements<bool> whole{n};
      read(array, whole.data());
      return std::vector<T>(whole.data(), whole.data() + n);
    } else {
      std::vector<T> whole(n);
      read(array, whole.data());
      return whole;
    }
  }

  /// Reads the whole file and compares its checksum, which `safetensors_writer` has stored if it had zlib, if
  /// its metadata say that it is ours ("format": "meshtf ..."): one that lacks it has lost it. Looks at the
  /// bytes of BOOLs, too. Errors: `data_error`.
  void verify() const;

private:
  [[noreturn]] void throw_unreadable(int reason) const;
  [[noreturn]] void throw_two_of_one_name(std::string const& name, std::string const& second) const;
  [[noreturn]] void throw_damaged(std::string const& expected, std::string const& actual) const;
  void read_at(std::uint64_t at, void* into, std::uint64_t n) const;
  /// Looks at n elements of an array of BOOLs, which begin with element `first`.
  void check_bools(safetensors_array const& array, std::uint64_t first, void const* bytes,
                   std::uint64_t n) const;
  void verify_bools() const;
  void verify_checksum() const;
  /// Fills `header_` from `text_`.
  void parse(std::uint64_t bytes);
  void parse_metadata(json_t* value);
  safetensors_array parsed_array(std::string const& name, json_t* entry) const;
  /// The array of this name and element type. Errors: as those of `read`.
  safetensors_array const& array_of(std::string const& name, element type) const;

  std::string path_;
  std::string remedy_;
  detail::file_descriptor file_;
  std::string text_;
  safetensors_header header_;
  std::uint64_t data_ = 0;
  std::uint64_t size_ = 0;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE safetensors_reader::safetensors_reader(std::string path, std::string remedy,
                                                     std::uint64_t longest)
    : path_{std::move(path)},
      remedy_{std::move(remedy)},
      file_{path_, O_RDONLY | O_NONBLOCK} {  // a pipe would wait for a writer
  static_assert(std::endian::native == std::endian::little,
                "meshtf: safetensors files are little-endian, and this machine is not");
  struct stat about{};
  if (!file_ || fstat(file_.number(), &about) != 0) throw_unreadable(errno);
  if (!S_ISREG(about.st_mode))
    throw no_input("expected to read the file " + path_ + ", got something that is not a file");
  auto const size = static_cast<std::uint64_t>(about.st_size);

  std::array<unsigned char, 8> start{};
  if (size < start.size())
    throw_damaged("a header after 8 bytes with its length", std::to_string(size) + " bytes in all");
  read_at(0, start.data(), start.size());
  std::uint64_t length = 0;
  for (std::size_t i = start.size(); i-- > 0;) length = length << 8 | start[i];
  if (length > longest)
    throw_damaged("a header of at most " + std::to_string(longest) + " bytes",
                  "one of " + std::to_string(length));
  if (length > size - 8)
    throw_damaged("a header of " + std::to_string(length) + " bytes", std::to_string(size) + " bytes in all");
  text_.resize(length);
  read_at(8, text_.data(), length);
  data_ = 8 + length;
  parse(size - data_);
}

MESHTF_DEFINE safetensors_array const& safetensors_reader::array_of(std::string const& name,
                                                                    element type) const {
  auto const found = header_.arrays.find(name);
  if (found == header_.arrays.end())
    throw data_error("expected an array '" + name + "' in " + path_ + ", got none of that name");
  safetensors_array const& array = found->second;
  if (array.type != safetensors_type(type))
    throw data_error("expected '" + name + "' in " + path_ + " to hold " +
                     std::string{safetensors_type(type)} + ", got " + detail::spelled_array(array));
  return array;
}

MESHTF_DEFINE void safetensors_reader::verify() const {
  verify_checksum();
  verify_bools();
}

MESHTF_DEFINE void safetensors_reader::check_bools(safetensors_array const& array, std::uint64_t first,
                                                   void const* bytes, std::uint64_t n) const {
  auto const* const b   = static_cast<unsigned char const*>(bytes);
  auto const* const bad = std::find_if(b, b + n, [](unsigned char byte) { return byte > 1; });
  if (bad == b + n) return;
  auto const name = std::find_if(header_.arrays.begin(), header_.arrays.end(),
                                 [&array](auto const& entry) { return entry.second.begin == array.begin; });
  throw_damaged(
      "bytes of 0 or 1 in the array '" +
          (name == header_.arrays.end() ? "" : detail::spelled_text(name->first)) + "', " +
          detail::spelled_array(array),
      std::to_string(*bad) + " as element " + std::to_string(first + static_cast<std::uint64_t>(bad - b)));
}

MESHTF_DEFINE void safetensors_reader::verify_bools() const {
  std::vector<unsigned char> piece;
  for (auto const& [name, array] : header_.arrays) {
    if (array.type != detail::type_of_bools) continue;
    piece.resize(std::size_t{1} << 20);
    for (std::uint64_t at = array.begin; at < array.end; at += piece.size()) {
      auto const n = std::min<std::uint64_t>(piece.size(), array.end - at);
      read_at(data_ + at, piece.data(), n);
      check_bools(array, at - array.begin, piece.data(), n);
    }
  }
}

MESHTF_DEFINE void safetensors_reader::verify_checksum() const {
  if (!detail::is_ours(header_)) return;
  auto const expected = header_.metadata.find("crc32");
  if (expected == header_.metadata.end()) throw_damaged("a checksum, 'crc32' in its metadata", "none");
  if (expected->second == detail::without_zlib) return;
#if MESHTF_WITH_ZLIB
  std::string header = text_;
  if (auto const at = header.find(detail::checksum_key);
      at != header.npos && expected->second.size() == detail::no_checksum.size())
    header.replace(at + detail::checksum_key.size(), detail::no_checksum.size(), detail::no_checksum);
  detail::checksum sum;
  sum.add(header.data(), header.size());
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::uint64_t at = data_, end = data_ + size_; at < end;) {
    auto const n = std::min<std::uint64_t>(piece.size(), end - at);
    read_at(at, piece.data(), n);
    sum.add(piece.data(), n);
    at += n;
  }
  if (sum.text() != expected->second)
    throw_damaged("the checksum " + detail::spelled_text(expected->second) + ", which its header names",
                  sum.text());
#endif
}

[[noreturn]] MESHTF_DEFINE void safetensors_reader::throw_unreadable(int reason) const {
  throw no_input("expected to read the file " + path_ + ", got: " + std::strerror(reason));
}

[[noreturn]] MESHTF_DEFINE void safetensors_reader::throw_two_of_one_name(std::string const& name,
                                                                          std::string const& second) const {
  throw data_error("expected the arrays of " + path_ +
                   " to be renamed to different names, got two that become '" + detail::spelled_text(name) +
                   "', the second of them '" + detail::spelled_text(second) +
                   "': rename it to something else, or to \"\", which leaves it out");
}

[[noreturn]] MESHTF_DEFINE void safetensors_reader::throw_damaged(std::string const& expected,
                                                                  std::string const& actual) const {
  throw data_error("expected " + path_ + " to have " + expected + ", got " + actual +
                   ": the file is damaged or of another kind, " + remedy_);
}

MESHTF_DEFINE void safetensors_reader::read_at(std::uint64_t at, void* into, std::uint64_t n) const {
  for (auto* to = static_cast<char*>(into); n > 0;) {
    auto const got = ::pread(file_.number(), to, n, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_unreadable(errno);
    if (got == 0) throw_damaged(std::to_string(at + n) + " bytes", std::to_string(at));
    at += static_cast<std::uint64_t>(got);
    to += got;
    n -= static_cast<std::uint64_t>(got);
  }
}

MESHTF_DEFINE void safetensors_reader::parse(std::uint64_t bytes) {
  size_ = bytes;
  json_error_t failure;
  detail::json const root{json_loadb(text_.data(), text_.size(), JSON_REJECT_DUPLICATES, &failure)};
  if (!root || text_.front() != '{')
    throw_damaged("a header in JSON that begins with {",
                  root ? "other JSON" : detail::spelled_text(std::string_view{failure.text}));
  void* at = json_object_iter(root.get());
  for (; at != nullptr; at = json_object_iter_next(root.get(), at)) {
    std::string const name = json_object_iter_key(at);
    json_t* const value    = json_object_iter_value(at);
    if (name == "__metadata__") parse_metadata(value);
    else header_.arrays.emplace(name, parsed_array(name, value));
  }

  // the arrays must fill what follows the header: each begins where the one before it ends
  std::vector<std::pair<std::string const, safetensors_array> const*> in_order;
  for (auto const& entry : header_.arrays) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](auto const* a, auto const* b) {
    return std::pair{a->second.begin, a->second.end} < std::pair{b->second.begin, b->second.end};
  });
  std::uint64_t end = 0;
  for (auto const* entry : in_order) {
    if (entry->second.begin != end)
      throw_damaged("the array '" + detail::spelled_text(entry->first) + "' at byte " + std::to_string(end) +
                        ", where the one before it ends",
                    "it at byte " + std::to_string(entry->second.begin));
    end = entry->second.end;
  }
  if (end != size_)
    throw_damaged(std::to_string(end) + " bytes after its header, which names them", std::to_string(size_));
}

MESHTF_DEFINE void safetensors_reader::parse_metadata(json_t* value) {
  if (!json_is_object(value)) throw_damaged("metadata of names and texts", "something else");
  for (void* at = json_object_iter(value); at != nullptr; at = json_object_iter_next(value, at)) {
    json_t const* const text = json_object_iter_value(at);
    if (!json_is_string(text)) throw_damaged("metadata of names and texts", "something else");
    header_.metadata.emplace(json_object_iter_key(at), json_string_value(text));
  }
}

MESHTF_DEFINE safetensors_array safetensors_reader::parsed_array(std::string const& name,
                                                                 json_t* entry) const {
  std::string const what = " of the array '" + detail::spelled_text(name) + "'";
  safetensors_array array;
  json_t const* const type = json_object_get(entry, "dtype");
  if (!json_is_string(type)) throw_damaged("the element type" + what, "none");
  array.type         = json_string_value(type);
  auto const numbers = [&](char const* key) {
    json_t const* const list = json_object_get(entry, key);
    if (!json_is_array(list)) throw_damaged(std::string{"the list "} + key + what, "none");
    std::vector<extent> found;
    for (std::size_t i = 0; i < json_array_size(list); ++i) {
      json_t const* const number = json_array_get(list, i);
      if (!json_is_integer(number) || json_integer_value(number) < 0)
        throw_damaged(std::string{"whole numbers of at least 0 in "} + key + what, "something else");
      found.push_back(json_integer_value(number));
    }
    return found;
  };
  array.extents      = numbers("shape");
  auto const offsets = numbers("data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw_damaged("the begin and the end" + what, "other numbers in data_offsets");
  array.begin = static_cast<std::uint64_t>(offsets[0]);
  array.end   = static_cast<std::uint64_t>(offsets[1]);

  std::uint64_t bytes = detail::bytes_of_type(array.type);
  // a type that this version does not know: asking for this array fails with an element type mismatch
  if (bytes == 0) return array;
  for (auto n : array.extents)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes))
      throw_damaged("a shape" + what + " that can be", detail::spelled_array(array));
  if (bytes != array.end - array.begin)
    throw_damaged(std::to_string(bytes) + " bytes" + what + ", " + detail::spelled_array(array),
                  std::to_string(array.end - array.begin));
  return array;
}

#endif

}  // namespace v0
}  // namespace meshtf

#endif
