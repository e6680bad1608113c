// The training step of an encoder and decoder on packed pairs, as a share of the cores' sgemm rate in the
// same run: the arithmetic of tokens alone, none of padding.
//
// 6 and 6 layers of 512, 8 heads, hidden 2048, a vocabulary of 8,000, 16 rows of 112 and 128 positions, which
// are 2,048 targets with their padding; AdamW. Alone on one process; on two, split by the batch, or with
// `--only tensor` by heads, hidden units and vocabulary. The shares count products alone.
#include "packed_pairs.hpp"
#include "setting.hpp"
#include "sgemm.hpp"
#include "timing.hpp"

#include <meshtf/io/global.hpp>
#include <meshtf/kernel/xtensor.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

// clang-format off
struct batch  : meshtf::dim<16>   {};
struct source : meshtf::dim<112>  {};
struct target : meshtf::dim<128>  {};
struct vocab  : meshtf::dim<8000> {};
struct model  : meshtf::dim<512>  {};
struct heads  : meshtf::dim<8>    {};
struct key    : meshtf::dim<64>   {};
struct hidden : meshtf::dim<2048> {};

struct alone           : meshtf::layout<meshtf::mesh<>> {};
struct data_parallel   : meshtf::layout<with_meshtf::line, meshtf::split<batch, with_meshtf::all>> {};
struct tensor_parallel : meshtf::layout<with_meshtf::line, meshtf::split<heads, with_meshtf::all>,
                                        meshtf::split<hidden, with_meshtf::all>,
                                        meshtf::split<vocab, with_meshtf::all>> {};
// clang-format on

// 6 and 6 layers, as the defaults are
struct sizes : meshtf::nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {};

template<meshtf::Layout L>
struct training {
  meshtf::nn::seq2seq<float, L, sizes> net;
  meshtf::adamw opt{3e-4, 0.1};
  meshtf::tensor<int, L, batch, source> source_ids;
  meshtf::tensor<int, L, batch, source> of_source;
  meshtf::tensor<int, L, batch, target> target_ids;
  meshtf::tensor<int, L, batch, target> of_target;

  constexpr explicit training(meshtf::machine<L>& m)
      : net{m, 1}, source_ids{m}, of_source{m}, target_ids{m}, of_target{m} {
    opt.shard_state = true;
    opt.prepare(parameters(net));
  }

  constexpr auto step() {
    meshtf::nn::packed_pairs const pairs{source_ids, of_source, target_ids, of_target};
    auto const total = net.loss(pairs);
    auto const loss  = total / net.count(pairs);
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }

  void fill(meshtf::machine<L>& m, bench::packed_batch const& from) {
    source_ids = whole<source>(m, from.source.ids);
    of_source  = whole<source>(m, from.source.segments);
    target_ids = whole<target>(m, from.target.ids);
    of_target  = whole<target>(m, from.target.segments);
  }

private:
  template<meshtf::Dimension Along>
  static auto whole(meshtf::machine<L>& m, std::vector<int> const& ids) {
    xt::xtensor<int, 2> rows = xt::zeros<int>({int{batch::size}, int{Along::size}});
    std::copy(ids.begin(), ids.end(), rows.begin());
    return meshtf::from_global<int, L, batch, Along>(m, rows);
  }
};

template<meshtf::Layout L>
void measure(bench::options const& options, std::string const& what) {
  static constexpr auto price = meshtf::dry_run<training, L>();
  bench::packed_batch const pairs{{.rows   = int{batch::size},
                                   .source = int{source::size},
                                   .target = int{target::size},
                                   .vocab  = int{vocab::size},
                                   .layers = 6,
                                   .model  = double{model::size},
                                   .hidden = double{hidden::size}}};
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  bench::report report{MPI_COMM_WORLD};
  double const cores = meshtf::kernel::thread_count() * static_cast<double>(L::mesh_type::size);
  {
    training<L> program{m};
    program.fill(m, pairs);
    double const first_loss = static_cast<double>(program.step().value());
    for (int i = 0; i < 2; ++i) program.step();  // what is allocated is allocated
    double resident   = 0;
    double const mine = bench::peak_resident();
    MPI_Allreduce(&mine, &resident, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench::product sgemm;
    for (int i = 0; i < 10; ++i) sgemm();
    auto timings = bench::interleave(
        MPI_COMM_WORLD,
        {{"meshtf", [&] { program.step(); }, false}, {"sgemm 1024^3", [&] { sgemm(); }, true}},
        options.rounds, 1);
    double const rate = bench::product::flops / bench::quantile(timings[1].samples, 0.1);
    report.add(what, timings, [&](bench::timing const& t) {
      if (t.raw)
        return bench::report::extras{{"gflops_a_core", 1e-9 * bench::product::flops / bench::median(t)}};
      return bench::report::extras{
          {"gflops_a_core", 1e-9 * pairs.flops / cores / bench::median(t)},
          {"share_of_sgemm",
           pairs.flops / cores / bench::product::flops / bench::compare(t, timings[1]).of_rounds},
          {"share_of_best_sgemm", pairs.flops / cores / bench::median(t) / rate},
          {"tokens_a_second", pairs.target_tokens / bench::median(t)},
          {"wasted", pairs.wasted},
          {"resident_MB", resident / 1e6},
          {"promised_peak_MB", static_cast<double>(price.peak_bytes()) / 1e6},
          {"sent_MB", static_cast<double>(price.bytes_sent()) / 1e6},
          {"first_loss", first_loss},
          {"parameters_a_process", static_cast<double>(price.parameter_bytes()) / sizeof(float)}};
    });
  }
  report.write(options.json);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  auto const options = bench::read(argc, argv);
  int const n        = meshtf::kernel::thread_count();
  auto const threads = n > 1 ? ", " + std::to_string(n) + " threads" : std::string{};
  if (env.world().size() == 1) measure<alone>(options, "translation step, 1 process" + threads);
  else if (options.only == "tensor") measure<tensor_parallel>(options, "translation step, tensor parallel");
  else measure<data_parallel>(options, "translation step, data parallel");
}
