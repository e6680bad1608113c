// A file that a job writes: opened without waiting, and locked. A kernel lock shows which files a living job
// writes, and ends with the process that holds it, however it ends.
#pragma once

#include <string>
#include <utility>

#include <meshtf/core/compiled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// An open file, which is closed with its owner.
class file_descriptor {
public:
  file_descriptor(std::string const& path, int flags);
  explicit file_descriptor(int number) : number_{number} {}
  file_descriptor(file_descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Another owner closes it.
  int release() { return std::exchange(number_, -1); }
  /// Some file systems report a full disk only here.
  bool close();

private:
  int number_;
};

enum class lock_outcome { taken, held_by_another, not_known_here };

/// Takes the lock of an open file, which lasts as long as the file or a duplicate of its descriptor is open.
/// It is a lock of the open file: a lock of the process would end when any other part of the program closes
/// the same file. Some file systems have no locks.
lock_outcome lock(file_descriptor const& file);

/// What the file at `path` is, if it is no regular file: "it is a FIFO"; empty if it is one, or is not there.
std::string objection_to_file(std::string const& path);

/// A file that is open, or the reason why not.
struct opened_file {
  file_descriptor file;
  std::string refusal;
};

/// Opens a regular file, which is made if it is not there, with O_RDWR and `flags`. It never waits, as
/// opening a FIFO does, and does not write to what is no file.
opened_file open_to_write(std::string const& path, int flags = 0);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE file_descriptor::file_descriptor(std::string const& path, int flags)
    : number_{::open(path.c_str(), flags | O_CLOEXEC, 0666)} {}

MESHTF_DEFINE bool file_descriptor::close() {
  return number_ < 0 || ::close(std::exchange(number_, -1)) == 0;
}

MESHTF_DEFINE lock_outcome lock(file_descriptor const& file) {
#ifdef F_OFD_SETLK
  struct flock whole{};
  whole.l_type   = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int failed     = 0;
  do failed = ::fcntl(file.number(), F_OFD_SETLK, &whole);
  while (failed != 0 && errno == EINTR);
  if (failed == 0) return lock_outcome::taken;
  if (errno == EAGAIN || errno == EACCES) return lock_outcome::held_by_another;
#else
  static_cast<void>(file);
#endif
  return lock_outcome::not_known_here;
}

MESHTF_DEFINE std::string objection_to_mode(mode_t mode) {
  if (S_ISREG(mode)) return "";
  if (S_ISFIFO(mode)) return "it is a FIFO";
  if (S_ISSOCK(mode)) return "it is a socket";
  return S_ISDIR(mode) ? "it is a folder" : "it is a device";
}

MESHTF_DEFINE std::string objection_to_file(std::string const& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? objection_to_mode(about.st_mode) : "";
}

MESHTF_DEFINE opened_file open_to_write(std::string const& path, int flags) {
  if (auto const objection = objection_to_file(path); !objection.empty())
    return {file_descriptor{-1}, objection};
  file_descriptor file{path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | flags};
  struct stat about{};
  if (!file || ::fstat(file.number(), &about) != 0) return {file_descriptor{-1}, std::strerror(errno)};
  return {std::move(file), objection_to_mode(about.st_mode)};  // it may be another one since
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
