// Four processes that are forked, and messages between them by shared memory: a job that starts in a
// millisecond, so that hundreds can be killed. What MPI's functions are called by is the library itself.
//
//   int const status = forked::run_job([] { ... });   // the body of each process
//
// The job ends as mpirun ends one: the first process that fails ends the others. Its status is that of the
// process, or 128 + the number of its signal.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include <meshtf/meshtf.hpp>

namespace forked {

inline constexpr int processes = 4;

/// The status of a job that had not ended after its time.
inline constexpr int late = 124;

/// What the processes share.
struct shared_memory {
  static constexpr std::size_t slot_bytes = std::size_t{1} << 18;

  std::atomic<int> arrived{0};
  std::atomic<int> round{0};
  struct box {
    std::atomic<int> full{0};
    std::size_t n = 0;
    char bytes[slot_bytes];
  };
  box slots[processes];
  box mail[processes][processes];  // from, to
  struct report {
    int status = 0;
    char text[1000]{};
    int system_calls = 0;
    int collectives  = 0;
    int allocations  = 0;
    bool fault_came  = false;
  };
  report reports[processes];
};

template<class T>
T* share() {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return ::new (memory) T;
}

inline shared_memory* const shared = share<shared_memory>();
inline int rank                    = 0;

/// Called before and after each message of this process, if it is not null.
inline void (*before_collective)() = nullptr;
inline void (*after_collective)()  = nullptr;

inline shared_memory::report& own_report() { return shared->reports[rank]; }

template<class Condition>
void wait_until(Condition const& holds) {
  for (int i = 0; !holds(); ++i)
    if (i < 200) sched_yield();
    else usleep(50);
}

inline void meet() {
  int const round = shared->round.load();
  if (++shared->arrived == processes) {
    shared->arrived = 0;
    ++shared->round;
  } else {
    wait_until([&] { return shared->round.load() != round; });
  }
}

inline void sleep_for_milliseconds(long n) {
  timespec const rest{.tv_sec = n / 1000, .tv_nsec = n % 1000 * 1'000'000};
  nanosleep(&rest, nullptr);
}

/// Runs f in a process, and ends it with its status.
template<class F>
[[noreturn]] void be_process(int number, F const& f) {
  rank = number;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto& mine = own_report();
  try {
    f();
  } catch (...) {
    auto const failure = meshtf::detail::failure_of(std::current_exception());
    std::snprintf(mine.text, sizeof mine.text, "%s", failure.text.c_str());
    // the status last: where another process fails, this one may be killed at any time
    std::atomic_signal_fence(std::memory_order_release);
    mine.status = failure.exit_status;
  }
  std::fflush(stderr);
  std::_Exit(mine.status);
}

/// `f` on each process. `seconds`: when it is ended, with the status `late`.
template<class F>
int run_job(F const& f, double seconds = 20) {
  ::new (shared) shared_memory;
  pid_t started[processes];
  for (int r = 0; r < processes; ++r) {
    started[r] = fork();
    if (started[r] == 0) be_process(r, f);
  }
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds};
  int status     = 0;
  for (int left = processes; left > 0;) {
    bool ended = false;
    for (pid_t& process : started) {
      int found = 0;
      if (process == 0 || waitpid(process, &found, WNOHANG) != process) continue;
      ended   = true;
      process = 0;
      --left;
      if (found == 0 || status != 0) continue;
      status = WIFSIGNALED(found) ? 128 + WTERMSIG(found) : WEXITSTATUS(found);
      sleep_for_milliseconds(1);  // as long as a launcher needs at least
      for (pid_t const other : started)
        if (other != 0) kill(other, SIGKILL);
    }
    if (ended) continue;
    if (status == 0 && std::chrono::steady_clock::now() > end) {
      status = late;
      for (pid_t const other : started)
        if (other != 0) kill(other, SIGKILL);
    }
    usleep(100);
  }
  return status;
}

