// A checkpoint as a folder: a file of each process, and a manifest, which says what is in them.
//
//   step-00000200/part-00000-of-00004.safetensors    what process 0 has written
//   step-00000200/manifest.json                      the arrays, and of each part the hash of each chunk
//
// Until all is on disk the folder is called step-00000200.tmp-JOB.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/box_range.hpp>
#include <meshtf/io/chunk_hash.hpp>
#include <meshtf/io/safetensors.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view manifest_name   = "manifest.json";
inline constexpr std::string_view manifest_format = "meshtf step 1";

/// The bytes that one hash is of. Tests lower it.
inline std::uint64_t chunk_bytes = std::uint64_t{1} << 20;

/// An array of the program: what this process has of it, and where.
struct stored_array {
  std::string name;
  safetensors_array whole;
  std::uint64_t element_bytes = 1;
  std::vector<extent> allocated;  // indices of each dimension that the storage has
  box_range range;                // the elements that this process writes, or needs
  extent skipped = 0;             // elements of the storage that are not at `data`, before those that are
  char* data     = nullptr;
};

/// "part-00000-of-00004.safetensors"
std::string part_name(int rank, int size);

/// What a manifest says of a part: its length, the hash of each chunk, and which elements of which arrays
/// follow one another from byte `data`.
struct part_record {
  struct entry {
    std::size_t array = 0;
    std::uint64_t at  = 0;  // where in the file
    box_range range;
  };
  std::uint64_t bytes = 0;
  std::vector<std::string> hashes;
  std::vector<entry> entries;

  /// As JSON.
  std::string text() const;
};

/// Writes this process's part, a safetensors file, in chunks, and waits until it is on disk. It takes the
/// memory of one chunk. Errors: `unavailable`, after it has removed the file.
part_record write_part(std::string const& path, std::vector<stored_array> const& arrays);

/// Whether the file `path` has the bytes of this part.
bool has_part(std::string const& path, part_record const& part);

/// What a manifest says besides its parts.
struct manifest_head {
  std::string layout;
  std::vector<std::pair<std::string, std::string>> about;
};

/// The manifest of parts whose records are given as texts.
std::string manifest_text(manifest_head const& head, std::vector<stored_array> const& arrays,
                          std::vector<std::string> const& parts);

/// Writes a file, and waits until it is on disk. Errors: `unavailable`.
void write_file(std::string const& path, std::string_view content);

/// Waits until the names in a folder are on disk. Errors: `unavailable`.
void sync_folder(std::string const& path);

/// Gives a complete folder its name, or, with `exchange`, exchanges it for the one that has the name.
/// Errors: `unavailable`.
void put_in_place(std::string const& unfinished, std::string const& path, bool exchange);

/// The bytes of a file; nothing if it can't be read.
std::optional<std::string> read_whole(std::string const& path);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string part_name(int rank, int size) {
  char name[64];
  std::snprintf(name, sizeof name, "part-%05d-of-%05d.safetensors", rank, size);
  return name;
}

[[noreturn]] MESHTF_DEFINE void throw_not_written(std::string const& path, int reason) {
  throw unavailable("expected to write " + path + ", got: " + std::strerror(reason) +
                    (reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? ": make room" : "") +
                    "; what was saved before is untouched");
}

/// A new file that is removed unless it is finished.
class new_file {
public:
  explicit new_file(std::string path) : path_{std::move(path)}, file_{path_, O_WRONLY | O_CREAT | O_EXCL} {
    if (!file_) throw_not_written(path_, errno);
  }
  new_file(new_file const&)            = delete;
  new_file& operator=(new_file const&) = delete;
  ~new_file() {
    if (file_) ::unlink(path_.c_str());
  }

