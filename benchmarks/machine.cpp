// What machine_model wants to know of a machine, measured on two processes, and a line to paste.
//
// examples/processes 2 build/release/benchmarks/machine [--rounds N]
//
// Every figure is that of one process while the other does the same: of products the best, since the model
// knows large ones only; else the median of the rounds, of the slower process. Two processes on two nodes
// measure the link between nodes: what is printed as `within_node` is that one then.
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

/// Seconds of a step, alone and not in turn with others: a pass over large arrays would leave them a cold
/// cache.
bench::timing measured(std::string const& what, int rounds, int repeat, std::function<void()> const& step) {
  return bench::interleave(MPI_COMM_WORLD, {{what, step, true}}, rounds, repeat).front();
}

struct figures {
  double flops_per_second;
  double bytes_per_second;
  double added_per_second;
  double alpha;
  double beta;
};

/// Both processes multiply: 1024^3, by the library that the operations use.
double flops_per_second(int rounds) {
  constexpr int n = 1024;
  std::vector<float> const a(n * n, 0.5f);
  std::vector<float> const b(n * n, 0.25f);
  std::vector<float> c(n * n);
  auto const t = measured("sgemm", rounds, 1, [&] {
    meshtf::kernel::gemm<float>(false, false, n, n, n, a.data(), n, b.data(), n, 0, c.data(), n);
  });
  return 2.0 * n * n * n / bench::best(t);
}

/// Arrays of 128 MiB, which no cache holds.
constexpr std::size_t elements = std::size_t{32} << 20;

/// a = b + s c: three arrays travel.
double bytes_per_second(int rounds) {
  std::vector<float> a(elements);
  std::vector<float> b(elements, 1);
  std::vector<float> c(elements, 2);
  float s      = 0.5f;
  auto const t = measured("triad", rounds, 1, [&] {
    for (std::size_t i = 0; i < elements; ++i) a[i] = b[i] + s * c[i];
    s = 0.25f + 0.001f * a[elements / 2];  // so that no pass can be left out
  });
  return 3.0 * sizeof(float) * elements / bench::median(t);
}

/// MPI's own sum of two arrays, as in a reduction: bytes of the one that is added.
double added_per_second(int rounds) {
  std::vector<float> into(elements);
  std::vector<float> arrived(elements, 1e-3f);
  auto const t = measured("sum", rounds, 1, [&] {
    MPI_Reduce_local(arrived.data(), into.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM);
  });
  return static_cast<double>(sizeof(float) * elements) / bench::median(t);
}

/// Seconds that an exchange of so many bytes takes.
double exchange(int other, int bytes, int rounds, int repeat) {
  std::vector<char> const sent(static_cast<std::size_t>(bytes), 1);
  std::vector<char> received(sent.size());
  return bench::median(measured("exchange", rounds, repeat, [&] {
    MPI_Sendrecv(sent.data(), bytes, MPI_BYTE, other, 0, received.data(), bytes, MPI_BYTE, other, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }));
}

/// A number as source code.
std::string literal(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

void run(int rounds) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size != 2)
    throw meshtf::usage_error{"expected 2 processes, got " + std::to_string(size) +
                              ": examples/processes 2 PROGRAM"};
  bench::settle();

  constexpr int large = 16 << 20;
  double const alpha  = exchange(1 - rank, 8, rounds, 2000);
  figures const f{.flops_per_second = flops_per_second(rounds),
                  .bytes_per_second = bytes_per_second(rounds),
                  .added_per_second = added_per_second(rounds),
                  .alpha            = alpha,
                  .beta             = (exchange(1 - rank, large, rounds, 10) - alpha) / large};
  if (rank != 0) return;
  std::printf("sgemm 1024^3, best       %8.1f Gflop/s a core\n", 1e-9 * f.flops_per_second);
  std::printf("triad, 3 x 128 MiB       %8.2f GB/s a core\n", 1e-9 * f.bytes_per_second);
  std::printf("sum, 128 MiB to 128 MiB  %8.2f GB/s added a core\n", 1e-9 * f.added_per_second);
  std::printf("exchange of 8 bytes      %8.2f us\n", 1e6 * f.alpha);
  std::printf("exchange of 16 MiB       %8.2f GB/s each way\n\n", 1e-9 / f.beta);
  std::printf(
      "constexpr meshtf::machine_model measured{.flops_per_second = %s, .memory_bytes_per_second = %s, "
      ".seconds_per_byte_added = 1 / %s,"
      " .within_node = {.seconds_per_message = %s, .seconds_per_byte = 1 / %s}};\n",
      literal(f.flops_per_second).c_str(), literal(f.bytes_per_second).c_str(),
      literal(f.added_per_second).c_str(), literal(f.alpha).c_str(), literal(1 / f.beta).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv).rounds); });
}
