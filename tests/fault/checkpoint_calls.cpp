// A save in parts that ends, or fails, at any of its calls of the system loses nothing: checkpoint_calls
// FOLDER HOW
//
// HOW     4 processes. At the k-th call of each of them, for every k:
// kill    all are as if they had been killed: no later call of any process does anything
// EIO     this call fails so; also ENOSPC and EINTR
// short   this write writes one byte
//
// asynchronous-kill and so on: a thread writes, and other values are in the arrays before it has ended.
//
// Each case saves step 3 after steps 1 and 2, and step 2 again with other values. After the fault the newest
// checkpoint that has a name loads, with its values, and the same step saves again. Status 0, and one line
// with the number of cases.
#include "checkpoint.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <meshtf/io/asynchronous_saves.hpp>

namespace {

enum class fault { none, kill, failure, short_write };

struct {
  fault how                   = fault::none;
  int error                   = 0;
  int at                      = 0;  // the number of the call, from 1; 0 on processes that have none
  int calls                   = 0;
  bool counts                 = false;
  std::string folder          = "?";
  std::atomic<int>* all_ended = nullptr;  // shared by all processes
} injected;

/// Whether a call is to do something; if not, `errno` says why.
bool goes_on() {
  if (!injected.counts) return true;
  if (++injected.calls == injected.at && injected.how == fault::kill) *injected.all_ended = 1;
  bool const fails = injected.how == fault::failure && injected.calls == injected.at;
  if (*injected.all_ended == 0 && !fails) return true;
  errno = fails ? injected.error : EIO;
  return false;
}

bool concerns(char const* path) { return std::strstr(path, injected.folder.c_str()) != nullptr; }

bool goes_on(char const* path) { return !concerns(path) || goes_on(); }

}  // namespace

// The program's own, which libraries find before the system's.
extern "C" {

int open(char const* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return goes_on(path) ? static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode)) : -1;
}
ssize_t pwrite(int file, void const* bytes, std::size_t n, off_t to) {
  if (!goes_on()) return -1;
  bool const is_short =
      injected.counts && injected.how == fault::short_write && injected.calls == injected.at;
  return syscall(SYS_pwrite64, file, bytes, is_short ? 1 : n, to);
}
int fsync(int file) { return goes_on() ? static_cast<int>(syscall(SYS_fsync, file)) : -1; }
int rename(char const* from, char const* to) noexcept {
  return goes_on(to) ? static_cast<int>(syscall(SYS_rename, from, to)) : -1;
}
int renameat2(int, char const* from, int, char const* to, unsigned flags) noexcept {
  return goes_on(to) ? static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags)) : -1;
}
int unlink(char const* path) noexcept {
  return goes_on(path) ? static_cast<int>(syscall(SYS_unlink, path)) : -1;
}
int rmdir(char const* path) noexcept {
  return goes_on(path) ? static_cast<int>(syscall(SYS_rmdir, path)) : -1;
}
int mkdir(char const* path, mode_t mode) noexcept {
  return goes_on(path) ? static_cast<int>(syscall(SYS_mkdir, path, mode)) : -1;
}
}

namespace {

struct side : meshtf::dim<32> {};

template<meshtf::Layout L>
class trial {
public:
  trial(boost::mpi::communicator const& world, std::string folder, bool asynchronous)
      : m_{world}, folder_{std::move(folder)}, asynchronous_{asynchronous} {
    meshtf::detail::chunk_bytes = 4096;
    if (m_.rank() == 0) {
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directories(folder_);
    }
    injected.folder = folder_ + "/step-";
    share_flag();
  }

  /// The number of cases.
  int all_cases() {
    int cases = 0;
    for (bool again : {false, true}) {
      int const calls = run(again, -1, 0);
      for (int rank = 0; rank < m_.world().size(); ++rank) {
        int count = m_.rank() == rank ? calls : 0;
        meshtf::broadcast(m_.world(), &count, 1, rank);
        if (count < 5 || count > 60)
          throw meshtf::software_error{"expected 5 to 60 calls of a process, got " + std::to_string(count)};
        for (int k = 1; k <= count + 1; ++k, ++cases) run(again, rank, k);
      }
    }
    return cases;
  }

private:
  void share_flag() {
    std::string const path = folder_ + "/flag";
    if (m_.rank() == 0) std::ofstream{path} << std::string(sizeof(std::atomic<int>), '\0');
    m_.world().barrier();
    int const file     = open(path.c_str(), O_RDWR);
    void* const at     = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    injected.all_ended = static_cast<std::atomic<int>*>(at);
    *injected.all_ended = 0;
    if (at == MAP_FAILED) throw meshtf::software_error{"no shared memory"};
  }

