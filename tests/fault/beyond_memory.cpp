// A model that needs four times the memory that there is: beyond_memory [WHAT]
//
//   (nothing)   trains it with weights, states and activations in the file, and then in memory
//   in_file     the first of these
//   in_memory   the second
//   paged       the second with its arrays in a mapped file, which the system pages
//
// In the file it must take what the dry run has said and 15 %, and have the losses that it has in memory;
// else the status is 70. What the process has before does not count: code, libraries, MPI, and what libraries
// allocate and compile in a first step, which is why a model of one block takes one. Nor does the buffer of
// 4 MiB of the file's thread. Prints `limit N`, which are all of these in bytes, `losses ...`, and of a step
// the seconds and the bytes that the disk moved.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <meshtf/meshtf.hpp>

namespace {

using meshtf::extent;
using meshtf::Layout;
using meshtf::MiB;

// clang-format off
struct batch  : meshtf::dim<128>  {};
struct in     : meshtf::dim<512>  {};
struct hidden : meshtf::dim<1024> {};
struct alone  : meshtf::layout<meshtf::mesh<>> {};
// clang-format on

constexpr int blocks = 20;
constexpr int steps  = 3;

template<Layout L>
struct block {
  meshtf::nn::linear<float, L, in, hidden> up;
  meshtf::nn::linear<float, L, hidden, in> down;

  constexpr block(meshtf::machine<L>& m, std::uint64_t seed)
      : up{m, meshtf::normal{seed, 0.04}}, down{m, meshtf::normal{seed + 1, 0.03}} {}
  template<class X>
  constexpr auto operator()(X const& x) const {
    return x + down(tanh(up(x)));
  }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

enum class place { memory, file };

template<Layout L>
struct training {
  using values = meshtf::tensor<float, L, batch, in>;

  std::vector<block<L>> net;
  meshtf::adamw opt{1e-3};
  meshtf::weights_in_file<meshtf::machine<L>> file;
  values x;
  place where;

  constexpr training(meshtf::machine<L>& m, place p, int n = blocks)
      : file{m}, x{meshtf::random_normal<float, L, batch, in>(m, {.seed = 99})}, where(p) {
    net.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      net.emplace_back(m, static_cast<std::uint64_t>(2 * i));
      if (where == place::file) file.send_away(net.back());  // before the next one is made
    }
    opt.spill_state = where == place::file;
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto result = loss();
    if (where == place::file) {
      backward(result, opt, parameters(net));
    } else {
      backward(result);
      opt.step(parameters(net));
    }
    return result;
  }

private:
  constexpr auto loss() {
    values h = called(net[0], x);
    for (std::size_t i = 1; i < net.size(); ++i) {
      values next = called(net[i], h);
      h           = std::move(next);
    }
    return mean(square(h));
  }
  constexpr values called(block<L>& b, values const& a) {
    if (where == place::memory) return b(a);
    return spill([this, &b](auto const& y) { return file(b, y); }, a);
  }
};

template<place Where>
struct whole_training {
  template<Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    training<L> program{m, Where};
    for (int i = 0; i < steps; ++i) program.step();
  }
};
template<place Where>
constexpr extent peak = meshtf::dry_run<alone>(whole_training<Where>{}).peak_bytes();

/// The first step does not know the order of the parts yet.
template<Layout L>
struct second_step : training<L> {
  constexpr explicit second_step(meshtf::machine<L>& m) : training<L>{m, place::file} { this->step(); }
};
constexpr extent spilled = meshtf::dry_run<second_step, alone>().bytes_spilled();

constexpr extent bytes_of(extent elements) { return elements * extent{sizeof(float)}; }
constexpr extent weights = blocks * bytes_of(2 * in::size * hidden::size + in::size + hidden::size);
// of each block its argument and tanh; but the first argument is data, and the last block's do not come back
constexpr extent argument    = bytes_of(batch::size * in::size);
constexpr extent inner       = bytes_of(batch::size * hidden::size);
constexpr extent activations = (2 * blocks - 1) * (argument + inner) - 2 * argument;
// Harmony's 3 |W| + 2 (|m| + |v|), and the activations
constexpr extent expected = 3 * weights + 2 * 2 * weights + activations;

static_assert(100 * spilled <= 101 * expected && 100 * spilled >= 99 * expected);
static_assert(100 * activations > 3 * expected);  // else that would not see whether they leave
static_assert(peak<place::memory> > 4 * peak<place::file>);

/// What the system says of this process: a number of /proc/self/status or /proc/self/io.
extent told(char const* file, std::string const& name) {
  std::ifstream said{std::string{"/proc/self/"} + file};
  for (std::string word; said >> word;)
    if (extent n = 0; word == name && said >> n) return n;
  throw meshtf::unavailable{"expected " + name + " in /proc/self/" + file + ", got none"};
}
extent resident() { return told("status", "VmRSS:") * meshtf::KiB; }
extent max_resident() { return told("status", "VmHWM:") * meshtf::KiB; }
double mebibytes(extent bytes) { return static_cast<double>(bytes) / static_cast<double>(MiB); }

