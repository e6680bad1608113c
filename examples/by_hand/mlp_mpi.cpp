// Trains the two-layer perceptron by hand, split by batch and then by hidden units: losses and seconds a
// step.
// Run:    examples/processes 2 build/release/examples/mlp_mpi
// Prints: the losses of each step under both splits, which agree, and their seconds a step.
#include "mlp_mpi.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
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

int steps_asked_for(int argc, char** argv) {
  int steps = 20;
  if (argc == 1) return steps;
  std::string const name  = argv[1];
  std::string const value = argc > 2 ? argv[2] : "";
  auto const end          = value.data() + value.size();
  if (argc != 3 || name != "--steps" || std::from_chars(value.data(), end, steps).ptr != end ||
      value.empty() || steps < 1)
    throw std::invalid_argument{"expected [--steps N], got '" + name + " " + value + "'"};
  return steps;
}

/// Errors: `std::invalid_argument` on all processes if one was asked for other steps: it would leave the
/// others waiting.
void agree_on(int steps) {
  int max_and_min[]{steps, -steps};
  MPI_Allreduce(MPI_IN_PLACE, max_and_min, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (max_and_min[0] != -max_and_min[1])
    throw std::invalid_argument{"expected the same --steps on all processes, got " +
                                std::to_string(-max_and_min[1]) + " to " + std::to_string(max_and_min[0])};
}

void run(int steps) {
#ifdef __GLIBC__
  // The GEMM library's packing buffers stay with the process: given back, they come again as 4 KiB page
  // faults at every call.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  course const by_batch  = train(by_hand::split::batch, steps);
  course const by_hidden = train(by_hand::split::hidden, steps);

  double apart = 0;
  for (std::size_t i = 0; i < by_batch.losses.size(); ++i)
    apart =
        std::max(apart, std::abs(by_batch.losses[i] - by_hidden.losses[i]) / std::abs(by_batch.losses[i]));
  if (rank == 0) {
    std::printf("%d processes\n%4s  %-14s  %-14s\n", size, "step", "split batch", "split hidden");
    for (std::size_t i = 0; i < by_batch.losses.size(); ++i)
      std::printf("%4zu  %-14.7f  %-14.7f\n", i, by_batch.losses[i], by_hidden.losses[i]);
    std::printf("      %8.3f ms     %8.3f ms  (median of a step)\nlosses differ by %.1e at most, relative\n",
                1e3 * by_batch.seconds, 1e3 * by_hidden.seconds, apart);
  }
  if (!(apart < 1e-5))
    throw std::runtime_error{"expected losses equal to 1e-5, they differ by " + std::to_string(apart)};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  int rank   = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    int const steps = steps_asked_for(argc, argv);
    agree_on(steps);
    run(steps);
  } catch (std::invalid_argument const& e) {  // on every process
    if (rank == 0) std::fprintf(stderr, "mlp_mpi: %s\n", e.what());
    status = 64;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "mlp_mpi: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 70);
  }
  MPI_Finalize();
  return status;
}
