// Reads a checkpoint that is a folder: what its manifest says, and nothing that it does not say.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/box_range.hpp>
#include <meshtf/io/chunk_hash.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/io/step_folder.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

struct json_t;  // of jansson, which only definitions need

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A checkpoint in parts. All processes read one manifest: process 0 reads it and hands it on.
///
/// Errors: `no_input` if a file can't be read, `data_error` if one is damaged or missing. Both name the file;
/// `remedy` says what to do.
class step_folder_reader {
public:
  /// The manifest of the folder. Errors: `no_input`.
  static std::string read_manifest(std::string const& folder);

  step_folder_reader(std::string folder, std::string const& manifest, std::string remedy);

  std::string const& path() const { return path_; }
  /// `begin` of an array is its number in the manifest.
  safetensors_header const& header() const { return header_; }

  /// As `safetensors_reader::rename_arrays`.
  template<class F>
  void rename_arrays(F const& new_name) {
    std::map<std::string, safetensors_array> renamed;
    for (auto const& [name, array] : header_.arrays)
      if (std::string to = new_name(name); !to.empty() && !renamed.emplace(to, array).second)
        throw data_error("expected the arrays of " + path_ +
                         " to be renamed to different names, got two that become '" + spelled_text(to) + "'");
    header_.arrays = std::move(renamed);
  }

  /// Compares the length and all hashes of the parts number `first`, `first` + `step` ... Of all processes
  /// together each part is read once.
  void verify(std::size_t first, std::size_t step) const;

  /// Copies to each of `wanted` what it needs of the array whose number is in `numbers`; -1 for one that is
  /// not there. Reads the chunks that hold some of it, and compares their hashes.
  void read(std::vector<stored_array> const& wanted, std::vector<std::int32_t> const& numbers) const;

private:
  class chunks;

  [[noreturn]] void throw_damaged(std::string const& file, std::string const& expected,
                                  std::string const& actual) const;
  [[noreturn]] void throw_manifest(std::string const& expected, std::string const& actual) const;
  std::string path_of(std::size_t part) const;
  void parse(json_t* root);
  std::uint64_t number_in(json_t* object, char const* key, std::uint64_t most) const;
  std::string text_in(json_t* object, char const* key) const;
  json_t* list_in(json_t* object, char const* key) const;
  std::vector<extent> extents_in(json_t* object, char const* key) const;
  part_record parsed_part(json_t* value) const;
  part_record::entry parsed_entry(json_t* value, std::uint64_t bytes) const;

  std::string path_;
  std::string remedy_;
  safetensors_header header_;
  std::vector<safetensors_array> arrays_;
  std::vector<part_record> parts_;
  std::uint64_t chunk_ = 0;
  chunk_hash hash_     = chunk_hash::none;
};

#if MESHTF_DEFINES_RUNTIME

/// The bytes of a part, of which it keeps one chunk.
class step_folder_reader::chunks {
public:
  chunks(step_folder_reader const& of, std::size_t part)
      : of_{of}, part_{of.parts_[part]}, path_{of.path_of(part)}, file_{path_, O_RDONLY | O_NONBLOCK} {
    struct stat about{};
    if (!file_ && errno == ENOENT) of_.throw_damaged(path_, "to be there, as its manifest says", "no file");
    if (!file_ || ::fstat(file_.number(), &about) != 0) throw_unreadable();
    auto const size = static_cast<std::uint64_t>(about.st_size);
    if (!S_ISREG(about.st_mode) || size != part_.bytes)
      of_.throw_damaged(path_, "to have " + std::to_string(part_.bytes) + " bytes, as its manifest says",
                        std::to_string(size));
  }

  std::size_t count() const { return static_cast<std::size_t>((part_.bytes + of_.chunk_ - 1) / of_.chunk_); }

