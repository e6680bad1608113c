// The locks of folders, and the files that a job has left unfinished.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/runtime/locked_file.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <array>
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
  /// Whether this process has it.
  bool has(std::string const& folder) const;

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
    if (has(folder)) return;
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

MESHTF_DEFINE bool folder_locks::has(std::string const& folder) const {
  std::string const path = folder + "/" + name;
  return std::any_of(held_.begin(), held_.end(),
                     [&path](file_descriptor const& file) { return is_at(path, file); });
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
