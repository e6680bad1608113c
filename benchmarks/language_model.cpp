// The training step of a Transformer language model, as a share of the cores' sgemm rate in the same run, and the memory it takes.
//
// 6 layers of 384, 6 heads, length 256, batch 8, bytes, AdamW: 10.84 million parameters. Alone on one process; on two, split by the batch or by heads, hidden
// units and vocabulary. One layout a run, so that the resident memory is its own.
#include "setting.hpp"
#include "timing.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <string>

namespace {

// clang-format off
struct batch  : meshtf::dim<8>    {};
struct length : meshtf::dim<256>  {};
struct vocab  : meshtf::dim<256>  {};
struct model  : meshtf::dim<384>  {};
struct heads  : meshtf::dim<6>    {};
struct key    : meshtf::dim<64>   {};
struct hidden : meshtf::dim<1536> {};

struct alone           : meshtf::layout<meshtf::mesh<>> {};
struct data_parallel   : meshtf::layout<with_meshtf::line, meshtf::split<batch, with_meshtf::all>> {};
struct tensor_parallel : meshtf::layout<with_meshtf::line, meshtf::split<heads, with_meshtf::all>, meshtf::split<hidden, with_meshtf::all>,
                                        meshtf::split<vocab, with_meshtf::all>> {};
// clang-format on

struct base : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 6;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, base> net;
  meshtf::adamw opt{3e-4, 0.1};
  meshtf::tensor<int, L, batch, length> ids, targets;

  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} { opt.shard_state = true; }

  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

/// One product of 1024^3 by the library that the step uses: what a core can do.
class product {
public:
  static constexpr int n        = 1024;
  static constexpr double flops = 2.0 * n * n * n;

  void operator()() { meshtf::kernel::gemm<float>(false, false, n, n, n, a_.data(), n, b_.data(), n, 0, c_.data(), n); }

private:
  std::vector<float> a_ = std::vector<float>(n * n, 0.5f), b_ = a_, c_ = a_;
};

/// The most memory this process has had, in bytes.
double peak_resident() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  return 0;
}

template<meshtf::Layout L>
void measure(bench::options const& options, std::string const& what) {
  static constexpr auto price = meshtf::dry_run<training, L>();
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  bench::report report{MPI_COMM_WORLD};
  double resident = 0;
  {
    training<L> t{m};
    std::vector<bench::variant> variants{{"meshtf", [&] { t.step(); }, false}};
    for (int i = 0; i < 3; ++i) t.step();  // what is allocated is allocated
    auto const blocks = m.memory().blocks();
    resident          = peak_resident();
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
    if (m.memory().blocks() != blocks) throw meshtf::software_error("expected no new memory in a steady step, got some");
    double const flops = static_cast<double>(price.flops());
    double const rate  = product::flops / bench::quantile(timings[1].samples, 0.1);
    report.add(what, timings, [&](bench::timing const& t) {
      if (t.raw) return bench::report::extras{{"gflops_a_core", 1e-9 * product::flops / bench::median(t)}};
      return bench::report::extras{{"gflops_a_core", 1e-9 * flops / bench::median(t)},
                                   {"share_of_sgemm", flops / product::flops / bench::compare(t, timings[1]).of_rounds},
                                   {"share_of_best_sgemm", flops / bench::median(t) / rate}};
    });
  }
  double all = 0;
  MPI_Allreduce(&resident, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  report.say("  peak resident memory of all processes " + std::to_string(static_cast<int>(all / 1e6)) +
             " MB, promised by the compiler of tensors in one " + std::to_string(price.peak_bytes() / 1'000'000) + " MB; sent by one " +
             std::to_string(price.bytes_sent() / 1'000'000) + " MB a step");
  report.write(options.json);
}

void run(int argc, char** argv) {
  auto options = bench::read(argc, argv);
  bench::settle();
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes == 1) measure<alone>(options, "language model step, 1 process");
  else if (options.only == "tensor") measure<tensor_parallel>(options, "language model step, tensor parallel");
  else measure<data_parallel>(options, "language model step, data parallel");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    run(argc, argv);
  } catch (meshtf::usage_error const& e) {  // on every process
    if (rank == 0) std::fprintf(stderr, "benchmarks: %s\n", e.what());
    status = e.exit_status();
  } catch (std::invalid_argument const& e) {  // on every process
    if (rank == 0) std::fprintf(stderr, "benchmarks: %s\n", e.what());
    status = 64;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "benchmarks: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 70);
  }
  MPI_Finalize();
  return status;
}