using processes = meshtf::process_mesh<meshtf::mesh<>>;
using losses    = std::array<double, steps>;

/// Prints them, and of a step, without the first, the seconds and the bytes to the disk and back.
losses train(processes& m, training<alone>& program) {
  losses all{};
  double begin   = 0;
  double waited  = 0;
  extent read    = 0;
  extent written = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (i == 1) {
      begin   = MPI_Wtime();
      waited  = m.seconds_waited_for_file();
      read    = told("io", "read_bytes:");
      written = told("io", "write_bytes:");
    }
    all[i] = static_cast<double>(program.step().value());
  }
  double const seconds = (MPI_Wtime() - begin) / (steps - 1);
  waited               = (m.seconds_waited_for_file() - waited) / (steps - 1);
  read                 = (told("io", "read_bytes:") - read) / (steps - 1);
  written              = (told("io", "write_bytes:") - written) / (steps - 1);
  std::printf("losses");
  for (double const l : all) std::printf(" %a", l);
  std::printf(
      "\nseconds %.3f, of which %.3f waited for the file; MiB read %.1f, written %.1f; resident %.1f\n",
      seconds, waited, mebibytes(read), mebibytes(written), mebibytes(max_resident()));
  std::fflush(stdout);
  return all;
}

losses train_in_file(boost::mpi::communicator const& world) {
  extent const at_first = resident();
  {
    processes m{world};
    training<alone>{m, place::memory, 1}.step();
  }
  extent const before = resident();
  extent const may    = peak<place::file> + peak<place::file> * 15 / 100 + 4 * MiB;
  processes m{world};
  training<alone> program{m, place::file};
  losses const all  = train(m, program);
  extent const took = max_resident() - before;
  std::printf(
      "promised %.1f MiB, in memory %.1f; spilled %.1f a step\n"
      "took %.1f MiB, of which the pool has %.1f; before, %.1f of the program and %.1f with its libraries\n"
      "limit %lld\n",
      mebibytes(peak<place::file>), mebibytes(peak<place::memory>), mebibytes(spilled), mebibytes(took),
      mebibytes(static_cast<extent>(m.memory().reserved_bytes())), mebibytes(at_first), mebibytes(before),
      static_cast<long long>(before + may));
  std::fflush(stdout);
  if (m.peak_bytes() != peak<place::file>)
    throw meshtf::software_error{"expected a peak of " + std::to_string(peak<place::file>) +
                                 " bytes, as promised, got " + std::to_string(m.peak_bytes())};
  if (took > may)
    throw meshtf::software_error{"expected at most " + std::to_string(may) +
                                 " bytes, the promise and 15 % and the file's buffer, got " +
                                 std::to_string(took)};
  if (peak<place::memory> < 4 * (before + may))
    throw meshtf::software_error{"expected a model of four times the limit, got a process of " +
                                 std::to_string(before) + " bytes before the model is made"};
  auto const counted = meshtf::recorded<alone>(m, [&]<Layout L>(auto&) { program.step(); });
  if (counted.bytes_spilled() != spilled)
    throw meshtf::software_error{"expected " + std::to_string(spilled) +
                                 " bytes to the file and back, as promised, got " +
                                 std::to_string(counted.bytes_spilled())};
  return all;
}

losses train_in_memory(boost::mpi::communicator const& world) {
  processes m{world};
  training<alone> program{m, place::memory};
  return train(m, program);
}

int paged_file = -1;

void page_arrays() {
  char const* const folder = std::getenv("MESHTF_SPILL");
  paged_file               = open(folder != nullptr ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (paged_file < 0) throw meshtf::unavailable{"expected a folder for a mapped file, got none"};
}

}  // namespace

/// In place of the C library's: the arrays of a machine are in `paged_file`, if there is one.
extern "C" void* mmap(void* place, std::size_t bytes, int protection, int flags, int file,
                      off_t start) noexcept {
  if (paged_file >= 0 && flags == (MAP_PRIVATE | MAP_ANONYMOUS) && (protection & PROT_WRITE) != 0 &&
      bytes >= std::size_t{2 * MiB}) {
    file  = paged_file;
    flags = MAP_SHARED;
    start = lseek(file, 0, SEEK_END);
    if (ftruncate(file, start + static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, start));
}

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (what == "paged") page_arrays();
  if (what == "paged" || what == "in_memory") return train_in_memory(env.world()), 0;
  losses const in_file = train_in_file(env.world());
  if (what == "in_file") return 0;
  if (in_file != train_in_memory(env.world()))
    throw meshtf::software_error{"expected the losses of the model in memory, got others"};
}
