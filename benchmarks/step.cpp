// The benchmarks: a training step and a small forward pass against raw MPI by hand, with their share of the
// cores' sgemm rate; then the collectives. With one process: the small forward pass alone, with one and with
// two threads.
#include "../examples/by_hand/mlp_mpi.hpp"
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Only OpenBLAS has it; under any other BLAS its address is null.
extern "C" char* openblas_get_corename() __attribute__((weak));

namespace {

/// 1024^3 products in cache, by each library that is here: what a core can do.
class sgemm {
public:
  static constexpr int n        = 1024;
  static constexpr double flops = 2.0 * n * n * n;

  std::vector<bench::variant> variants() {
    std::vector<bench::variant> v;
    v.push_back({"cblas_sgemm",
                 [this] {
                   cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a_.get(), n, b_.get(),
                               n, 0, c_.get(), n);
                 },
                 true});
#if MESHTF_WITH_ONEDNN
    v.push_back(
        {"dnnl_sgemm", [this] { by_hand::gemm('N', 'N', n, n, n, a_.get(), b_.get(), c_.get()); }, true});
#endif
    return v;
  }

private:
  static by_hand::buffer filled() {
    auto b = by_hand::floats(n * n);
    by_hand::fill(b.get(), 9, n, n, 0, 0, n, 1.0f);
    return b;
  }
  by_hand::buffer a_ = filled();
  by_hand::buffer b_ = filled();
  by_hand::buffer c_ = by_hand::floats(n * n);
};

double gflops(double flops, double seconds) { return 1e-9 * flops / seconds; }

/// What the better library reaches: the best of 10 warm products on all cores at once.
struct yardstick {
  bench::variant product;
  double best_seconds;
};

yardstick measure_rate(bench::report& report, sgemm& products) {
  auto variants     = products.variants();
  auto const rates  = bench::interleave(MPI_COMM_WORLD, variants, 10, 1);
  auto const better = std::min_element(rates.begin(), rates.end(), [](auto const& a, auto const& b) {
    return bench::best(a) < bench::best(b);
  });
  report.add("sgemm 1024^3 on all cores at once", rates, [](bench::timing const& t) {
    return bench::report::extras{{"gflops_a_core", gflops(sgemm::flops, bench::best(t))}};
  });
  if (bench::median(*better) > 1.2 * bench::best(*better))
    report.say("  (the cores are busy with other work: medians are not to be relied on)");
  return {variants[static_cast<std::size_t>(better - rates.begin())], bench::best(*better)};
}

/// The steps of a group next to a product in every round, so that both are of the same moment of a busy
/// machine.
void measure_steps(bench::report& report, std::string const& what, std::vector<bench::variant> steps,
                   double flops, yardstick const& rate, int rounds) {
  steps.push_back({"sgemm", rate.product.step, false});
  auto timings       = bench::interleave(MPI_COMM_WORLD, steps, rounds, 3);
  auto const product = timings.back();
  timings.pop_back();
  double const best = std::min(rate.best_seconds, bench::best(product));

  report.add(what, timings, [&](bench::timing const& t) {
    double const work = flops / sgemm::flops;  // in products
    return bench::report::extras{{"gflops_a_core", gflops(flops, bench::median(t))},
                                 {"share_of_sgemm", work / bench::compare(t, product).of_rounds},
                                 {"share_of_best_sgemm", work * best / bench::median(t)}};
  });
}

/// Random images, and the labels that the step by hand has.
template<class L>
with_meshtf::training<L> prepared(meshtf::process_mesh<with_meshtf::line>& m) {
  using namespace with_meshtf;
  training<L> t{m};
  t.x                        = meshtf::random_uniform<float, L, batch, in>(m, {.seed = 3}, -1, 1);
  constexpr bool split       = meshtf::axes_of<L, batch>::count > 0;
  meshtf::extent const n     = t.labels.size;
  meshtf::extent const first = split ? m.rank() * n : 0;
  auto labels                = t.labels.local();
  for (meshtf::extent i = 0; i < n; ++i)
    labels(i) = by_hand::mlp_step::label(static_cast<int>(first + i), out::size);
  return t;
}