  void load(std::size_t k) {
    auto const at = k * of_.chunk_;
    chunk_.resize(static_cast<std::size_t>(std::min(of_.chunk_, part_.bytes - at)));
    number_ = k;
    for (std::size_t got = 0; got < chunk_.size();) {
      auto const n =
          ::pread(file_.number(), chunk_.data() + got, chunk_.size() - got, static_cast<off_t>(at + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw_unreadable();
      if (n == 0) of_.throw_damaged(path_, "to have " + std::to_string(part_.bytes) + " bytes", "fewer");
      got += static_cast<std::size_t>(n);
    }
    if (!is_available(of_.hash_)) return;
    if (auto const found = hash_of(chunk_.data(), chunk_.size(), of_.hash_); found != part_.hashes[k])
      of_.throw_damaged(path_,
                        "to have the hash " + part_.hashes[k] + " from byte " + std::to_string(at) +
                            ", as its manifest says",
                        found);
  }

  void copy(std::uint64_t at, char* to, std::uint64_t n) {
    while (n > 0) {
      auto const k = static_cast<std::size_t>(at / of_.chunk_);
      if (!number_ || *number_ != k) load(k);
      auto const inside = at - k * of_.chunk_;
      auto const some   = std::min<std::uint64_t>(n, chunk_.size() - inside);
      std::memcpy(to, chunk_.data() + inside, static_cast<std::size_t>(some));
      at += some;
      to += some;
      n -= some;
    }
  }

  std::string const& path() const { return path_; }

private:
  [[noreturn]] void throw_unreadable() const {
    throw no_input("expected to read the file " + path_ + ", got: " + std::strerror(errno));
  }

  step_folder_reader const& of_;
  part_record const& part_;
  std::string path_;
  file_descriptor file_;
  std::vector<char> chunk_;
  std::optional<std::size_t> number_;
};

MESHTF_DEFINE std::string step_folder_reader::read_manifest(std::string const& folder) {
  std::string const path = folder + "/" + std::string{manifest_name};
  auto content           = read_whole(path);
  if (!content) throw no_input("expected to read the file " + path + ", got: " + std::strerror(errno));
  return std::move(*content);
}

MESHTF_DEFINE step_folder_reader::step_folder_reader(std::string folder, std::string const& manifest,
                                                     std::string remedy)
    : path_{std::move(folder)}, remedy_{std::move(remedy)} {
  constexpr std::string_view key = ",\"manifest_hash\":\"";
  auto const at                  = manifest.rfind(key);
  if (at == manifest.npos) throw_manifest("its own hash at its end", "none");
  json_error_t failure;
  json const root{json_loadb(manifest.data(), manifest.size(), JSON_REJECT_DUPLICATES, &failure)};
  if (!json_is_object(root.get())) throw_manifest("JSON", spelled_text(std::string_view{failure.text}));
  auto const expected = text_in(root.get(), "manifest_hash");
  auto const hash     = text_in(root.get(), "hash");
  auto const kind     = chunk_hash_named(hash);
  if (!kind) throw_manifest("hashes called xxh3, crc32 or none", spelled_text(hash));
  hash_ = *kind;
  if (auto const found = hash_of(manifest.data(), at, hash_); is_available(hash_) && found != expected)
    throw_manifest("the hash " + spelled_text(expected) + ", which it names", found);
  parse(root.get());
}

MESHTF_DEFINE void step_folder_reader::throw_damaged(std::string const& file, std::string const& expected,
                                                     std::string const& actual) const {
  throw data_error("expected " + file + " " + expected + ", got " + actual + ": the checkpoint is damaged, " +
                   remedy_);
}

MESHTF_DEFINE void step_folder_reader::throw_manifest(std::string const& expected,
                                                      std::string const& actual) const {
  throw_damaged(path_ + "/" + std::string{manifest_name}, "to have " + expected, actual);
}

MESHTF_DEFINE std::string step_folder_reader::path_of(std::size_t part) const {
  return path_ + "/" + part_name(static_cast<int>(part), static_cast<int>(parts_.size()));
}

MESHTF_DEFINE std::uint64_t step_folder_reader::number_in(json_t* object, char const* key,
                                                          std::uint64_t most) const {
  json_t const* const value = json_object_get(object, key);
  if (!json_is_integer(value) || json_integer_value(value) < 0 ||
      static_cast<std::uint64_t>(json_integer_value(value)) > most)
    throw_manifest("a number from 0 to " + std::to_string(most) + " as '" + key + "'", "something else");
  return static_cast<std::uint64_t>(json_integer_value(value));
}

MESHTF_DEFINE std::string step_folder_reader::text_in(json_t* object, char const* key) const {
  json_t const* const value = json_object_get(object, key);
  if (!json_is_string(value)) throw_manifest("a text as '" + std::string{key} + "'", "something else");
  return json_string_value(value);
}

MESHTF_DEFINE json_t* step_folder_reader::list_in(json_t* object, char const* key) const {
  json_t* const value = json_object_get(object, key);
  if (!json_is_array(value)) throw_manifest("a list as '" + std::string{key} + "'", "something else");
  return value;
}

MESHTF_DEFINE std::vector<extent> step_folder_reader::extents_in(json_t* object, char const* key) const {
  json_t const* const list = list_in(object, key);
  std::vector<extent> found;
  for (std::size_t i = 0; i < json_array_size(list); ++i) {
    json_t const* const number = json_array_get(list, i);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
      throw_manifest("whole numbers of at least 0 in '" + std::string{key} + "'", "something else");
    found.push_back(json_integer_value(number));
  }
  return found;
}

MESHTF_DEFINE void step_folder_reader::parse(json_t* root) {
  if (auto const format = text_in(root, "format"); format != manifest_format)
    throw_manifest("the format '" + std::string{manifest_format} + "'", "'" + spelled_text(format) + "'");
  chunk_ = number_in(root, "chunk", std::uint64_t{1} << 30);
  if (chunk_ == 0) throw_manifest("chunks of at least one byte", "0");
  json_t* const about = json_object_get(root, "metadata");
  for (void* at = json_object_iter(about); at != nullptr; at = json_object_iter_next(about, at)) {
    char const* const key = json_object_iter_key(at);
    header_.metadata.emplace(key, text_in(about, key));
  }
  json_t* const arrays = list_in(root, "arrays");
  for (std::size_t i = 0; i < json_array_size(arrays); ++i) {
    json_t* const one = json_array_get(arrays, i);
    safetensors_array array{text_in(one, "dtype"), extents_in(one, "shape"), i, i};
    std::uint64_t bytes = bytes_of_type(array.type);
    bool fits           = bytes != 0 && array.extents.size() <= max_rank;
    for (extent n : array.extents)
      fits = fits && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes);
    // what is counted below are extents, which have a sign
    if (!fits || bytes > std::uint64_t{1} << 62) throw_manifest("arrays that can be", spelled_array(array));
    arrays_.push_back(array);
    if (auto const name = text_in(one, "name"); !header_.arrays.emplace(name, array).second)
      throw_manifest("arrays of different names", "two that are called '" + spelled_text(name) + "'");
  }
  json_t* const parts = list_in(root, "parts");
  std::vector<extent> left;  // elements of each array that no part has
  for (auto const& array : arrays_) {
    left.push_back(1);
    for (extent n : array.extents) left.back() *= n;
  }
  for (std::size_t i = 0; i < json_array_size(parts); ++i) {
    parts_.push_back(parsed_part(json_array_get(parts, i)));
    for (auto const& e : parts_.back().entries) left[e.array] -= e.range.size();
  }
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (left[i] != 0)
      throw_manifest(
          "parts with all elements of array " + std::to_string(i) + ", " + spelled_array(arrays_[i]),
          std::to_string(left[i]) + " that none has");
}

MESHTF_DEFINE part_record step_folder_reader::parsed_part(json_t* value) const {
  part_record part;
  part.bytes           = number_in(value, "bytes", std::uint64_t{1} << 62);
  json_t* const hashes = list_in(value, "hashes");
  for (std::size_t i = 0; i < json_array_size(hashes); ++i) {
    char const* const text = json_string_value(json_array_get(hashes, i));
    part.hashes.emplace_back(text == nullptr ? "" : text);
  }
  if (part.hashes.size() != (part.bytes + chunk_ - 1) / chunk_)
    throw_manifest("a hash of each chunk",
                   std::to_string(part.hashes.size()) + " of " + std::to_string(part.bytes) + " bytes");
  json_t* const entries = list_in(value, "arrays");
  for (std::size_t i = 0; i < json_array_size(entries); ++i)
    part.entries.push_back(parsed_entry(json_array_get(entries, i), part.bytes));
  return part;
}

MESHTF_DEFINE part_record::entry step_folder_reader::parsed_entry(json_t* value, std::uint64_t bytes) const {
  part_record::entry e;
  if (arrays_.empty()) throw_manifest("no parts of arrays that it does not name", "some");
  e.array             = static_cast<std::size_t>(number_in(value, "array", arrays_.size() - 1));
  e.at                = number_in(value, "at", bytes);
  e.range.first       = extents_in(value, "first");
  e.range.extents     = extents_in(value, "extents");
  auto const elements = extents_in(value, "elements");
  auto const& whole   = arrays_[e.array];
  extent box          = 1;
  bool fits           = e.range.first.size() == whole.extents.size() &&
              e.range.extents.size() == whole.extents.size() && elements.size() == 2;
  for (std::size_t d = 0; fits && d < whole.extents.size(); ++d) {
    fits = e.range.first[d] <= whole.extents[d] && e.range.extents[d] <= whole.extents[d] - e.range.first[d];
    box *= e.range.extents[d];
  }
  fits = fits && elements[0] <= elements[1] && elements[1] <= box;
  if (!fits) throw_manifest("boxes within their arrays", "one of " + spelled_array(whole) + " that is not");
  e.range.begin = elements[0];
  e.range.end   = elements[1];
  if (static_cast<std::uint64_t>(e.range.size()) > (bytes - e.at) / bytes_of_type(whole.type))
    throw_manifest("elements within their parts", "some beyond byte " + std::to_string(bytes));
  return e;
}

MESHTF_DEFINE void step_folder_reader::verify(std::size_t first, std::size_t step) const {
  for (std::size_t i = first; i < parts_.size(); i += step) {
    chunks part{*this, i};
    for (std::size_t k = 0; is_available(hash_) && k < part.count(); ++k) part.load(k);
  }
}

MESHTF_DEFINE void step_folder_reader::read(std::vector<stored_array> const& wanted,
                                            std::vector<std::int32_t> const& numbers) const {
  std::vector<std::size_t> by_number(arrays_.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (numbers[i] >= 0) by_number[static_cast<std::size_t>(numbers[i])] = i;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    std::optional<chunks> part;
    for (auto const& e : parts_[p].entries) {
      if (by_number[e.array] == wanted.size()) continue;
      auto const& to = wanted[by_number[e.array]];
      if (!boxes_meet(e.range, to.range)) continue;
      if (!part) part.emplace(*this, p);
      for_each_shared_run(
          {to.range, to.allocated, to.whole.extents}, {e.range, e.range.extents, to.whole.extents},
          [&](extent stored, extent there, extent n) {
            char* const at   = to.data + static_cast<std::uint64_t>(stored - to.skipped) * to.element_bytes;
            auto const bytes = static_cast<std::uint64_t>(n) * to.element_bytes;
            part->copy(e.at + static_cast<std::uint64_t>(there - e.range.begin) * to.element_bytes, at,
                       bytes);
            if (to.whole.type == type_of_bools &&
                std::any_of(at, at + bytes, [](char b) { return static_cast<unsigned char>(b) > 1; }))
              throw_damaged(part->path(), "to have bytes of 0 or 1 in the array '" + to.name + "'", "others");
          });
    }
  }
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
