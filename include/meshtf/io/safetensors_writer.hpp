// Writes safetensors files, completely or not at all.
#pragma once

#if MESHTF_WITH_JANSSON

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/io/file_lock.hpp>
#include <meshtf/io/safetensors.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {

namespace detail {

/// A new, locked file under a unique name, "PATH.0123456789abcdef.partial": if two jobs write PATH, each has
/// a file of its own. It is removed with its owner unless it has been renamed to PATH.
class partial_file {
public:
  explicit partial_file(std::string path);
  partial_file(partial_file const&)            = delete;
  partial_file& operator=(partial_file const&) = delete;
  ~partial_file();

  explicit operator bool() const { return static_cast<bool>(file_); }
  int number() const { return file_.number(); }

  /// Closes the file and gives it its name. Returns whether both succeeded; if not, `errno` says why.
  bool finish();

private:
  static std::string unused_suffix();
  bool is_there() const;
  /// Removes what killed jobs have left of this file.
  void remove_left_over() const;

  std::string path_;
  std::string name_;
  file_descriptor file_;
};

}  // namespace detail

/// Writes a safetensors file so that nobody ever sees a part of one: it has a unique temporary name,
/// `path`.DIGITS.partial, and is renamed to `path` in one step when all of it is on disk. Until then an
/// existing file of that name does not change.
///
/// `write` takes the arrays in the order in which they were described; then call `commit`. Without `commit`
/// the temporary file is removed with the writer; a killed process leaves it behind, and the next writer of
/// `path` removes it. Describe arrays with
/// larger elements first, so that all are aligned.
/// Errors: `unavailable` if the disk is full, if `path` is a folder, a FIFO or a device, which the new file
/// would replace, or if the system refuses otherwise.
class safetensors_writer {
public:
  /// `arrays`: name, element type and shape of each. `metadata`: texts for whoever reads the file.
  safetensors_writer(std::string path, std::vector<std::pair<std::string, std::string>> metadata,
                     std::vector<std::pair<std::string, safetensors_array>> arrays);

  /// Writes the next n bytes of the arrays' elements.
  void write(void const* bytes, std::size_t n);

  void commit();

private:
  [[noreturn]] void throw_refused(int reason) const;
  void write_at(std::uint64_t at, void const* bytes, std::size_t n) const;

  std::string path_;
  detail::partial_file file_;
  std::string text_;
  std::uint64_t wanted_  = 0;
  std::uint64_t written_ = 0;
  detail::checksum sum_;
};

#if MESHTF_DEFINES_RUNTIME

namespace detail {

/// "runs/" for "runs/net.safetensors", "./" for a name without a folder.
MESHTF_DEFINE std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == path.npos ? "./" : path.substr(0, slash + 1);
}

MESHTF_DEFINE partial_file::partial_file(std::string path) : path_{std::move(path)}, file_{-1} {
  remove_left_over();
  do {
    name_ = path_ + unused_suffix();
    file_ = file_descriptor{name_, O_WRONLY | O_CREAT | O_EXCL};
    if (!file_ && errno != EEXIST) return;
    // until it is locked, another job may take it for a file that was left behind
  } while (!file_ || lock(file_) == lock_outcome::held_by_another || !is_there());
}

MESHTF_DEFINE partial_file::~partial_file() {
  if (file_) ::unlink(name_.c_str());
}

MESHTF_DEFINE bool partial_file::finish() {
  file_descriptor still_locked{::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0)};
  if (!still_locked) return false;
  // closing reports errors, and the lock must last until the file has its name
  std::swap(still_locked, file_);
  if (!still_locked.close() || std::rename(name_.c_str(), path_.c_str()) != 0) return false;
  file_.close();
  return true;
}

MESHTF_DEFINE std::string partial_file::unused_suffix() {
  std::array<unsigned, 2> random{};
  // <random> costs every program a quarter of a second of compilation
  if (::getentropy(random.data(), sizeof random) != 0)
    throw unavailable("the system gave no random numbers for the name of a file: " +
                      std::string{std::strerror(errno)});
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".%08x%08x%s", random[0], random[1], partial_suffix.data());
  return suffix;
}