/// The small forward pass of one process, with one thread and with two: its work is too small to be divided,
/// so the second thread must not cost anything.
void measure_alone(bench::report& report, bench::options const& options) {
  std::string const what = "small forward, 8 x 64 -> 256 -> 64, 1 process";
  if (!options.wants(what)) return;
  meshtf::process_mesh<with_meshtf::point> m{MPI_COMM_WORLD};
  by_hand::small_forward raw{MPI_COMM_WORLD};
  with_meshtf::small_forward<with_meshtf::alone> typed{m};
  auto const of = [&](std::string name, int threads) {
    return bench::variant{std::move(name), [&] { typed(); }, false,
                          [=] { meshtf::kernel::use_threads(threads); }};
  };
  std::vector<bench::variant> const passes{
      {"by hand", [&] { raw(); }, true}, of("meshtf, 1 thread", 1), of("meshtf, 2 threads", 2)};
  auto const timings = bench::interleave(MPI_COMM_WORLD, passes, 5 * options.rounds, 500);
  meshtf::kernel::use_threads(1);
  report.add(what, timings, [&](bench::timing const& t) {
    return t.name == "meshtf, 2 threads"
               ? bench::report::extras{{"times_1_thread", bench::compare(t, timings[1]).of_rounds}}
               : bench::report::extras{};
  });
}

void run(bench::options const& options) {
  MPI_Comm const world = MPI_COMM_WORLD;
  bench::settle();
  int processes = 0;
  MPI_Comm_size(world, &processes);
  if (processes == 1) {
    bench::report report{world};
    measure_alone(report, options);
    return report.write(options.json);
  }
  meshtf::process_mesh<with_meshtf::line> m{world};  // throws on all unless there are two processes
  constexpr int size = with_meshtf::line::size;
  bench::report report{world};
  report.say(std::to_string(size) + " processes; BLAS kernel: " +
             (openblas_get_corename ? openblas_get_corename() : "not OpenBLAS's"));

  sgemm products;
  auto const rate    = measure_rate(report, products);
  double const flops = by_hand::mlp_sizes{}.flops() / size;
  using by_hand::split;

  if (std::string const what = "data parallel step, 256 x 512 -> 2048 -> 512"; options.wants(what)) {
    by_hand::mlp_step raw{world, split::batch, 0.01f};
    auto typed = prepared<with_meshtf::data_parallel>(m);
    std::vector<bench::variant> steps{{"by hand", [&] { raw(); }, true},
                                      {"meshtf", [&] { typed.step(); }, false}};
    measure_steps(report, what, steps, flops, rate, options.rounds);
  }
  if (std::string const what = "tensor parallel step, 256 x 512 -> 2048 -> 512"; options.wants(what)) {
    by_hand::mlp_step raw{world, split::hidden, 0.01f};
    auto typed = prepared<with_meshtf::tensor_parallel>(m);
    std::vector<bench::variant> steps{{"by hand", [&] { raw(); }, true},
                                      {"meshtf", [&] { typed.step(); }, false}};
    measure_steps(report, what, steps, flops, rate, options.rounds);
  }
  if (std::string const what = "small forward, 8 x 64 -> 256 -> 64"; options.wants(what)) {
    by_hand::small_forward raw{world};
    with_meshtf::small_forward<with_meshtf::tensor_parallel> typed{m};
    std::vector<bench::variant> passes{{"by hand", [&] { raw(); }, true},
                                       {"meshtf", [&] { typed(); }, false}};
    report.add(what, bench::interleave(world, passes, options.rounds, 500));
  }
  bench::measure_collectives(report, options, m);
  report.write(options.json);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(bench::read(argc, argv)); });
}
