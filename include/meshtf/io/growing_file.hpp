// A file that grows by whole records, as those of a log do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A regular file that grows by whole records, and that no other job writes.
class growing_file {
public:
  /// Errors: `unavailable` if it can't be opened, or is no regular file; `usage_error` if another job writes
  /// it.
  explicit growing_file(std::string const& path);

  std::string const& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// The bytes from `at`, fewer where the file ends.
  std::string read(std::uint64_t offset, std::size_t n) const;

  /// Errors: `unavailable` if the system refuses.
  void cut(std::uint64_t to);

  /// Writes a record, or nothing: false, and `errno` says why, if there is no room for all of it, or if the
  /// file was removed.
  bool add(std::string_view record);

  /// Takes away what was added since the file had this size.
  void undo(std::uint64_t to);

private:
  [[noreturn]] void refuse(std::string const& why) const;

  std::string path_;
  file_descriptor file_;
  std::uint64_t size_ = 0;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE growing_file::growing_file(std::string const& path) : path_{path}, file_{-1} {
  auto opened = open_to_write(path, O_APPEND);
  if (!opened.refusal.empty()) refuse(opened.refusal);
  file_ = std::move(opened.file);
  struct stat about{};
  if (fstat(file_.number(), &about) != 0) refuse(std::strerror(errno));
  size_ = static_cast<std::uint64_t>(about.st_size);
  if (lock(file_) == lock_outcome::held_by_another)
    throw usage_error("expected one job to write the log " + path +
                      ", got another that does: name another folder");
}

MESHTF_DEFINE std::string growing_file::read(std::uint64_t offset, std::size_t n) const {
  std::string bytes(n, '\0');
  std::size_t have = 0;
  while (have < n) {
    ssize_t const got =
        pread(file_.number(), bytes.data() + have, n - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

MESHTF_DEFINE void growing_file::cut(std::uint64_t to) {
  if (to == size_) return;
  if (ftruncate(file_.number(), static_cast<off_t>(to)) != 0) refuse(std::strerror(errno));
  size_ = to;
}

MESHTF_DEFINE void growing_file::undo(std::uint64_t to) {
  int const why = errno;
  if (ftruncate(file_.number(), static_cast<off_t>(to)) == 0) size_ = to;
  errno = why;
}

MESHTF_DEFINE bool growing_file::add(std::string_view record) {
  struct stat about{};
  if (fstat(file_.number(), &about) != 0 || about.st_nlink == 0) {  // the system would write it for nobody
    errno = ENOENT;
    return false;
  }
  for (std::size_t done = 0; done < record.size();) {
    ssize_t const n = ::write(file_.number(), record.data() + done, record.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      undo(size_);  // readers stop at a broken record
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += record.size();
  return true;
}

[[noreturn]] MESHTF_DEFINE void growing_file::refuse(std::string const& why) const {
  throw unavailable("expected a log that can be written, got '" + path_ + "': " + why +
                    ": name another folder");
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
