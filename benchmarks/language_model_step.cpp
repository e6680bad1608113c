// The training step of a Transformer language model, as a share of the cores' sgemm rate in the same run, and
// the memory it takes.
//
// 6 layers of 384, 6 heads, length 256, batch 8, bytes, AdamW: 10.84 million parameters. Alone on one
// process; on two, split by the batch or by heads, hidden units and vocabulary. One layout a run, so that the
// resident memory is its own. MESHTF_THREADS=2 gives the process two threads. With `--only mixed` the step in
// float and in mixed precision, side by side: weights, gradients of weights and optimizer in float,
// activations and products in bfloat16. With `--only trace` the step with and without a trace.
#include "setting.hpp"
#include "sgemm.hpp"
#include "small_language_model.hpp"
#include "timing.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include <unistd.h>

namespace {

// clang-format off
struct data_parallel   : meshtf::layout<with_meshtf::line, meshtf::split<batch, with_meshtf::all>> {};
struct tensor_parallel : meshtf::layout<with_meshtf::line, meshtf::split<heads, with_meshtf::all>,
                                        meshtf::split<hidden, with_meshtf::all>,
                                        meshtf::split<vocab, with_meshtf::all>> {};
// clang-format on

template<meshtf::Layout L, class Activation>
struct training_with : random_language_model<L, batch, base, Activation> {
  constexpr explicit training_with(meshtf::machine<L>& m)
      : random_language_model<L, batch, base, Activation>{m, 3e-4, 0, true} {}
};

template<meshtf::Layout L>
using training = training_with<L, float>;
template<meshtf::Layout L>
using training_in_mixed_precision = training_with<L, meshtf::bfloat16>;

using bench::product;

template<meshtf::Layout L>
void measure(bench::options const& options, std::string const& what) {
  static constexpr auto price = meshtf::dry_run<training, L>();
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  bench::report report{MPI_COMM_WORLD};
  double resident    = 0;
  double const cores = meshtf::kernel::thread_count();  // that a process uses
  {
    training<L> program{m};
    double const first_loss = static_cast<double>(program.step().value());
    std::vector<bench::variant> variants{{"meshtf", [&] { program.step(); }, false}};
    for (int i = 0; i < 2; ++i) program.step();  // what is allocated is allocated
    auto const blocks = m.memory().blocks();
    double const mine = bench::peak_resident();
    MPI_Allreduce(&mine, &resident, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    product sgemm;
    for (int i = 0; i < 10; ++i) sgemm();
    variants.push_back({"sgemm 1024^3",
                        [&] {
                          sgemm();
                          sgemm();
                          sgemm();
                        },
                        true});
    auto timings = bench::interleave(MPI_COMM_WORLD, variants, options.rounds, 1);
    for (double& s : timings[1].samples) s /= 3;
    if (m.memory().blocks() != blocks)
      throw meshtf::software_error("expected no new memory in a steady step, got some");
    double const flops = static_cast<double>(price.flops());
    double const rate  = product::flops / bench::quantile(timings[1].samples, 0.1);
    report.add(what, timings, [&](bench::timing const& t) {
      if (t.raw)
        return bench::report::extras{{"gflops_a_core", 1e-9 * product::flops / bench::median(t) / cores}};
      return bench::report::extras{
          {"gflops_a_core", 1e-9 * flops / bench::median(t) / cores},
          {"share_of_sgemm", flops / product::flops / bench::compare(t, timings[1]).of_rounds},
          {"share_of_best_sgemm", flops / bench::median(t) / rate},
          {"resident_MB", resident / 1e6},
          {"promised_peak_MB", static_cast<double>(price.peak_bytes()) / 1e6},
          {"sent_MB", static_cast<double>(price.bytes_sent()) / 1e6},
          {"first_loss", first_loss},
          {"parameters_a_process", static_cast<double>(price.parameter_bytes()) / sizeof(float)}};
    });
  }
  report.say(
      "  resident: the most memory of all processes; promised_peak: what the compiler says of one "
      "process's tensors; sent: by one, each step");
  report.write(options.json);
}

/// The two steps in turn.
template<meshtf::Layout L>
void compare_precisions(bench::options const& options, std::string const& what) {
  static constexpr auto price       = meshtf::dry_run<training, L>();
  static constexpr auto mixed_price = meshtf::dry_run<training_in_mixed_precision, L>();
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  bench::report report{MPI_COMM_WORLD};
  {
    training<L> in_float{m};
    training_in_mixed_precision<L> mixed{m};
    for (int i = 0; i < 3; ++i) {
      in_float.step();
      mixed.step();
    }
    auto const timings = bench::interleave(MPI_COMM_WORLD,
                                           {{"meshtf, float", [&] { in_float.step(); }, true},
                                            {"meshtf, mixed precision", [&] { mixed.step(); }, false}},
                                           options.rounds, 1);
    report.add(what, timings, [&](bench::timing const& t) {
      auto const& its = t.raw ? price : mixed_price;
      return bench::report::extras{
          {"promised_peak_MB", static_cast<double>(its.peak_bytes()) / 1e6},
          {"activations_MB", static_cast<double>(its.at_peak()[meshtf::held_for::activation]) / 1e6},
          {"sent_MB", static_cast<double>(its.bytes_sent()) / 1e6},
          {"multiplies_narrow", meshtf::kernel::multiplies_narrow() ? 1 : 0}};
    });
  }
  report.write(options.json);
}

/// A file for a trace, of a name that no other job has.
std::filesystem::path trace_of_this_job() {
  int job = getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return std::filesystem::temp_directory_path() / ("language_model_step_" + std::to_string(job) + ".json");
}

/// The step with a trace and without, in turn. Each has a mesh of its own, which looks for a trace when it is
/// made.
template<meshtf::Layout L>
void compare_traced(bench::options const& options, std::string const& what) {
  static constexpr auto price = meshtf::dry_run<training, L>();
  if (char const* const set = std::getenv("MESHTF_TRACE"))
    throw meshtf::usage_error{"expected no MESHTF_TRACE, since this program makes a trace of its own, got '" +
                              std::string{set} + "'"};
  bench::report report{MPI_COMM_WORLD};
  auto const trace = trace_of_this_job();
  {
    meshtf::process_mesh<typename L::mesh_type> quiet{MPI_COMM_WORLD};
    auto const log = meshtf::detail::trace_log::if_wanted(
        MPI_COMM_WORLD, {trace.string(), 1, std::numeric_limits<long>::max()});
    meshtf::process_mesh<typename L::mesh_type> watched{MPI_COMM_WORLD};
    training<L> plain{quiet};
    training<L> traced{watched};
    for (int i = 0; i < 3; ++i) {
      plain.step();
      traced.step();
    }
    auto const timings = bench::interleave(
        MPI_COMM_WORLD,
        {{"without a trace", [&] { plain.step(); }, true}, {"with a trace", [&] { traced.step(); }, false}},
        options.rounds, 1);
    report.add(what, timings, [&](bench::timing const&) {
      return bench::report::extras{{"calls", static_cast<double>(price.operations())}};
    });
  }
  std::filesystem::remove(trace);
  report.write(options.json);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  auto const options = bench::read(argc, argv);
  int const n        = meshtf::kernel::thread_count();
  auto const threads = n > 1 ? ", " + std::to_string(n) + " threads" : std::string{};
  if (options.only == "mixed" && env.world().size() == 1)
    compare_precisions<alone>(options, "mixed precision step, 1 process");
  else if (options.only == "mixed")
    compare_precisions<data_parallel>(options, "mixed precision step, data parallel");
  else if (options.only == "trace" && env.world().size() == 1)
    compare_traced<alone>(options, "traced step, 1 process");
  else if (options.only == "trace") compare_traced<data_parallel>(options, "traced step, data parallel");
  else if (env.world().size() == 1) measure<alone>(options, "language model step, 1 process" + threads);
  else if (options.only == "tensor")
    measure<tensor_parallel>(options, "language model step, tensor parallel");
  else measure<data_parallel>(options, "language model step, data parallel");
}
