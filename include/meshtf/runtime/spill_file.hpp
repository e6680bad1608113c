// The file of a process that arrays leave memory for: one thread writes and reads it, in the order asked for.
#pragma once

#include <memory>
#include <string>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/price/spilled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <meshtf/core/error.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/free_ranges.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// It is made when the first array leaves, has no name (so nothing is left of a process that is killed), and
/// is read and written past the system's page cache, which would hold in memory what has left it. The thread
/// calls no MPI, and copies each array through a buffer of its own, as such files need whole pages. Another
/// thread, the one that owns the mesh, calls all members.
class spill_file {
public:
  spill_file();
  spill_file(spill_file const&)     = delete;
  void operator=(spill_file const&) = delete;
  ~spill_file();

  /// Where the file will be, unless the environment says it.
  /// Errors: `usage_error` once the file is there.
  void put_into(std::string folder);

  /// Begins to write an array, which must not be written or freed before `wait`. The first time, it gets a
  /// place; the processes `together` do the same, and an error of one is one of all.
  /// Errors: `unavailable` if the file can't be made or has no room.
  void write(void const* x, extent bytes, file_place& p, boost::mpi::communicator const& together);
  /// Begins to read it back.
  void read(void* x, extent bytes, file_place& p);
  /// Waits for the latest request that concerns the place.
  /// Errors: `unavailable` if the system could not write or read it.
  void wait(file_place const& p);
  /// Nobody needs what is written to the place: waits only if it is being written.
  void recall(file_place const& p) noexcept;
  /// The place is free.
  void forget(file_place const& p) noexcept;

  /// Seconds in which the program waited.
  double seconds_waited() const;
  /// Bytes that the file has room for.
  extent bytes() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

#if MESHTF_DEFINES_RUNTIME

struct spill_file::state {
  static constexpr extent page  = 4096;
  static constexpr extent piece = extent{4} << 20;

  struct request {
    char* x       = nullptr;
    extent bytes  = 0;
    extent start  = 0;
    bool is_write = false;
  };

  state()                      = default;
  state(state const&)          = delete;
  void operator=(state const&) = delete;
  ~state();

  // ---- of the thread that owns the mesh
  void open_file(bool speaks);
  void extend(extent bytes);
  long ask(request const& r);
  int wait(long number);
  bool cancel(long number);

  std::string folder;
  free_ranges unused;
  extent size   = 0;
  double waited = 0;

  // ---- of the thread that works on the file
  static void* run(void* me);
  void work();
  /// errno, or 0
  int carry_out(request const& r);
  int transfer(bool is_write, extent bytes, extent start);

  int file        = -1;
  char* buffer    = nullptr;
  bool is_direct  = false;
  bool has_thread = false;
  pthread_t thread{};