MESHTF_DEFINE bool partial_file::is_there() const {
  struct stat about{};
  return ::fstat(file_.number(), &about) == 0 && about.st_nlink > 0;
}

MESHTF_DEFINE void partial_file::remove_left_over() const {
  struct closes {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  std::string const folder = folder_of(path_);
  std::unique_ptr<DIR, closes> const opened{::opendir(folder.c_str())};
  std::string_view const own = std::string_view{path_}.substr(path_.rfind('/') + 1);
  while (dirent const* const entry = opened ? ::readdir(opened.get()) : nullptr)
    if (whole_name(entry->d_name) == own) remove_if_left_over(folder + entry->d_name);
}

}  // namespace detail

MESHTF_DEFINE safetensors_writer::safetensors_writer(
    std::string path, std::vector<std::pair<std::string, std::string>> metadata,
    std::vector<std::pair<std::string, safetensors_array>> arrays)
    : path_{std::move(path)}, file_{path_} {
  static_assert(std::endian::native == std::endian::little,
                "meshtf: safetensors files are little-endian, and this machine is not");
  if (auto const objection = detail::objection_to_file(path_); !objection.empty())
    throw unavailable("expected to write the file " + path_ + ", got: " + objection + ": name another one");
  if (!file_) throw_refused(errno);
#if MESHTF_WITH_ZLIB
  metadata.insert(metadata.begin(), {"crc32", std::string{detail::no_checksum}});
#else
  metadata.insert(metadata.begin(), {"crc32", std::string{detail::without_zlib}});
#endif
  text_   = detail::safetensors_header_text(metadata, arrays);
  wanted_ = arrays.empty() ? 0 : arrays.back().second.end;
  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<unsigned char>(text_.size() >> 8 * i);
  write_at(0, length.data(), length.size());
  write_at(length.size(), text_.data(), text_.size());
  sum_.add(text_.data(), text_.size());
}

MESHTF_DEFINE void safetensors_writer::write(void const* bytes, std::size_t n) {
  write_at(8 + text_.size() + written_, bytes, n);
  sum_.add(bytes, n);
  written_ += n;
}

MESHTF_DEFINE void safetensors_writer::commit() {
  if (written_ != wanted_)
    throw software_error("expected " + std::to_string(wanted_) + " bytes of arrays for " + path_ + ", got " +
                         std::to_string(written_));
#if MESHTF_WITH_ZLIB
  std::string const digits = sum_.text();
  write_at(8 + text_.find(detail::checksum_key) + detail::checksum_key.size(), digits.data(), digits.size());
#endif
  // EINVAL: the file system does not support it
  if (::fsync(file_.number()) != 0 && errno != EINVAL) throw_refused(errno);
  if (!file_.finish()) throw_refused(errno);
  // the new name is in the folder, so the folder must be on disk too
  detail::file_descriptor const folder{detail::folder_of(path_), O_RDONLY | O_DIRECTORY};
  if (folder && ::fsync(folder.number()) != 0 && errno != EINVAL) throw_refused(errno);
}

[[noreturn]] MESHTF_DEFINE void safetensors_writer::throw_refused(int reason) const {
  throw unavailable("expected to write the file " + path_ + ", got: " + std::strerror(reason) +
                    (reason == ENOSPC || reason == EDQUOT || reason == EFBIG
                         ? ": make room; what was saved before is untouched"
                         : ""));
}

MESHTF_DEFINE void safetensors_writer::write_at(std::uint64_t at, void const* bytes, std::size_t n) const {
  for (auto const* from = static_cast<char const*>(bytes); n > 0;) {
    auto const done = ::pwrite(file_.number(), from, n, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw_refused(done == 0 ? ENOSPC : errno);
    at += static_cast<std::uint64_t>(done);
    from += done;
    n -= static_cast<std::size_t>(done);
  }
}

#endif

}  // namespace v0
}  // namespace meshtf

#endif
