// Many processes on few cores: crowded, on 16 or 32 processes.
//
// Five steps of a program whose sums are exact, and a checkpoint of its weights, which is loaded again. The
// weights must be those of a loop over the whole batch, bit by bit. Prints a line, status 0, or what differs,
// status 70.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <meshtf/meshtf.hpp>

namespace {

struct batch : meshtf::dim<64> {};
struct model : meshtf::dim<32> {};

template<meshtf::extent N>
struct line : meshtf::axis<N> {};
template<meshtf::extent N>
struct many : meshtf::mesh<line<N>> {};
template<meshtf::extent N>
struct by_rows : meshtf::layout<many<N>, meshtf::split<batch, line<N>>> {};

constexpr int steps     = 5;
constexpr double a_part = 1. / 1024;

/// The weights after the steps, as one process computes them.
std::vector<double> expected() {
  std::vector<double> w(model::size);
  for (int step = 0; step < steps; ++step)
    for (std::size_t j = 0; j < w.size(); ++j)
      for (meshtf::extent i = 0; i < batch::size; ++i)
        w[j] -= a_part * static_cast<double>(i * model::size + static_cast<meshtf::extent>(j) + step);
  return w;
}

template<meshtf::extent N>
void run(boost::mpi::communicator const& world) {
  using layout = by_rows<N>;
  meshtf::process_mesh<many<N>> m{world};
  meshtf::parameter<double, layout, model> w{m};
  meshtf::sgd opt{a_part};
  auto const x = meshtf::from_global<double, layout, batch, model>(
      m, xt::eval(xt::reshape_view(xt::arange(0., static_cast<double>(batch::size * model::size)),
                                   {std::size_t{batch::size}, std::size_t{model::size}})));
  for (int step = 0; step < steps; ++step) {
    backward(sum((x + step) * w));
    opt.step(parameters(w));
  }
  std::string const folder =
      (std::filesystem::temp_directory_path() / ("meshtf_crowded_" + std::to_string(getppid()))).string();
  save(parameters(w), {.step = steps}, folder);
  meshtf::parameter<double, layout, model> again{m, meshtf::constant{7}};
  load(parameters(again), folder);
  std::vector<double> const right = expected();
  for (std::size_t j = 0; j < right.size(); ++j)
    if (w.data()[j] != right[j] || again.data()[j] != right[j])
      throw meshtf::software_error("expected weight " + std::to_string(j) + " to be " +
                                   std::to_string(right[j]) + ", got " + std::to_string(w.data()[j]) +
                                   " and, loaded, " + std::to_string(again.data()[j]));
  world.barrier();
  if (m.rank() != 0) return;
  std::filesystem::remove_all(folder);
  std::printf("%d processes: the weights of one, bit by bit\n", world.size());
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  switch (env.world().size()) {
    case 16: run<16>(env.world()); break;
    case 32: run<32>(env.world()); break;
    default: throw meshtf::usage_error("expected 16 or 32 processes");
  }
}
