// What a checkpoint takes: the time of a save beside that of a plain write and fsync of the same bytes in the
// same folder, in turn; and how much longer steps take while a thread saves.
//
// One process, one thread, a perceptron with adamw: one whose state takes 516 MiB is saved, and one of a
// quarter of that makes steps of 2048 rows.
//
// Run:    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/release/benchmarks/checkpoint [--rounds N] (in the
// folder where it is to write; it needs 2 GB there, and a second core that is idle)
// Prints: the times of both, and of steps without a save, of the step that begins one, of steps while the
// thread writes, and of all of these together
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <meshtf/io/asynchronous_saves.hpp>
#include <meshtf/meshtf.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

struct solo : meshtf::axis<1> {};
struct line : meshtf::mesh<solo> {};
struct whole : meshtf::layout<line> {};
struct batch : meshtf::dim<2048> {};
template<meshtf::extent N>
struct in : meshtf::dim<N> {};
template<meshtf::extent N>
struct out : meshtf::dim<N> {};
template<meshtf::extent N>
struct hidden : meshtf::dim<N * 43 / 32> {};

/// With N = 4096: 45 million parameters of 4 bytes, and two means of each.
template<meshtf::extent N>
struct perceptron {
  meshtf::parameter<float, whole, in<N>, hidden<N>> first;
  meshtf::parameter<float, whole, hidden<N>, out<N>> second;
  meshtf::tensor<float, whole, batch, in<N>> x;
  meshtf::adamw opt{1e-6};

  explicit perceptron(meshtf::process_mesh<line>& m)
      : first{m, meshtf::normal{1}},
        second{m, meshtf::normal{1}},
        x{meshtf::random_normal<float, whole, batch, in<N>>(m, {.seed = 1})} {
    opt.prepare(list());
  }
  auto list() { return meshtf::parameters(meshtf::named("first", first), meshtf::named("second", second)); }
  void step() {
    auto const h = relu(einsum<batch, hidden<N>>(x, first));
    backward(mean(square(einsum<batch, out<N>>(h, second))));
    opt.step(list());
  }
};

double seconds_of(auto const& f) {
  auto const start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The least that a save could do with `bytes`: one file, in pieces of 1 MiB, until it is on disk.
void write_plainly(std::string const& path, std::vector<char> const& from, std::uint64_t bytes) {
  int const file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  bool good      = file >= 0;
  for (std::uint64_t at = 0; good && at < bytes;) {
    auto const n    = std::min<std::uint64_t>(bytes - at, 1 << 20);
    auto const done = write(file, from.data() + at % (from.size() - n + 1), n);
    good            = done > 0;
    at += good ? static_cast<std::uint64_t>(done) : 0;
  }
  good = good && fsync(file) == 0;
  if (file >= 0) good = close(file) == 0 && good;
  if (!good) throw meshtf::unavailable{"expected to write " + path};
}

std::uint64_t bytes_in(std::string const& folder) {
  std::uint64_t bytes = 0;
  for (auto const& entry : std::filesystem::directory_iterator{folder}) bytes += entry.file_size();
  return bytes;
}

/// A folder in the current one, which goes with it.
struct scratch_folder {
  std::string path = "checkpoint_benchmark_" + std::to_string(getpid());
  scratch_folder() { std::filesystem::create_directory(path); }
  scratch_folder(scratch_folder const&)            = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() { std::filesystem::remove_all(path); }
};

/// Times of saves and of plain writes, in turn. Old files are gone before each.
void measure_saves(meshtf::process_mesh<line>& m, bench::options const& o, bench::report& table) {
  perceptron<4096> net{m};
  scratch_folder const here;
  std::string const run   = here.path + "/run";
  std::string const plain = here.path + "/plain";
  save(net.list(), net.opt, {1, 0}, run);
  auto const bytes = bytes_in(run + "/step-00000001");
  std::vector<char> const some(std::size_t{600} << 20, 'x');
  std::vector<bench::timing> times{{"write and fsync", true, {}}, {"save in parts", false, {}}};
  for (int round = 0; round < o.rounds; ++round) {
    std::filesystem::remove(plain);
    sync();
    times[0].samples.push_back(seconds_of([&] { write_plainly(plain, some, bytes); }));
    std::filesystem::remove_all(run);
    sync();
    times[1].samples.push_back(seconds_of([&] { save(net.list(), net.opt, {2, 0}, run); }));
  }
  table.add("a checkpoint of " + std::to_string(bytes >> 20) + " MiB", times,
            [bytes](bench::timing const& t) {
              return bench::report::extras{{"MB/s", 1e-6 * static_cast<double>(bytes) / bench::median(t)}};
            });
}

/// Times of steps: without a save, with one that begins, and until it has ended.
void measure_steps(meshtf::process_mesh<line>& m, bench::options const& o, bench::report& table) {
  perceptron<2048> net{m};
  net.step();
  scratch_folder const here;
  meshtf::asynchronous_saves saves{m};
  std::vector<bench::timing> times{{"no save", true, {}},
                                   {"the step at which one begins", false, {}},
                                   {"while one is written", false, {}},
                                   {"mean from its begin to its end", false, {}}};
  auto const step = [&] {
    return seconds_of([&] {
      net.step();
      saves.poll();
    });
  };
  for (int round = 0; round < o.rounds; ++round) {
    times[0].samples.push_back(step());
    double const begin = seconds_of([&] {
      saves.save(net.list(), net.opt, {static_cast<std::uint64_t>(round), 0}, here.path);
      net.step();
      saves.poll();
    });
    double meanwhile   = 0;
    int steps          = 0;
    for (bool more = true; more; ++steps)
      meanwhile += seconds_of([&] {
        net.step();
        more = !saves.poll();
      });
    saves.finish();
    times[1].samples.push_back(begin);
    times[2].samples.push_back(meanwhile / steps);
    times[3].samples.push_back((begin + meanwhile) / (1 + steps));
  }
  table.add("a step", times);
}

void run(bench::options o) {
  bench::settle();
  if (o.rounds == bench::options{}.rounds) o.rounds = 5;
  meshtf::process_mesh<line> m{MPI_COMM_WORLD};
  bench::report table{MPI_COMM_WORLD};
  if (o.wants("save")) measure_saves(m, o, table);
  if (o.wants("step")) measure_steps(m, o, table);
  table.write(o.json);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv)); });
}
