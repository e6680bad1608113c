// Kernel locks: they show which files a living job writes, and end with the process that holds them, however
// it ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
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

/// Removes a file whose writer, which held its lock, has ended. The file of a living writer stays, and so do
/// all files where there are no locks.
void remove_if_left_over(std::string const& path);

inline constexpr std::string_view partial_suffix = ".partial";

/// The name of the whole file if `name` is that of an unfinished one, "NAME.0123456789abcdef.partial" or, in
/// earlier versions, "NAME.partial"; else empty.
std::string_view whole_name(std::string_view name);

/// The locks of folders that this process holds. It keeps them until it ends, since between two saves a
/// folder still belongs to its job.
class folder_locks {
public:
  static folder_locks& of_this_process();

  /// Takes the lock of `folder`, unless this process already has it or the file system has no locks.
  /// Errors: `usage_error` if another process has it, `unavailable` if the system refuses otherwise.
  void take(std::string const& folder);

  static constexpr char const* name = ".lock";

private:
  static bool is_removed(file_descriptor const& file);
  static bool is_at(std::string const& path, file_descriptor const& file);
  /// Notes who holds the lock, for the messages of other jobs. A full disk does not matter here: the note
  /// only helps to find the job.
  static void note_holder(file_descriptor const& file);
  static std::string spelled_holder(file_descriptor const& file);

  std::vector<file_descriptor> held_;
};

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

MESHTF_DEFINE void remove_if_left_over(std::string const& path) {
  file_descriptor const file{path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW};
  if (file && lock(file) == lock_outcome::taken) ::unlink(path.c_str());
}

MESHTF_DEFINE std::string_view whole_name(std::string_view name) {
  constexpr std::size_t digits = 16;
  if (!name.ends_with(partial_suffix)) return {};
  name.remove_suffix(partial_suffix.size());
  if (name.size() > digits + 1 && name[name.size() - digits - 1] == '.' &&
      name.substr(name.size() - digits).find_first_not_of("0123456789abcdef") == name.npos)
    name.remove_suffix(digits + 1);
  return name;
}

MESHTF_DEFINE folder_locks& folder_locks::of_this_process() {
  static folder_locks held;
  return held;
}

MESHTF_DEFINE void folder_locks::take(std::string const& folder) {
  std::string const path = folder + "/" + name;
  for (;;) {
    std::erase_if(held_, is_removed);  // together with its folder
    if (std::any_of(held_.begin(), held_.end(),
                    [&path](file_descriptor const& file) { return is_at(path, file); }))
      return;
    file_descriptor file{path, O_RDWR | O_CREAT | O_NOFOLLOW};
    if (!file)
      throw unavailable("expected to lock the folder " + folder + " by the file " + path +
                        ", got: " + std::strerror(errno));
    auto const outcome = lock(file);
    if (outcome == lock_outcome::held_by_another)
      throw usage_error("expected one job to save in " + folder + ", got another that does" +
                        spelled_holder(file) + ": save to another folder, or end that job first");
    if (outcome == lock_outcome::not_known_here) return;
    if (!is_at(path, file)) continue;  // the folder was removed meanwhile, and another was made
    note_holder(file);
    return held_.push_back(std::move(file));
  }
}

MESHTF_DEFINE bool folder_locks::is_removed(file_descriptor const& file) {
  struct stat here{};
  ::fstat(file.number(), &here);
  return here.st_nlink == 0;
}

MESHTF_DEFINE bool folder_locks::is_at(std::string const& path, file_descriptor const& file) {
  struct stat there{}, here{};
  ::fstat(file.number(), &here);
  return ::stat(path.c_str(), &there) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

MESHTF_DEFINE void folder_locks::note_holder(file_descriptor const& file) {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string const text = "process " + std::to_string(::getpid()) + " on " + host.data() + "\n";
  if (::ftruncate(file.number(), 0) == 0 && ::pwrite(file.number(), text.data(), text.size(), 0) < 0)
    errno = 0;
}

MESHTF_DEFINE std::string folder_locks::spelled_holder(file_descriptor const& file) {
  std::array<char, 128> text{};
  auto const n = ::pread(file.number(), text.data(), text.size(), 0);
  std::string said{text.data(), static_cast<std::size_t>(std::max<decltype(n)>(n, 0))};
  said.resize(std::min(said.find('\n'), said.size()));
  for (char& c : said)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return said.empty() ? "" : " (" + said + ")";
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
