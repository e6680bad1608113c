// One program under four layouts: what a step sends, holds and computes, as the compiler promised it and as four processes then counted it.
//
// examples/processes 4 build/release/examples/layouts
#include <cstdio>
#include <string>

#include <meshtf/meshtf.hpp>

// clang-format off
struct batch  : meshtf::dim<512>  {};          // a dimension: a name and a size
struct in     : meshtf::dim<784>  {};
struct hidden : meshtf::dim<2048> {};
struct out    : meshtf::dim<16>   {};

struct rows   : meshtf::axis<2> {};            // the machine
struct cols   : meshtf::axis<2> {};
struct grid   : meshtf::mesh<rows, cols> {};

struct replicated     : meshtf::layout<grid> {};
struct data_parallel  : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct model_parallel : meshtf::layout<grid, meshtf::split<hidden, cols>> {};
struct mixed          : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

template<meshtf::Layout L> struct mlp {                         // one source, every layout
  meshtf::parameter<float, L, in, hidden>  w1;
  meshtf::parameter<float, L, hidden, out> w2;
  constexpr explicit mlp(meshtf::machine<L>& m) : w1{m, meshtf::he_normal{1}}, w2{m, meshtf::he_normal{2}} {}
  constexpr auto operator()(auto const& x) const {
    auto h = relu(einsum<batch, hidden>(x, w1));                // local GEMM, nothing to send
    return einsum<batch, out>(h, w2);                           // hidden is split: all_reduce over cols
  }
};

template<meshtf::Layout L> struct training {                    // the constructor sets up, step() is what the loop calls
  mlp<L> net;
  meshtf::sgd opt{0.1f};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;
  constexpr explicit training(meshtf::machine<L>& m) : net{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<out>(net(x), labels));
    backward(loss);
    opt.step(parameters(net.w1, net.w2));                       // finishes the gradients' sums over rows
    return loss;
  }
};

constexpr auto cost = meshtf::dry_run<training, mixed>();       // the step, run by the compiler
static_assert(cost.bytes_sent<rows>() <= 4 * meshtf::MiB);      // a communication budget that fails the build
static_assert(cost.peak_bytes() <= 2 * meshtf::GiB);

struct clash : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, rows>> {};
static_assert(std::same_as<meshtf::placement_verdict<clash, batch, hidden>,
                           meshtf::one_axis_splits_two_dims<rows, batch, hidden>>);
// clang-format on

void print(std::string const& layout, char const* figures, auto const& price) {
  std::printf("%-14s  %-8s  %10ld  %10ld  %10ld  %10ld", layout.c_str(), figures, price.template bytes_sent<rows>(),
              price.template bytes_sent<cols>(), price.peak_bytes(), price.flops());
}

template<meshtf::Layout L> void compare(meshtf::process_mesh<grid>& m) {
  static constexpr auto promised = meshtf::dry_run<training, L>();
  training<L> t{m};
  t.x      = meshtf::random_normal<float, L, batch, in>(m, {.seed = 3});
  t.labels = cast<int>(meshtf::random_uniform<float, L, batch>(m, {.seed = 4}, 0, out::size));

  float loss         = 0;
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { loss = t.step().value(); });
  if (m.rank() == 0) {
    print(std::string{meshtf::name_of<L>()}, "promised", promised);
    std::printf("\n");
    print("", "counted", counted);
    std::printf("  %.5f\n", static_cast<double>(loss));
  }
  if (!(counted == promised)) throw meshtf::software_error("expected a step to cost what the compiler promised, got other figures");
}

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};                          // MPI up, errors become messages
  meshtf::process_mesh<grid> m{env.world()};                    // 4 processes, or a sentence that says so
  if (m.rank() == 0) std::printf("layout          a step    along rows  along cols  peak bytes       flops  loss\n");
  compare<replicated>(m);
  compare<data_parallel>(m);
  compare<model_parallel>(m);
  compare<mixed>(m);
}