/// The text of the exception that ended a process, of those that one has ended.
inline std::string said() {
  for (auto const& r : shared->reports)
    if (r.status != 0) return r.text;
  return "nothing";
}

// ---- what MPI's functions do

inline std::size_t bytes_of(MPI_Datatype type) {
  if (type == MPI_FLOAT || type == MPI_INT) return 4;
  if (type == MPI_DOUBLE || type == MPI_INT64_T || type == MPI_UINT64_T) return 8;
  if (type == MPI_UINT16_T) return 2;
  if (type == MPI_CXX_BOOL || type == MPI_CHAR || type == MPI_BYTE) return 1;
  std::fprintf(stderr, "forked: a type of data that is not known here\n");
  std::abort();
}

inline void put(shared_memory::box& box, void const* bytes, std::size_t n) {
  if (n > shared_memory::slot_bytes) std::abort();
  std::memcpy(box.bytes, bytes, n);
  box.n = n;
}

struct collective_call {
  collective_call() {
    ++own_report().collectives;
    if (before_collective != nullptr) before_collective();
  }
  collective_call(collective_call const&) = delete;
  ~collective_call() {
    if (after_collective != nullptr) after_collective();
  }
};

template<class T>
void join_as(MPI_Op op, void* z, void const* x, int n) {
  auto* const to         = static_cast<T*>(z);
  auto const* const from = static_cast<T const*>(x);
  for (int i = 0; i < n; ++i)
    if (op == MPI_SUM) to[i] = static_cast<T>(to[i] + from[i]);
    else if (op == MPI_MAX) to[i] = to[i] < from[i] ? from[i] : to[i];
    else if (op == MPI_MIN) to[i] = from[i] < to[i] ? from[i] : to[i];
    else std::abort();
}

/// Operations that were made: each takes the place of one that nobody uses.
inline MPI_User_function* made[6]{};
inline MPI_Op const places[]{MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
inline int made_count = 0;

inline void join(MPI_Op op, MPI_Datatype type, void* z, void* x, int n) {
  for (int i = 0; i < made_count; ++i)
    if (places[i] == op) return made[i](x, z, &n, &type);
  if (type == MPI_FLOAT) join_as<float>(op, z, x, n);
  else if (type == MPI_DOUBLE) join_as<double>(op, z, x, n);
  else if (type == MPI_INT) join_as<int>(op, z, x, n);
  else if (type == MPI_INT64_T) join_as<std::int64_t>(op, z, x, n);
  else if (type == MPI_UINT64_T) join_as<std::uint64_t>(op, z, x, n);
  else std::abort();
}

inline bool is_alone(MPI_Comm comm) { return comm == MPI_COMM_SELF; }

}  // namespace forked

// The program's own, which libraries find before those of MPI.
extern "C" {

int MPI_Initialized(int* up) { return *up = 1, MPI_SUCCESS; }
int MPI_Finalized(int* ended) { return *ended = 0, MPI_SUCCESS; }
int MPI_Comm_test_inter(MPI_Comm, int* between_groups) {  // which libmpi_cxx asks when it is loaded
  return *between_groups = 0, MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = forked::is_alone(comm) ? 0 : forked::rank;
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm comm, int* size) {
  *size = forked::is_alone(comm) ? 1 : forked::processes;
  return MPI_SUCCESS;
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return *made = comm, MPI_SUCCESS; }
int MPI_Comm_free(MPI_Comm*) { return MPI_SUCCESS; }
int MPI_Comm_set_name(MPI_Comm, char const*) { return MPI_SUCCESS; }
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int* key, void*) {
  return *key = 0, MPI_SUCCESS;
}
int MPI_Comm_set_attr(MPI_Comm, int, void*) { return MPI_SUCCESS; }
int MPI_Comm_delete_attr(MPI_Comm, int) { return MPI_SUCCESS; }
int MPI_Comm_get_attr(MPI_Comm, int, void*, int* found) { return *found = 0, MPI_SUCCESS; }

