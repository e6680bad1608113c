// A process of a pipeline comes to its end, or stops, in the middle of a step, while the other stages wait
// for what it would hand on; or one of four that share the batch, while a sum of gradients is in flight.
//
//   stages CASE   killed: process 1 of 4 dies of a signal; stopped: it stops; none: all is well
//   stages sum    process 1 of 4 dies of a signal in the backward pass; sum_none: all is well
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

struct in : meshtf::dim<128> {};
struct hidden : meshtf::dim<96> {};
struct shared : meshtf::layout<four, meshtf::split<batch, line>> {};

/// The sum of the second matrix's gradient is in flight when the gradient comes to what lies between them.
void train_with_early_sums(meshtf::process_mesh<four>& m, bool dies) {
  meshtf::tensor<float, shared, batch, in> const x{m};
  meshtf::parameter<float, shared, in, hidden> up{m, meshtf::normal{1}};
  meshtf::parameter<float, shared, hidden, in> down{m, meshtf::normal{2}};
  auto const between = [&](auto const& dz, auto const&) {
    bool const sum_took_gradient = !down.slot().sum;
    if (dies && sum_took_gradient && m.rank() == 1) std::raise(SIGKILL);
    return copy(dz);
  };
  auto const same = [](auto const& v) { return copy(v); };
  auto const list = meshtf::parameters(up, down);
  meshtf::early_sums const early{list};
  auto const h = meshtf::custom_gradient(same, between, meshtf::einsum<batch, hidden>(x, up));
  backward(mean(square(meshtf::einsum<batch, in>(h, down))));
  meshtf::sgd{0.1}.step(list);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<four> m{env.world()};
  if (which.starts_with("sum")) {
    train_with_early_sums(m, which == "sum");
    return 0;
  }
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
