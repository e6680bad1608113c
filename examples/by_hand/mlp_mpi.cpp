// Trains the two-layer perceptron by hand, split by batch and then by hidden units: losses and seconds a step.
#include "mlp_mpi.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

struct course {
  std::vector<double> losses;
  double seconds = 0;  // of a step, median
};

course train(by_hand::split by, int steps) {
  by_hand::mlp_step step{MPI_COMM_WORLD, by, 0.5f};
  course c;
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    c.losses.push_back(step());
    seconds.push_back(MPI_Wtime() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + steps / 2, seconds.end());
  c.seconds = seconds[static_cast<std::size_t>(steps) / 2];
  return c;
}

int run(int argc, char** argv) {
  int rank = 0, size = 1, steps = 20;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string_view const value = argc == 3 ? argv[2] : "";
  bool const asked             = argc == 3 && std::string_view{argv[1]} == "--steps";
  bool const understood        = asked && std::from_chars(value.data(), value.data() + value.size(), steps).ptr == value.data() + value.size() && steps > 0;
  if (argc != 1 && !understood) {
    if (rank == 0) std::fprintf(stderr, "usage: mlp_mpi [--steps N]   (N > 0)\n");
    return 64;
  }
#ifdef __GLIBC__
  // The GEMM library's packing buffers stay with the process: given back, they come again as 4 KiB page faults at every call.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif

  course const by_batch = train(by_hand::split::batch, steps), by_hidden = train(by_hand::split::hidden, steps);

  double apart = 0;
  if (rank == 0) std::printf("%d processes\n%4s  %-14s  %-14s\n", size, "step", "split batch", "split hidden");
  for (std::size_t i = 0; i < by_batch.losses.size(); ++i) {
    double const a = by_batch.losses[i], b = by_hidden.losses[i];
    apart = std::max(apart, std::abs(a - b) / std::abs(a));
    if (rank == 0) std::printf("%4zu  %-14.7f  %-14.7f\n", i, a, b);
  }
  if (rank == 0) std::printf("%-4s  %.3f ms        %.3f ms (median of a step)\nlosses differ by %.1e at most\n", "", 1e3 * by_batch.seconds, 1e3 * by_hidden.seconds, apart);
  return apart < 1e-5 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 70;
  try {
    status = run(argc, argv);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "mlp_mpi: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