  void write(char const* from, std::size_t n) {
    while (n > 0) {
      auto const done = ::pwrite(file_.number(), from, n, static_cast<off_t>(written_));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw_not_written(path_, done == 0 ? ENOSPC : errno);
      written_ += static_cast<std::uint64_t>(done);
      from += done;
      n -= static_cast<std::size_t>(done);
    }
    start_writing();
  }
  void finish() {
    // EINVAL: the file system does not support it
    if (::fsync(file_.number()) != 0 && errno != EINVAL) throw_not_written(path_, errno);
    if (!file_.close()) {
      int const reason = errno;
      ::unlink(path_.c_str());
      throw_not_written(path_, reason);
    }
  }
  std::uint64_t written() const { return written_; }

private:
  /// Has the disk begin while the next bytes are hashed and copied: `fsync` would wait for all of it.
  void start_writing() {
#ifdef SYNC_FILE_RANGE_WRITE
    constexpr std::uint64_t enough = std::uint64_t{8} << 20;
    if (written_ - started_ < enough) return;
    // a failure is no error: `fsync` reports what matters
    ::sync_file_range(file_.number(), static_cast<off_t>(started_), static_cast<off_t>(written_ - started_),
                      SYNC_FILE_RANGE_WRITE);
    started_ = written_;
#endif
  }

  std::string path_;
  file_descriptor file_;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;
};

/// Collects bytes until there is a chunk, which it hashes and writes. Whole chunks are not copied.
class chunk_writer {
public:
  explicit chunk_writer(std::string const& path) : file_{path} {
    chunk_.reserve(static_cast<std::size_t>(chunk_bytes));
  }
  void add(char const* from, std::uint64_t n) {
    while (n > 0) {
      if (chunk_.empty() && n >= chunk_bytes) {
        put(from, static_cast<std::size_t>(chunk_bytes));
        from += chunk_bytes;
        n -= chunk_bytes;
        continue;
      }
      auto const part = std::min<std::uint64_t>(n, chunk_bytes - chunk_.size());
      chunk_.insert(chunk_.end(), from, from + part);
      from += part;
      n -= part;
      if (chunk_.size() == chunk_bytes) flush();
    }
  }
  void finish(part_record& part) {
    if (!chunk_.empty()) flush();
    file_.finish();
    part.bytes  = file_.written();
    part.hashes = std::move(hashes_);
  }

private:
  void flush() {
    put(chunk_.data(), chunk_.size());
    chunk_.clear();
  }
  void put(char const* bytes, std::size_t n) {
    hashes_.push_back(hash_of(bytes, n));
    file_.write(bytes, n);
  }

  new_file file_;
  std::vector<char> chunk_;
  std::vector<std::string> hashes_;
};

MESHTF_DEFINE part_record write_part(std::string const& path, std::vector<stored_array> const& arrays) {
  part_record part;
  std::vector<std::pair<std::string, safetensors_array>> described;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    auto const& array = arrays[i];
    if (array.range.size() == 0) continue;
    part.entries.push_back({i, 0, array.range});
    extent box = 1;
    for (extent n : array.range.extents) box *= n;
    described.emplace_back(array.name, array.whole);
    described.back().second.extents =
        array.range.size() == box ? array.range.extents : std::vector<extent>{array.range.size()};
  }
  std::string const header = safetensors_header_text({{"part_of", std::string{manifest_name}}}, described);
  chunk_writer file{path};
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
  file.add(length.data(), length.size());
  file.add(header.data(), header.size());
  for (std::size_t i = 0; i < part.entries.size(); ++i) {
    auto& entry       = part.entries[i];
    auto const& array = arrays[entry.array];
    entry.at          = length.size() + header.size() + described[i].second.begin;
    box_runs runs{array.range, array.allocated, array.whole.extents};
    for (box_run run; runs.next(run);)
      file.add(array.data + static_cast<std::uint64_t>(run.stored - array.skipped) * array.element_bytes,
               static_cast<std::uint64_t>(run.n) * array.element_bytes);
  }
  file.finish(part);
  return part;
}

MESHTF_DEFINE json extents_as_json(std::vector<extent> const& numbers) {
  return integers({numbers.begin(), numbers.end()});
}

MESHTF_DEFINE json texts_as_json(std::vector<std::string> const& texts) {
  auto array = made(json_array());
  for (auto const& text : texts) append(array.get(), made(json_string(text.c_str())));
  return array;
}

MESHTF_DEFINE json number_as_json(std::uint64_t n) { return made(json_integer(static_cast<json_int_t>(n))); }

