// A job that needs as much memory as was planned: one process takes what the dry run has said, within a
// tenth. Prints `planned N MiB, took M MiB`; status 70 if it is not so.
#include <cstdio>
#include <fstream>
#include <string>

#include <meshtf/meshtf.hpp>

namespace {

struct rows : meshtf::dim<4096> {};
struct columns : meshtf::dim<4096> {};
struct point : meshtf::axis<1> {};
struct one : meshtf::mesh<point> {};
struct whole : meshtf::layout<one> {};

/// A parameter of 64 MiB, its gradient, and what the tape keeps.
constexpr auto step = []<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, rows, columns> w{m, meshtf::constant{1}};
  auto const loss = mean(square(exp(w)));
  backward(loss);
};
constexpr auto planned = meshtf::dry_run<whole>(step).peak_bytes();

/// The most that this process has had in memory, in bytes.
long max_resident() {
  std::ifstream file{"/proc/self/status"};
  for (std::string word; file >> word;)
    if (long n = 0; word == "VmHWM:" && file >> n) return n * 1024;
  throw meshtf::unavailable{"expected VmHWM in /proc/self/status, got none"};
}

void take_memory(boost::mpi::communicator const& world) {
  meshtf::process_mesh<one> m{world};
  long const before = max_resident();
  step.operator()<whole>(m);
  double const took  = static_cast<double>(max_resident() - before);
  double const ratio = took / static_cast<double>(planned);
  std::printf("planned %ld MiB, took %.0f MiB\n", static_cast<long>(planned >> 20), took / (1 << 20));
  if (ratio < 0.9 || ratio > 1.1) throw meshtf::software_error{"the plan is wrong by more than a tenth"};
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  take_memory(env.world());
}
