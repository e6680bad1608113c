// The simulated seconds of whole steps and those of the machine model: gradients summed in the step and in
// the backward pass, and a pipeline. Products take simulated time here, so that messages have something to
// overlap with: the library's products are this file's, which wait as long as the model says and compute
// nothing.
#include <cblas.h>
#include <ctime>
#include <vector>

#include "report.hpp"

namespace {

constexpr double flops_per_second = 5e9;
constexpr meshtf::machine_model of_switch{
    .flops_per_second        = flops_per_second,
    .memory_bytes_per_second = 1e30,
    .seconds_per_byte_added  = 0,
    .within_node             = {.seconds_per_message = 2e-6, .seconds_per_byte = 8 / 10e9},
    .algorithms              = meshtf::algorithm_choice::open_mpi,
    .eager_limit             = 0};

void wait_seconds(double seconds) {
  timespec const rest{static_cast<time_t>(seconds),
                      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  nanosleep(&rest, nullptr);
}

}  // namespace

extern "C" void cblas_dgemm(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, blasint m, blasint n, blasint k,
                            double, double const*, blasint, double const*, blasint, double, double*,
                            blasint) {
  wait_seconds(2.0 * m * n * k / flops_per_second);
}

namespace {

using namespace simulated;
using meshtf::extent;

// clang-format off
struct batch  : meshtf::dim<512> {};
struct part   : meshtf::dim<64>  {};  // a micro-batch
struct model  : meshtf::dim<256> {};
struct hidden : meshtf::dim<512> {};

struct data  : meshtf::layout<grid, meshtf::split<batch, rows, columns>> {};
struct piped : meshtf::layout<grid, meshtf::split<batch, columns>, meshtf::split<part, columns>,
                              meshtf::staged<rows>> {};
// clang-format on

constexpr int blocks = 16;

template<meshtf::Layout L>
struct block {
  meshtf::nn::linear<double, L, model, hidden> up;
  meshtf::nn::linear<double, L, hidden, model> down;
  constexpr explicit block(meshtf::machine<L>& m)
      : up{m, meshtf::normal{1, 0.02}}, down{m, meshtf::normal{2, 0.02}} {}
  constexpr auto operator()(auto const& x) const { return x + down(relu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

enum class sums { in_the_step, early };

/// A step of four blocks whose gradients are summed over all processes.
struct data_step {
  sums when;

  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    std::vector<block<L>> net;
    net.reserve(4);
    for (int i = 0; i < 4; ++i) net.emplace_back(m);
    auto const list = meshtf::parameters(named("net", net));
    auto const x    = meshtf::tensor<double, L, batch, model>{m};
    auto const step = [&] {
      auto const h = net[3](net[2](net[1](net[0](x))));
      backward(mean(square(h)));
      meshtf::sgd{0.1}.step(list);
    };
    if (when == sums::in_the_step) return step();
    meshtf::early_sums const early{list};
    step();
  }
};

/// A step of 16 blocks, some on each row of the mesh, of eight micro-batches.
struct pipeline_step {
  template<meshtf::Layout L>
  static constexpr extent stage_of(extent i) {
    return i * meshtf::stage_count<L> / blocks;
  }
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    std::vector<block<L>> net;
    net.reserve(blocks);
    for (extent i = 0; i < blocks; ++i) {
      auto const here = meshtf::at_stage<L>(m, stage_of<L>(i));
      net.emplace_back(m);
    }
    auto const x = meshtf::tensor<double, L, batch, model>{m};
    static_cast<void>(meshtf::accumulate<8>(m, [&](extent n) {
      auto h = net[0](meshtf::micro_batch<batch, part>(x, n));
      for (extent i = 1; i < blocks; ++i) {
        auto const received = hand_on(h, stage_of<L>(i));
        h                   = net[static_cast<std::size_t>(i)](received);
      }
      return mean(square(h)) / 8;
    }));
    meshtf::sgd{0.1}.step(meshtf::parameters(named("net", net)));
  }
};

/// Of the second run: in the first, communicators are made.
template<meshtf::Layout L, class Program>
void compare(meshtf::process_mesh<grid>& m, char const* name, Program const& program, double modelled) {
  double longest = 0;
  for (int run = 0; run < 2; ++run) {
    double const now = MPI_Wtime();
    double latest    = 0;
    MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    wait_seconds(latest + 0.01 - MPI_Wtime());
    double const begin = MPI_Wtime();
    program.template operator()<L>(m);
    double const mine = MPI_Wtime() - begin;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (m.rank() == 0) std::printf("step %s %.9e %.9e\n", name, longest, modelled);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  constexpr auto in_the_step = meshtf::dry_run<data>(data_step{sums::in_the_step}).time(of_switch);
  constexpr auto early       = meshtf::dry_run<data>(data_step{sums::early}).time(of_switch);
  constexpr auto pipeline    = meshtf::dry_run<piped>(pipeline_step{}).time(of_switch);
  compare<data>(m, "in_the_step", data_step{sums::in_the_step}, in_the_step.total());
  compare<data>(m, "early_sums", data_step{sums::early}, early.overlapped());
  compare<piped>(m, "pipeline", pipeline_step{}, pipeline.total());
  if (m.rank() == 0)
    std::printf("products %.6e messages %.6e hidden %.6e bubble %.4f\n", early.products, early.messages(),
                early.hidden, pipeline.bubble());
}