/// Either all stay together, or each is alone.
int MPI_Comm_split(MPI_Comm, int color, int, MPI_Comm* made) {
  forked::put(forked::shared->slots[forked::rank], &color, sizeof color);
  forked::meet();
  int first = 0;
  std::memcpy(&first, forked::shared->slots[forked::rank == 0 ? 1 : 0].bytes, sizeof first);
  forked::meet();
  *made = first == color ? MPI_COMM_WORLD : MPI_COMM_SELF;
  return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function* f, int, MPI_Op* op) {
  if (forked::made_count == 6) std::abort();
  forked::made[forked::made_count] = f;
  *op                              = forked::places[forked::made_count++];
  return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
  forked::collective_call const here;
  if (!forked::is_alone(comm)) forked::meet();
  return MPI_SUCCESS;
}

int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  forked::collective_call const here;
  if (forked::is_alone(comm)) return MPI_SUCCESS;
  std::size_t const bytes = forked::bytes_of(type) * static_cast<std::size_t>(n);
  if (forked::rank == root) forked::put(forked::shared->slots[root], data, bytes);
  forked::meet();
  if (forked::rank != root) std::memcpy(data, forked::shared->slots[root].bytes, bytes);
  forked::meet();
  return MPI_SUCCESS;
}

int MPI_Allreduce(void const* sent, void* data, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  forked::collective_call const here;
  std::size_t const bytes = forked::bytes_of(type) * static_cast<std::size_t>(n);
  if (sent != MPI_IN_PLACE) std::memcpy(data, sent, bytes);
  if (forked::is_alone(comm)) return MPI_SUCCESS;
  forked::put(forked::shared->slots[forked::rank], data, bytes);
  forked::meet();
  std::memcpy(data, forked::shared->slots[0].bytes, bytes);
  for (int r = 1; r < forked::processes; ++r) forked::join(op, type, data, forked::shared->slots[r].bytes, n);
  forked::meet();
  return MPI_SUCCESS;
}

int MPI_Allgather(void const* sent, int n, MPI_Datatype type, void* data, int each, MPI_Datatype each_type,
                  MPI_Comm comm) {
  forked::collective_call const here;
  std::size_t const bytes = forked::bytes_of(each_type) * static_cast<std::size_t>(each);
  auto* const to          = static_cast<char*>(data);
  bool const is_there     = sent == MPI_IN_PLACE;
  if (!is_there && (n != each || type != each_type)) std::abort();
  if (forked::is_alone(comm)) {
    if (!is_there) std::memcpy(to, sent, bytes);
    return MPI_SUCCESS;
  }
  forked::put(forked::shared->slots[forked::rank],
              is_there ? to + bytes * static_cast<std::size_t>(forked::rank) : sent, bytes);
  forked::meet();
  for (std::size_t r = 0; r < forked::processes; ++r)
    std::memcpy(to + bytes * r, forked::shared->slots[r].bytes, bytes);
  forked::meet();
  return MPI_SUCCESS;
}

int MPI_Ssend(void const* data, int n, MPI_Datatype type, int to, int, MPI_Comm) {
  forked::collective_call const here;
  auto& box = forked::shared->mail[forked::rank][to];
  forked::put(box, data, forked::bytes_of(type) * static_cast<std::size_t>(n));
  box.full = 1;
  forked::wait_until([&] { return box.full == 0; });
  return MPI_SUCCESS;
}

int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int, MPI_Comm, MPI_Status*) {
  forked::collective_call const here;
  auto& box = forked::shared->mail[from][forked::rank];
  forked::wait_until([&] { return box.full == 1; });
  if (box.n > forked::bytes_of(type) * static_cast<std::size_t>(n)) std::abort();
  std::memcpy(data, box.bytes, box.n);
  box.full = 0;
  return MPI_SUCCESS;
}
}
