// The layers batch_norm, group_norm, conv and conv_block: running statistics, evaluations, names; compared
// with PyTorch. See tests/golden/README.md.
// test: processes 1 2 3 4
#include "../golden.hpp"
#include "../layout_fixture.hpp"

#include <meshtf/nn/batch_norm.hpp>
#include <meshtf/nn/conv.hpp>
#include <meshtf/nn/group_norm.hpp>

using namespace meshtf;

namespace {

template<Layout L>
struct small_net {
  nn::conv_block<double, L, fixture::in, fixture::hidden, nn::batch_norm<double, L, fixture::hidden>,
                 nn::rectified, window<fixture::length, fixture::key>>
      block;
  nn::conv<double, L, fixture::hidden, fixture::out, window<fixture::length, fixture::key, dilation<2>>> last;

  constexpr explicit small_net(machine<L>& m) : block{m, normal{1}}, last{m, normal{2}} {}
  constexpr auto operator()(auto const& x) const { return last(block(x)); }
  constexpr auto parameters() { return meshtf::parameters(named("block", block), named("last", last)); }
};

}  // namespace

TEST_CASE("a convolutional net with running statistics: steps, an evaluation, steps computed again") {
  fixture::check_program([]<Layout L>(machine<L>& m, fixture::value_recorder const& see) {
    small_net<L> net{m};
    auto const x = random_normal<double, L, fixture::batch, fixture::length, fixture::in>(m, {.seed = 7});
    sgd opt{0.1};
    for (int step = 0; step < 2; ++step) {
      // `if`, not `?:`: g++ 12 miscounts handles in a conditional expression in constant evaluation
      auto const z = [&] {
        if (step == 0) return net(x);
        return recompute([&](auto const& v) { return net(v); }, x);
      }();
      auto const loss = mean(square(z));
      backward(loss);
      net.parameters().for_each([&](auto const& w) { see(finish(gradient(w))); });
      opt.step(net.parameters());
    }
    see(net.block.norm.running_mean);
    see(net.block.norm.running_variance);
    no_gradient const guard{m};
    see(net(x));
    see(net.block.norm.running_mean);
  });
}

TEST_CASE("names of the parameters and the states of a net") {
  if (boost::mpi::communicator{}.size() != 1) return;
  small_net<fixture::alone> net{fixture::processes<fixture::single>()};
  std::vector<std::string> names;
  net.parameters().for_each_named([&](std::string const& name, auto const&) { names.push_back(name); });
  CHECK(names == std::vector<std::string>{"block.filter", "block.norm.scale", "block.norm.bias",
                                          "block.norm.running_mean", "block.norm.running_variance",
                                          "last.filter", "last.bias"});
}

#if MESHTF_WITH_JANSSON

namespace {

struct batch : dim<4> {};
struct height : dim<6> {};
struct width : dim<5> {};
struct channels : dim<8> {};
struct made : dim<8> {};
struct group : dim<4> {};
struct member : dim<2> {};
struct k_h : dim<3> {};
struct k_w : dim<3> {};

struct whole : layout<fixture::single> {};
struct uneven : layout<fixture::by_three, padded<batch, fixture::third>> {};
struct space : layout<fixture::two_by_two, split<height, fixture::rows>, padded<width, fixture::cols>> {};
struct both : layout<fixture::two_by_two, split<batch, fixture::rows>, split<height, fixture::cols>> {};
struct by_channels : layout<fixture::two_by_two, split<batch, fixture::rows>, split<channels, fixture::cols>,
                            split<member, fixture::cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"norms"};
  return file;
}

/// Result and gradients of `layer(x)`, whose scale and bias have the dimensions `C...`.
template<class L, class... X, class... C>
void compare(machine<L>& m, std::string const& name, auto& layer, shape<X...>, shape<C...>) {
  CAPTURE(name);
  parameter<double, L, X...> x{m};
  x            = golden().tensor<double, L, X...>(m, "x");
  layer.scale  = golden().tensor<double, L, C...>(m, "scale");
  layer.bias   = golden().tensor<double, L, C...>(m, "bias");
  auto const z = layer(x);
  CHECK(golden().distance(z, name + ".result") < 1e-12);
  backward(sum(z * golden().tensor<double, L, X...>(m, "weights")));
  CHECK(golden().distance(finish(gradient(x)), name + ".gradient.x") < 1e-11);
  CHECK(golden().distance(finish(gradient(layer.scale)), name + ".gradient.scale") < 1e-11);
  CHECK(golden().distance(finish(gradient(layer.bias)), name + ".gradient.bias") < 1e-11);
}

template<class L>
void compare_all() {
  process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  INFO("under " << name_of<L>());
  using image = shape<batch, height, width, channels>;
  nn::batch_norm<double, L, channels> by_batch{m};
  compare<L>(m, "batch", by_batch, image{}, shape<channels>{});
  by_batch(golden().tensor<double, L, batch, height, width, channels>(m, "again"));
  CHECK(golden().distance(by_batch.running_mean, "running_mean") < 1e-13);
  CHECK(golden().distance(by_batch.running_variance, "running_variance") < 1e-13);
  {
    no_gradient const guard{m};
    CHECK(golden().distance(by_batch(golden().tensor<double, L, batch, height, width, channels>(m, "x")),
                            "evaluated") < 1e-12);
  }
  nn::group_norm<double, L, shape<group, member>, height, width, member> by_group{m};
  by_group.epsilon = 1e-3;
  compare<L>(m, "group", by_group, shape<batch, height, width, group, member>{}, shape<group, member>{});
  nn::group_norm<double, L, channels, height, width> by_itself{m};
  compare<L>(m, "instance", by_itself, image{}, shape<channels>{});

  nn::conv_block<double, L, channels, made, nn::batch_norm<double, L, made>, nn::rectified,
                 window<height, k_h>, window<width, k_w>>
      block{m, zeros{}};
  parameter<double, L, batch, height, width, channels> x{m};
  x                     = golden().tensor<double, L, batch, height, width, channels>(m, "x");
  block.filtered.filter = golden().tensor<double, L, k_h, k_w, channels, made>(m, "filter");
  block.norm.scale      = golden().tensor<double, L, made>(m, "scale");
  block.norm.bias       = golden().tensor<double, L, made>(m, "bias");
  auto const z          = block(x);
  CHECK(golden().distance(z, "block.result") < 1e-11);
  backward(sum(z * golden().tensor<double, L, batch, height, width, made>(m, "weights")));
  CHECK(golden().distance(finish(gradient(x)), "block.gradient.x") < 1e-10);
  CHECK(golden().distance(finish(gradient(block.filtered.filter)), "block.gradient.filter") < 1e-10);
  CHECK(golden().distance(finish(gradient(block.norm.scale)), "block.gradient.scale") < 1e-10);
  CHECK(golden().distance(finish(gradient(block.norm.bias)), "block.gradient.bias") < 1e-10);
}

}  // namespace

TEST_CASE("norms of images and a block are those of PyTorch, whatever the layout") {
  switch (boost::mpi::communicator{}.size()) {
    case 1: compare_all<whole>(); break;
    case 3: compare_all<uneven>(); break;
    case 4: compare_all<space>(), compare_all<both>(), compare_all<by_channels>(); break;
    default: break;
  }
}

#endif