MESHTF_DEFINE std::string part_record::text() const {
  auto const root = made(json_object());
  auto list       = made(json_array());
  for (auto const& e : entries) {
    auto one = made(json_object());
    put(one.get(), "array", number_as_json(e.array));
    put(one.get(), "at", number_as_json(e.at));
    put(one.get(), "first", extents_as_json(e.range.first));
    put(one.get(), "extents", extents_as_json(e.range.extents));
    put(one.get(), "elements", extents_as_json({e.range.begin, e.range.end}));
    append(list.get(), std::move(one));
  }
  put(root.get(), "bytes", number_as_json(bytes));
  put(root.get(), "hashes", texts_as_json(hashes));
  put(root.get(), "arrays", std::move(list));
  return dumped(root.get());
}

MESHTF_DEFINE std::string manifest_text(manifest_head const& head, std::vector<stored_array> const& arrays,
                                        std::vector<std::string> const& parts) {
  auto const root = made(json_object());
  auto about      = made(json_object());
  for (auto const& [key, value] : head.about) put(about.get(), key, made(json_string(value.c_str())));
  auto list = made(json_array());
  for (auto const& array : arrays) {
    auto one = made(json_object());
    put(one.get(), "name", made(json_string(array.name.c_str())));
    put(one.get(), "dtype", made(json_string(array.whole.type.c_str())));
    put(one.get(), "shape", extents_as_json(array.whole.extents));
    append(list.get(), std::move(one));
  }
  std::string const arrays_text = dumped(list.get());
  put(root.get(), "format", made(json_string(std::string{manifest_format}.c_str())));
  put(root.get(), "layout", made(json_string(head.layout.c_str())));
  put(root.get(), "configuration",
      made(json_string(hash_of(arrays_text.data(), arrays_text.size()).c_str())));
  put(root.get(), "hash", made(json_string(std::string{hash_name(own_chunk_hash())}.c_str())));
  put(root.get(), "chunk", number_as_json(chunk_bytes));
  put(root.get(), "metadata", std::move(about));
  put(root.get(), "arrays", std::move(list));
  std::string text = dumped(root.get());
  text.pop_back();
  text += ",\"parts\":[";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "\n" : ",\n") + parts[i];
  text += "\n]";
  return text + ",\"manifest_hash\":\"" + hash_of(text.data(), text.size()) + "\"}\n";
}

MESHTF_DEFINE bool has_part(std::string const& path, part_record const& part) {
  file_descriptor const file{path, O_RDONLY | O_NONBLOCK};
  struct stat about{};
  if (!is_available(own_chunk_hash()) || !file || ::fstat(file.number(), &about) != 0 ||
      static_cast<std::uint64_t>(about.st_size) != part.bytes)
    return false;
  std::vector<char> chunk(static_cast<std::size_t>(chunk_bytes));
  for (std::size_t k = 0; k < part.hashes.size(); ++k) {
    auto const at = k * chunk_bytes;
    auto const n  = static_cast<std::size_t>(std::min(chunk_bytes, part.bytes - at));
    if (::pread(file.number(), chunk.data(), n, static_cast<off_t>(at)) != static_cast<ssize_t>(n) ||
        hash_of(chunk.data(), n) != part.hashes[k])
      return false;
  }
  return true;
}

MESHTF_DEFINE void write_file(std::string const& path, std::string_view content) {
  new_file file{path};
  file.write(content.data(), content.size());
  file.finish();
}

MESHTF_DEFINE void sync_folder(std::string const& path) {
  file_descriptor const folder{path, O_RDONLY | O_DIRECTORY};
  if (!folder && errno == EACCES) return;  // one that may be written, but not read
  // EINVAL: the file system does not support it
  if (!folder || (::fsync(folder.number()) != 0 && errno != EINVAL)) throw_not_written(path, errno);
}

MESHTF_DEFINE void put_in_place(std::string const& unfinished, std::string const& path, bool exchange) {
  if (!exchange && std::rename(unfinished.c_str(), path.c_str()) == 0) return;
  if (exchange && ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
    return;
  int const reason = errno;
  throw unavailable("expected to rename " + unfinished + " to " + path + ", got: " + std::strerror(reason) +
                    (exchange ? ": the file system can't exchange folders, delete that one first" : ""));
}

MESHTF_DEFINE std::optional<std::string> read_whole(std::string const& path) {
  file_descriptor const file{path, O_RDONLY | O_NONBLOCK};
  struct stat about{};
  if (!file || ::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  std::string content(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t got = 0; got < content.size();) {
    auto const n =
        ::pread(file.number(), content.data() + got, content.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    got += static_cast<std::size_t>(n);
  }
  return content;
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf

#endif
