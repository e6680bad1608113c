// The calls of the system that a save makes, counted, and a fault at one of them.
//
// Calls count while `counts` is true: those with a path in `folder`, and those with a file. At call number
// `number` the fault comes; `lasts` says that it comes at each later one, too: those that only read go on
// then, and where there is no space those that remove.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <string>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace system_calls {

enum class kind { open, write, sync, rename, exchange, remove, remove_folder, make_folder };

/// What a call does to the medium.
enum class effect { reads, takes, frees };

/// What a fault does.
enum class fault { none, kills, stops, fails, writes_one_byte, sleeps, hooked };

struct state {
  bool counts        = false;
  std::string folder = "?";
  int calls          = 0;
  fault comes        = fault::none;
  int number         = 0;
  int error          = 0;
  bool lasts         = false;
  bool has_come      = false;
  void (*hook)()     = nullptr;
  bool syncs         = true;  // whether fsync waits for the disk
};
inline state current;

/// A call that was made: `file` is its descriptor, or -1.
inline void (*note)(kind, int file, char const* path, char const* to, void const* bytes, std::size_t n,
                    off_t offset) = nullptr;
inline void (*lock)(bool)         = nullptr;

inline bool is_spared(effect e) {
  auto const& s = current;
  return s.lasts && (e == effect::reads || (e == effect::frees && s.error != EROFS));
}

/// Whether the call is to be made; if not, `errno` says why.
inline bool goes_on(effect e = effect::takes) {
  auto& s = current;
  if (!s.counts) return true;
  ++s.calls;
  if (s.comes == fault::none || s.calls < s.number || (s.calls > s.number && !s.lasts) || is_spared(e))
    return true;
  s.has_come = true;
  switch (s.comes) {
    case fault::kills: kill(getpid(), SIGKILL); break;
    case fault::stops: kill(getpid(), SIGSTOP); break;
    case fault::sleeps: usleep(2000); break;
    case fault::hooked: s.hook(); break;
    case fault::fails: errno = s.error; return false;
    case fault::none:
    case fault::writes_one_byte: break;
  }
  return true;
}

inline bool concerns(char const* path) { return std::strstr(path, current.folder.c_str()) != nullptr; }
inline bool goes_on(char const* path, effect e = effect::takes) { return !concerns(path) || goes_on(e); }

struct locked {
  locked() {
    if (lock != nullptr) lock(true);
  }
  locked(locked const&) = delete;
  ~locked() {
    if (lock != nullptr) lock(false);
  }
};

template<class Call>
int made(kind k, int file, char const* path, char const* to, Call const& call) {
  locked const here;
  int const result = static_cast<int>(call());
  if (result >= 0 && note != nullptr && current.counts) {
    int const reason = errno;
    note(k, k == kind::open ? result : file, path, to, nullptr, 0, 0);
    errno = reason;
  }
  return result;
}

inline ssize_t written(int file, void const* bytes, std::size_t n, off_t to) {
  if (!goes_on()) return -1;
  auto const& s       = current;
  bool const is_short = s.counts && s.comes == fault::writes_one_byte && s.calls == s.number;
  locked const here;
  std::size_t const some = is_short ? 1 : n;
  ssize_t const done =
      to < 0 ? syscall(SYS_write, file, bytes, some) : syscall(SYS_pwrite64, file, bytes, some, to);
  if (done > 0 && note != nullptr && s.counts)
    note(kind::write, file, "", "", bytes, static_cast<std::size_t>(done), to);
  return done;
}

}  // namespace system_calls

// The program's own, which libraries find before the system's.
extern "C" {

int open(char const* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  bool const reads = (flags & (O_CREAT | O_WRONLY | O_RDWR)) == 0;
  using system_calls::effect;
  if (!system_calls::concerns(path))
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (!system_calls::goes_on(reads ? effect::reads : effect::takes)) return -1;
  return system_calls::made(system_calls::kind::open, -1, path, "",
                            [&] { return syscall(SYS_openat, AT_FDCWD, path, flags, mode); });
}
DIR* opendir(char const* path) {
  if (!system_calls::goes_on(path, system_calls::effect::reads)) return nullptr;
  static auto* const real = reinterpret_cast<DIR* (*)(char const*)>(dlsym(RTLD_NEXT, "opendir"));
  return real(path);
}
ssize_t write(int file, void const* bytes, std::size_t n) {
  return system_calls::written(file, bytes, n, -1);
}
ssize_t pwrite(int file, void const* bytes, std::size_t n, off_t to) {
  return system_calls::written(file, bytes, n, to);
}
int fsync(int file) {
  if (!system_calls::goes_on()) return -1;
  return system_calls::made(system_calls::kind::sync, file, "", "",
                            [&] { return system_calls::current.syncs ? syscall(SYS_fsync, file) : 0; });
}
int rename(char const* from, char const* to) noexcept {
  if (!system_calls::goes_on(to)) return -1;
  return system_calls::made(system_calls::kind::rename, -1, from, to,
                            [&] { return syscall(SYS_rename, from, to); });
}
int renameat2(int, char const* from, int, char const* to, unsigned flags) noexcept {
  if (!system_calls::goes_on(to)) return -1;
  return system_calls::made(system_calls::kind::exchange, -1, from, to,
                            [&] { return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags); });
}
/// Not noted: a checkpoint links no file.
int link(char const* from, char const* to) noexcept {
  if (!system_calls::goes_on(to)) return -1;
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(char const* path) noexcept {
  if (!system_calls::goes_on(path, system_calls::effect::frees)) return -1;
  return system_calls::made(system_calls::kind::remove, -1, path, "",
                            [&] { return syscall(SYS_unlink, path); });
}
int rmdir(char const* path) noexcept {
  if (!system_calls::goes_on(path, system_calls::effect::frees)) return -1;
  return system_calls::made(system_calls::kind::remove_folder, -1, path, "",
                            [&] { return syscall(SYS_rmdir, path); });
}
int mkdir(char const* path, mode_t mode) noexcept {
  if (!system_calls::goes_on(path)) return -1;
  return system_calls::made(system_calls::kind::make_folder, -1, path, "",
                            [&] { return syscall(SYS_mkdir, path, mode); });
}
}
