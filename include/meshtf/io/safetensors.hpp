// Safetensors files: named arrays behind a header in JSON, as Python's package safetensors reads and writes them.
#pragma once

#if MESHTF_WITH_JANSSON

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#if MESHTF_WITH_ZLIB
#include <zlib.h>
#endif

#include <meshtf/core/element.hpp>
#include <meshtf/core/error.hpp>

namespace meshtf::inline v0 {

/// An array in a safetensors file: the name of its element type ("F32"), its shape, and where its row-major elements begin and end, in bytes
/// after the header.
struct safetensors_array {
  std::string type;
  std::vector<extent> extents;
  std::uint64_t begin = 0, end = 0;
};

/// What a safetensors file says of itself.
struct safetensors_header {
  std::map<std::string, safetensors_array> arrays;
  std::map<std::string, std::string> metadata;
};

/// The name of an element type in a safetensors file.
constexpr std::string_view safetensors_type(element e) {
  switch (e) {
    case element::float32: return "F32";
    case element::float64: return "F64";
    case element::int32: return "I32";
  }
  return "?";
}

namespace detail {

/// Python's safetensors reads no longer header either.
inline constexpr std::uint64_t longest_header = 100'000'000;

/// Of an element of a type; 0 if we don't know it.
constexpr std::uint64_t bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, std::uint64_t> known[]{{"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2},
                                                               {"I16", 2}, {"U16", 2}, {"BF16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  for (auto const& [name, bytes] : known)
    if (name == type) return bytes;
  return 0;
}

/// Text from a file as part of a message: one line, not long.
inline std::string spelled_text(std::string_view text) {
  std::string line{text.substr(0, 100)};
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return line.size() < text.size() ? line + "..." : line;
}

/// "F32 [256, 128]"
inline std::string spelled_array(safetensors_array const& array) {
  std::string text;
  for (auto n : array.extents) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return spelled_text(array.type) + " [" + text + "]";
}

struct releases_json {
  void operator()(json_t* value) const { json_decref(value); }
};
using json = std::unique_ptr<json_t, releases_json>;

inline json made(json_t* value) {
  if (value == nullptr) throw std::bad_alloc{};
  return json{value};
}

inline void put(json_t* object, std::string const& key, json value) {
  if (json_object_set_new(object, key.c_str(), value.release()) != 0)   // it takes the value in either case
    throw software_error("expected UTF-8 text as a name in a safetensors file, got '" + spelled_text(key) + "'");
}

inline json integers(std::vector<std::uint64_t> const& numbers) {
  auto array = made(json_array());
  for (auto n : numbers) json_array_append_new(array.get(), json_integer(static_cast<json_int_t>(n)));
  return array;
}

/// What comes after the header is one array after the other, in the order of `arrays`; sets their places. Padded with spaces, so that the arrays
/// begin at a multiple of 8 bytes.
inline std::string safetensors_header_text(std::vector<std::pair<std::string, std::string>> const& metadata,
                                           std::vector<std::pair<std::string, safetensors_array>>& arrays) {
  auto const root = made(json_object());
  auto about      = made(json_object());
  for (auto const& [key, value] : metadata) {
    json_t* const text = json_string(value.c_str());
    if (text == nullptr) throw software_error("expected UTF-8 text in the metadata of a safetensors file, got '" + spelled_text(value) + "'");
    put(about.get(), key, json{text});
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
  struct frees {
    void operator()(char* text) const { std::free(text); }
  };
  std::unique_ptr<char, frees> const written{json_dumps(root.get(), JSON_COMPACT | JSON_PRESERVE_ORDER)};
  if (!written) throw std::bad_alloc{};
  std::string text{written.get()};
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

/// An open file, closed with its owner.
class file_descriptor {
public:
  file_descriptor(std::string const& path, int flags) : number_{::open(path.c_str(), flags | O_CLOEXEC, 0666)} {}
  file_descriptor(file_descriptor const&)            = delete;
  file_descriptor& operator=(file_descriptor const&) = delete;
  ~file_descriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Some file systems report a full disk only here.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

private:
  int number_;
};

/// A file that is removed with its owner unless it has got another name.
class temporary_file {
public:
  explicit temporary_file(std::string path) : path_{std::move(path)} { remove(); }  // what a killed process left
  temporary_file(temporary_file const&)            = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() {
    if (!path_.empty()) remove();
  }

  std::string const& path() const { return path_; }
  bool rename(std::string const& to) {
    if (std::rename(path_.c_str(), to.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

private:
  void remove() const { ::unlink(path_.c_str()); }

  std::string path_;
};

inline constexpr std::string_view checksum_key = "\"crc32\":\"", no_checksum = "00000000";

/// The checksum of a file, in its metadata: of its header, with zeros in the checksum's place, and all its arrays. Without zlib there is none.
class checksum {
public:
  void add([[maybe_unused]] void const* bytes, [[maybe_unused]] std::size_t n) {
#if MESHTF_WITH_ZLIB
    sum_ = crc32_z(sum_, static_cast<unsigned char const*>(bytes), n);
#endif
  }
  std::string text() const {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08lx", sum_);
    return digits;
  }

private:
  unsigned long sum_ = 0;
};

}  // namespace detail

/// A safetensors file, which is read array by array. Everything that its header says is checked before the first.
///
/// Errors: `no_input` if the file can't be read, `data_error` if it has other content than its format allows. Both name the file; `remedy` says what
/// to do about a damaged one.
/// Source: the format is described at https://github.com/huggingface/safetensors.
class safetensors_reader {
public:
  explicit safetensors_reader(std::string path, std::string remedy = "fetch it again")
      : path_{std::move(path)}, remedy_{std::move(remedy)}, file_{path_, O_RDONLY | O_NONBLOCK} {  // a pipe would wait for who writes into it
    static_assert(std::endian::native == std::endian::little, "meshtf: safetensors files are little-endian, and this machine is not");
    struct stat about{};
    if (!file_ || fstat(file_.number(), &about) != 0) throw_unreadable(errno);
    if (!S_ISREG(about.st_mode)) throw no_input("expected to read the file " + path_ + ", got something that is not a file");
    auto const size = static_cast<std::uint64_t>(about.st_size);

    std::array<unsigned char, 8> start{};
    if (size < start.size()) throw_damaged("a header after 8 bytes with its length", std::to_string(size) + " bytes in all");
    read_at(0, start.data(), start.size());
    std::uint64_t length = 0;
    for (std::size_t i = start.size(); i-- > 0;) length = length << 8 | start[i];
    if (length > longest) throw_damaged("a header of at most " + std::to_string(longest) + " bytes", "one of " + std::to_string(length));
    if (length > size - 8) throw_damaged("a header of " + std::to_string(length) + " bytes", std::to_string(size) + " bytes in all");
    text_.resize(length);
    read_at(8, text_.data(), length);
    data_ = 8 + length;
    parse(size - data_);
  }

  std::string const& path() const { return path_; }
  safetensors_header const& header() const { return header_; }

  /// Reads all elements of `array`, one of the header's, into an array of its size.
  void read(safetensors_array const& array, void* into) const { read_at(data_ + array.begin, into, array.end - array.begin); }

  /// The elements of the array `name`, row-major. Errors: `data_error` if there is none, or it has another element type.
  template<Element T>
  std::vector<T> read(std::string const& name) const {
    auto const found = header_.arrays.find(name);
    if (found == header_.arrays.end()) throw data_error("expected an array '" + name + "' in " + path_ + ", got none of that name");
    safetensors_array const& array = found->second;
    if (array.type != safetensors_type(element_of<T>))
      throw data_error("expected '" + name + "' in " + path_ + " to hold " + std::string{safetensors_type(element_of<T>)} + ", got " +
                       detail::spelled_array(array));
    std::vector<T> elements((array.end - array.begin) / sizeof(T));
    read(array, elements.data());
    return elements;
  }

  /// Reads the whole file and compares its checksum, if it has one: `safetensors_writer` notes it where there is zlib. Errors: `data_error`.
  void verify() const {
#if MESHTF_WITH_ZLIB
    auto const expected = header_.metadata.find("crc32");
    if (expected == header_.metadata.end()) return;
    std::string header = text_;
    if (auto const at = header.find(detail::checksum_key); at != header.npos && expected->second.size() == detail::no_checksum.size())
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
      throw_damaged("the checksum " + detail::spelled_text(expected->second) + ", which its header names", sum.text());
#endif
  }

private:
  static constexpr std::uint64_t longest = detail::longest_header;

  [[noreturn]] void throw_unreadable(int reason) const { throw no_input("expected to read the file " + path_ + ", got: " + std::strerror(reason)); }

  [[noreturn]] void throw_damaged(std::string const& expected, std::string const& actual) const {
    throw data_error("expected " + path_ + " to have " + expected + ", got " + actual + ": the file is damaged or of another kind, " + remedy_);
  }

  void read_at(std::uint64_t at, void* into, std::uint64_t n) const {
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

  /// Fills `header_` from `text_`.
  void parse(std::uint64_t bytes) {
    size_ = bytes;
    json_error_t failure;
    detail::json const root{json_loadb(text_.data(), text_.size(), JSON_REJECT_DUPLICATES, &failure)};
    if (!root || text_.front() != '{')
      throw_damaged("a header in JSON that begins with {", root ? "other JSON" : detail::spelled_text(std::string_view{failure.text}));
    void* at = json_object_iter(root.get());
    for (; at != nullptr; at = json_object_iter_next(root.get(), at)) {
      std::string const name = json_object_iter_key(at);
      json_t* const value    = json_object_iter_value(at);
      if (name == "__metadata__") parse_metadata(value);
      else header_.arrays.emplace(name, parsed_array(name, value));
    }

    // the arrays fill what follows the header, each begins where the one before it ends
    std::vector<std::pair<std::string const, safetensors_array> const*> in_order;
    for (auto const& entry : header_.arrays) in_order.push_back(&entry);
    std::sort(in_order.begin(), in_order.end(),
              [](auto const* a, auto const* b) { return std::pair{a->second.begin, a->second.end} < std::pair{b->second.begin, b->second.end}; });
    std::uint64_t end = 0;
    for (auto const* entry : in_order) {
      if (entry->second.begin != end)
        throw_damaged("the array '" + detail::spelled_text(entry->first) + "' at byte " + std::to_string(end) + ", where the one before it ends",
                      "it at byte " + std::to_string(entry->second.begin));
      end = entry->second.end;
    }
    if (end != size_) throw_damaged(std::to_string(end) + " bytes after its header, which names them", std::to_string(size_));
  }

  void parse_metadata(json_t* value) {
    if (!json_is_object(value)) throw_damaged("metadata of names and texts", "something else");
    for (void* at = json_object_iter(value); at != nullptr; at = json_object_iter_next(value, at)) {
      json_t const* const text = json_object_iter_value(at);
      if (!json_is_string(text)) throw_damaged("metadata of names and texts", "something else");
      header_.metadata.emplace(json_object_iter_key(at), json_string_value(text));
    }
  }

  safetensors_array parsed_array(std::string const& name, json_t* entry) const {
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
    if (offsets.size() != 2 || offsets[0] > offsets[1]) throw_damaged("the begin and the end" + what, "other numbers in data_offsets");
    array.begin = static_cast<std::uint64_t>(offsets[0]);
    array.end   = static_cast<std::uint64_t>(offsets[1]);

    std::uint64_t bytes = detail::bytes_of_type(array.type);
    if (bytes == 0) return array;  // a type of later years: whoever asks for the array finds that it is another than his
    for (auto n : array.extents)
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes))
        throw_damaged("a shape" + what + " that can be", spelled_array(array));
    if (bytes != array.end - array.begin)
      throw_damaged(std::to_string(bytes) + " bytes" + what + ", " + spelled_array(array), std::to_string(array.end - array.begin));
    return array;
  }

  static std::string spelled_array(safetensors_array const& array) { return detail::spelled_array(array); }

  std::string path_, remedy_;
  detail::file_descriptor file_;
  std::string text_;
  safetensors_header header_;
  std::uint64_t data_ = 0, size_ = 0;
};

/// Writes a safetensors file so that nobody ever finds a part of one: under the temporary name `path`.partial, which becomes `path` in one step when
/// all is on the disk. A file of this name that was there before stays what it was until then.
///
/// The arrays come in the order in which they were named, by `write`; then `commit`. Without `commit` the temporary file goes with the writer, and a
/// killed process leaves it behind. Put arrays of larger elements first: others would begin where no such element may.
/// Errors: `unavailable` if the disk is full or the system refuses otherwise.
class safetensors_writer {
public:
  /// `arrays`: name, element type and shape of each. `metadata`: texts for whoever reads the file.
  safetensors_writer(std::string path, std::vector<std::pair<std::string, std::string>> metadata,
                     std::vector<std::pair<std::string, safetensors_array>> arrays)
      : path_{std::move(path)}, partial_{path_ + ".partial"}, file_{partial_.path(), O_WRONLY | O_CREAT | O_EXCL} {
    static_assert(std::endian::native == std::endian::little, "meshtf: safetensors files are little-endian, and this machine is not");
    if (!file_) throw_refused(errno);
#if MESHTF_WITH_ZLIB
    metadata.insert(metadata.begin(), {"crc32", std::string{detail::no_checksum}});
#endif
    text_   = detail::safetensors_header_text(metadata, arrays);
    wanted_ = arrays.empty() ? 0 : arrays.back().second.end;
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<unsigned char>(text_.size() >> 8 * i);
    write_at(0, length.data(), length.size());
    write_at(length.size(), text_.data(), text_.size());
    sum_.add(text_.data(), text_.size());
  }

  /// The next n bytes of the arrays' elements.
  void write(void const* bytes, std::size_t n) {
    write_at(8 + text_.size() + written_, bytes, n);
    sum_.add(bytes, n);
    written_ += n;
  }

  void commit() {
    if (written_ != wanted_)
      throw software_error("expected " + std::to_string(wanted_) + " bytes of arrays for " + path_ + ", got " + std::to_string(written_));
    if (auto const at = text_.find(detail::checksum_key); at != text_.npos) {
      std::string const digits = sum_.text();
      write_at(8 + at + detail::checksum_key.size(), digits.data(), digits.size());
    }
    if (::fsync(file_.number()) != 0 && errno != EINVAL) throw_refused(errno);  // EINVAL: a file system without it
    if (!file_.close()) throw_refused(errno);
    if (!partial_.rename(path_)) throw_refused(errno);
    // the new name is in the folder, and the folder must be on the disk too
    auto const slash = path_.rfind('/');
    detail::file_descriptor const folder{slash == path_.npos ? "." : path_.substr(0, slash + 1), O_RDONLY | O_DIRECTORY};
    if (folder && ::fsync(folder.number()) != 0 && errno != EINVAL) throw_refused(errno);
  }

private:
  [[noreturn]] void throw_refused(int reason) const {
    throw unavailable("expected to write the file " + path_ + ", got: " + std::strerror(reason) +
                      (reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? ": make room; what was saved before is untouched" : ""));
  }

  void write_at(std::uint64_t at, void const* bytes, std::size_t n) const {
    for (auto const* from = static_cast<char const*>(bytes); n > 0;) {
      auto const done = ::pwrite(file_.number(), from, n, static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw_refused(done == 0 ? ENOSPC : errno);
      at += static_cast<std::uint64_t>(done);
      from += done;
      n -= static_cast<std::size_t>(done);
    }
  }

  std::string path_;
  detail::temporary_file partial_;
  detail::file_descriptor file_;
  std::string text_;
  std::uint64_t wanted_ = 0, written_ = 0;
  detail::checksum sum_;
};

}  // namespace meshtf::inline v0

#endif