  void set(float x) {
    std::fill_n(w_.data(), w_.size, x);
    std::fill_n(b_.data(), b_.size, double{x} + 0.5);
  }
  bool has(float x) {
    return std::all_of(w_.data(), w_.data() + w_.size, [x](float y) { return x == y; }) &&
           std::all_of(b_.data(), b_.data() + b_.size, [x](double y) { return double{x} + 0.5 == y; });
  }
  auto list() { return parameters(named("w", w_), named("b", b_)); }
  void save_as(std::uint64_t step, float value) {
    set(value);
    if (!asynchronous_) return save(list(), {step, 7}, folder_, {.in_parts = true});
    meshtf::asynchronous_saves saves{m_};
    saves.save(list(), {step, 7}, folder_);
    set(-2);
    while (!saves.poll()) {
    }
    saves.finish();
  }

  /// Process `rank` has the fault at call k; returns its calls.
  int run(bool again, int rank, int k) {
    if (m_.rank() == 0)
      for (auto const& entry : std::filesystem::directory_iterator{folder_})
        if (entry.is_directory()) std::filesystem::remove_all(entry.path());
    m_.world().barrier();
    save_as(1, 1);
    save_as(2, 2);
    std::uint64_t const step = again ? 2 : 3;
    float const value        = again ? 20 : 3;
    m_.world().barrier();
    injected.calls      = 0;
    injected.at         = m_.rank() == rank ? k : 0;
    *injected.all_ended = 0;
    m_.world().barrier();
    bool failed     = false;
    injected.counts = true;
    try {
      save_as(step, value);
    } catch (meshtf::unavailable const&) {
      failed = true;
    } catch (meshtf::no_input const&) {
      failed = true;
    }
    m_.world().barrier();
    injected.counts        = false;
    *injected.all_ended    = 0;
    int const calls        = injected.calls;
    std::string const what = std::string{again ? "again" : "next"} + ", call " + std::to_string(k) +
                             " of process " + std::to_string(rank);
    set(-1);
    auto const found  = load(list(), folder_).step;
    bool const is_old = found == 2 && has(2);
    bool const is_new = found == step && has(value);
    if (!is_old && !is_new) throw meshtf::software_error{what + ": loaded step " + std::to_string(found)};
    if (!failed && !is_new) throw meshtf::software_error{what + ": saved, but it is not there"};
    save_as(step, value);
    set(-1);
    load(list(), folder_);
    if (!has(value)) throw meshtf::software_error{what + ": can't be saved again"};
    m_.world().barrier();
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator{folder_})
      if (entry.is_directory()) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    if (names != std::vector<std::string>{again ? "step-00000001" : "step-00000002",
                                          again ? "step-00000002" : "step-00000003"})
      throw meshtf::software_error{what + ": left something, " + names.back()};
    m_.world().barrier();
    return calls;
  }

  meshtf::process_mesh<typename L::mesh_type> m_;
  std::string folder_;
  bool asynchronous_;
  meshtf::parameter<float, L, side, out> w_{m_, meshtf::constant{0}};
  meshtf::parameter<double, L, out> b_{m_, meshtf::constant{0}};
};

}  // namespace

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string const& folder, std::string const& said) {
  constexpr std::string_view prefix = "asynchronous-";
  bool const asynchronous           = said.starts_with(prefix);
  std::string const how             = asynchronous ? said.substr(prefix.size()) : said;
  injected.how                      = fault::failure;
  if (how == "kill") injected.how = fault::kill;
  if (how == "short") injected.how = fault::short_write;
  if (how == "EIO") injected.error = EIO;
  if (how == "ENOSPC") injected.error = ENOSPC;
  if (how == "EINTR") injected.error = EINTR;
  int const cases = trial<L>{world, folder, asynchronous}.all_cases();
  if (world.rank() == 0) std::printf("%d cases of %s\n", cases, said.c_str());
}