  // ---- of both, with the mutex
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t asked  = PTHREAD_COND_INITIALIZER;
  pthread_cond_t told   = PTHREAD_COND_INITIALIZER;
  std::vector<request> ring;  // number n is at n modulo its size
  long last_asked    = 0;
  long last_begun    = 0;
  long last_done     = 0;
  int failed         = 0;  // errno of the first failure
  bool fails_writing = false;
  bool ends          = false;
};

/// Locks a mutex while it lives.
class locked_mutex {
public:
  explicit locked_mutex(pthread_mutex_t& m) : mutex_(m) { pthread_mutex_lock(&mutex_); }
  locked_mutex(locked_mutex const&)   = delete;
  void operator=(locked_mutex const&) = delete;
  ~locked_mutex() { pthread_mutex_unlock(&mutex_); }

private:
  pthread_mutex_t& mutex_;
};

MESHTF_DEFINE spill_file::spill_file()  = default;
MESHTF_DEFINE spill_file::~spill_file() = default;

MESHTF_DEFINE spill_file::state::~state() {
  if (has_thread) {
    {
      locked_mutex const lock{mutex};
      ends = true;
      pthread_cond_signal(&asked);
    }
    pthread_join(thread, nullptr);
  }
  if (buffer != nullptr) munmap(buffer, static_cast<std::size_t>(piece));
  if (file >= 0) close(file);
}

/// Of a file that arrays leave for, in the order of what a user can change.
MESHTF_DEFINE std::string spill_folder(std::string const& of_program) {
  char const* const value = std::getenv("MESHTF_SPILL");
  if (value != nullptr && *value != '\0') return value;
  return of_program.empty() ? "/tmp" : of_program;
}

MESHTF_DEFINE void spill_file::state::open_file(bool speaks) {
  folder = spill_folder(folder);
  file   = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {  // not on this file system
    std::string name = folder + "/meshtf-spill-XXXXXX";
    file             = mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) unlink(name.c_str());
  }
  if (file < 0)
    throw unavailable("expected a folder for arrays that leave memory, got '" + folder +
                      "': " + std::strerror(errno) + ": set MESHTF_SPILL to a folder on a disk");
  constexpr long tmpfs = 0x01021994;  // TMPFS_MAGIC of <linux/magic.h>
  struct statfs system{};
  bool const is_memory = fstatfs(file, &system) == 0 && static_cast<long>(system.f_type) == tmpfs;
  is_direct            = !is_memory && fcntl(file, F_SETFL, O_DIRECT) == 0;
  if (!is_direct && speaks)
    std::fputs(("meshtf: arrays leave for " + folder + ", " +
                (is_memory ? "which is memory" : "which the system caches in memory") +
                ": what has left may still take memory: set MESHTF_SPILL to a folder on a disk\n")
                   .c_str(),
               stderr);
  void* const made = mmap(nullptr, static_cast<std::size_t>(piece), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc{};
  buffer = static_cast<char*>(made);
  ring.resize(64);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals must go to the program's own threads
  has_thread = pthread_create(&thread, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Reserves room at the end of the file: more than is asked for, if there is more.
MESHTF_DEFINE void spill_file::state::extend(extent bytes) {
  auto const reserve = [this](extent more) {
    int failure = 0;
    do {
      failure = fallocate(file, 0, size, more) == 0 ? 0 : errno;
    } while (failure == EINTR);
    // a file system that reserves nothing: a full disk is then found when it is written
    if (failure == EOPNOTSUPP) failure = ftruncate(file, size + more) == 0 ? 0 : errno;
    return failure;
  };
  extent more = std::max(bytes, std::max(4 * piece, (size / 8 + page - 1) / page * page));
  int failure = reserve(more);
  if (failure != 0) failure = reserve(more = bytes);
  if (failure != 0)
    throw unavailable("expected room for " + std::to_string(bytes) + " more bytes in " + folder +
                      ", which arrays leave memory for and which has " + std::to_string(size) +
                      " bytes of them, got: " + std::strerror(failure) +
                      ": set MESHTF_SPILL to a folder with more room, or spill less");
  size += more;
  unused.give_back({size - more, more});
}

MESHTF_DEFINE long spill_file::state::ask(request const& r) {
  if (!has_thread) {  // the system starts no thread: the program waits
    int const failure = carry_out(r);
    if (failure != 0 && failed == 0) failed = failure, fails_writing = r.is_write;
    return last_begun = last_done = ++last_asked;
  }
  locked_mutex const lock{mutex};
  auto const room = static_cast<long>(ring.size());
  if (last_asked - last_done == room) {
    std::vector<request> larger(2 * ring.size());
    for (long n = last_done + 1; n <= last_asked; ++n)
      larger[static_cast<std::size_t>(n % (2 * room))] = ring[static_cast<std::size_t>(n % room)];
    ring = std::move(larger);
  }
  ++last_asked;
  ring[static_cast<std::size_t>(last_asked) % ring.size()] = r;
  pthread_cond_signal(&asked);
  return last_asked;
}

/// Returns errno of the first failure so far, or 0.
MESHTF_DEFINE int spill_file::state::wait(long number) {
  locked_mutex const lock{mutex};
  if (last_done >= number) return failed;
  auto const now = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double const begin = now();
  while (last_done < number) pthread_cond_wait(&told, &mutex);
  waited += now() - begin;
  return failed;
}

/// Whether it will not be carried out, as it has not begun.
MESHTF_DEFINE bool spill_file::state::cancel(long number) {
  locked_mutex const lock{mutex};
  if (number <= last_begun) return false;
  ring[static_cast<std::size_t>(number) % ring.size()].bytes = 0;
  return true;
}

MESHTF_DEFINE void* spill_file::state::run(void* me) {
  static_cast<state*>(me)->work();
  return nullptr;
}

MESHTF_DEFINE void spill_file::state::work() {
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (last_asked == last_done && !ends) pthread_cond_wait(&asked, &mutex);
    if (ends) break;
    last_begun      = last_done + 1;
    request const r = ring[static_cast<std::size_t>(last_begun) % ring.size()];
    pthread_mutex_unlock(&mutex);
    int const failure = carry_out(r);
    pthread_mutex_lock(&mutex);
    if (failure != 0 && failed == 0) failed = failure, fails_writing = r.is_write;
    last_done = last_begun;
    pthread_cond_broadcast(&told);
  }
  pthread_mutex_unlock(&mutex);
}

MESHTF_DEFINE int spill_file::state::carry_out(request const& r) {
  for (extent i = 0; i < r.bytes; i += piece) {
    extent const some  = std::min(piece, r.bytes - i);
    extent const whole = (some + page - 1) / page * page;
    auto const n       = static_cast<std::size_t>(some);
    if (r.is_write) std::memcpy(buffer, r.x + i, n);
    if (int const failure = transfer(r.is_write, whole, r.start + i); failure != 0) return failure;
    if (!r.is_write) std::memcpy(r.x + i, buffer, n);
  }
  return 0;
}

/// Between the buffer and the file.
MESHTF_DEFINE int spill_file::state::transfer(bool is_write, extent bytes, extent start) {
  for (extent done = 0; done < bytes;) {
    auto const rest = static_cast<std::size_t>(bytes - done);
    auto const n    = is_write ? pwrite(file, buffer + done, rest, start + done)
                               : pread(file, buffer + done, rest, start + done);
    if (n > 0) {
      done += n;
    } else if (n == 0) {
      return EIO;                               // the file ends too early
    } else if (errno == EINVAL && is_direct) {  // this system wants larger pages
      is_direct = false;
      fcntl(file, F_SETFL, 0);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

MESHTF_DEFINE void spill_file::put_into(std::string folder) {
  if (state_ != nullptr && state_->file >= 0)
    throw usage_error(
        "expected spill_to before the first array leaves memory, got it later: the file is in " +
        state_->folder + " already");
  if (state_ == nullptr) state_ = std::make_unique<state>();
  state_->folder = std::move(folder);
}

MESHTF_DEFINE void spill_file::write(void const* x, extent bytes, file_place& p,
                                     boost::mpi::communicator const& together) {
  if (state_ == nullptr) state_ = std::make_unique<state>();
  if (p.start < 0) {
    if (state_->file < 0) agreed(together, [&] { state_->open_file(together.rank() == 0); });
    p.bytes = (bytes + state::page - 1) / state::page * state::page;
    p.start = state_->unused.take(p.bytes);
    if (p.start < 0) {
      agreed(together, [&] { state_->extend(p.bytes); });
      p.start = state_->unused.take(p.bytes);
    }
  }
  // the thread only reads what it writes to the file
  p.request = state_->ask({static_cast<char*>(const_cast<void*>(x)), bytes, p.start, true});
}

MESHTF_DEFINE void spill_file::read(void* x, extent bytes, file_place& p) {
  p.request = state_->ask({static_cast<char*>(x), bytes, p.start, false});
}

MESHTF_DEFINE void spill_file::wait(file_place const& p) {
  int const failure = state_->wait(p.request);
  if (failure == 0) return;
  throw unavailable(std::string{"expected "} + (state_->fails_writing ? "to write" : "to read back") +
                    " arrays that leave memory for " + state_->folder + ", got: " + std::strerror(failure) +
                    ": set MESHTF_SPILL to another folder, or spill nothing");
}

MESHTF_DEFINE void spill_file::recall(file_place const& p) noexcept {
  if (!state_->cancel(p.request)) state_->wait(p.request);
}

MESHTF_DEFINE void spill_file::forget(file_place const& p) noexcept {
  if (p.start < 0) return;
  recall(p);
  state_->unused.give_back({p.start, p.bytes});
}

MESHTF_DEFINE double spill_file::seconds_waited() const { return state_ == nullptr ? 0 : state_->waited; }
MESHTF_DEFINE extent spill_file::bytes() const { return state_ == nullptr ? 0 : state_->size; }

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
