// A process of a pipeline comes to its end, or stops, in the middle of a step, while the other stages wait
// for what it would hand on.
//
//   stages CASE   killed: process 1 of 4 dies of a signal; stopped: it stops; none: all is well
//
// killed:    the launcher ends the job                                           status 137
// stopped:   the program waits for ever, and says for which stage:
//            meshtf: process 2 of 4 has waited 10 s for stage 1 in hand_on for hand_on, stages.cpp:...
#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

#include <meshtf/meshtf.hpp>

namespace {

using meshtf::extent;

struct batch : meshtf::dim<8> {};
struct part : meshtf::dim<2> {};
struct width : meshtf::dim<16> {};

struct line : meshtf::axis<4> {};
struct four : meshtf::mesh<line> {};
struct piped : meshtf::layout<four, meshtf::staged<line>> {};

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<four> m{env.world()};
  std::vector<meshtf::parameter<float, piped, width>> weights;
  for (extent k = 0; k < 4; ++k) {
    meshtf::at_stage<piped> const here{m, k};
    weights.emplace_back(m, meshtf::normal{1});
  }
  meshtf::tensor<float, piped, batch, width> const x{m};
  auto const loss = meshtf::accumulate<4>(m, [&](extent i) {
    auto y = meshtf::micro_batch<batch, part>(x, i);
    for (extent k = 0; k < 4; ++k) {
      auto const received = meshtf::hand_on(y, k);
      if (k == 1 && i == 2 && m.rank() == 1 && which != "none")
        std::raise(which == "killed" ? SIGKILL : SIGSTOP);
      y = received * weights[static_cast<std::size_t>(k)];
    }
    return mean(y);
  });
  meshtf::sgd{0.1}.step(parameters(weights));
  std::printf("%g\n", static_cast<double>(loss.value()));
}
