// Layers by themselves: results, gradients and names, under every layout.
#include "../layout_fixture.hpp"

using namespace fixture;

TEST_CASE("projection and linear: one dimension or several, on each side") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::projection<double, L, in, hidden> up{m, normal{1}};
    nn::linear<double, L, hidden, in> back{m, normal{5}};
    nn::linear<double, L, in, shape<heads, key>> across{m, normal{2}};
    nn::linear<double, L, shape<heads, key>, out> down{m, normal{3}};
    parameter<double, L, batch, in> x{m, normal{4}};
    auto const h    = tanh(up(x));
    auto const b    = back(h);
    auto const a    = across(b);
    auto const y    = down(a);
    auto const loss = sum(square(y));
    see(y);
    backward(loss);
    see(finish(gradient(x)));
    meshtf::parameters(up, back, across, down).for_each([&](auto const& w) { see(finish(gradient(w))); });
  });
}

TEST_CASE("embedding and norms, the scores tied to the embedding") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::embedding<double, L, vocab, in> tokens{m, normal{1}};
    nn::layer_norm<double, L, in> centred{m};
    nn::rms_norm<double, L, in> scaled{m};
    auto const ids  = argmax<vocab>(random_normal<double, L, vocab, batch, length>(m, {.seed = 2}));
    auto const x    = tokens(ids);
    auto const y    = centred(x);
    auto const z    = scaled(y);
    auto const r    = centred(x, z);
    auto const far  = tokens.logits(r.norm);
    auto const loss = mean(softmax_cross_entropy<vocab>(far, ids));
    see(far);
    backward(loss);
    meshtf::parameters(tokens, centred, scaled).for_each([&](auto const& w) { see(finish(gradient(w))); });
  });
}

namespace {

struct tiny : nn::transformer_dims<in, vocab, out, heads, key, hidden> {
  static constexpr int layers = 2;
};
struct tiny_untied : tiny {
  static constexpr int layers = 1;
  static constexpr bool tied  = false;
};

template<class Net>
std::vector<std::string> names_of(Net& net) {
  std::vector<std::string> names;
  net.parameters().for_each_named([&](std::string const& name, auto const&) { names.push_back(name); });
  return names;
}

}  // namespace

TEST_CASE("parameters have names, the same under every layout") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  nn::transformer<float, alone, tiny> net{m, 1};
  auto const names = names_of(net);
  REQUIRE(names.size() == 2 + 2 * 16 + 2);
  CHECK(names[0] == "tokens");
  CHECK(names[1] == "positions");
  CHECK(names[2] == "blocks.0.norm1.scale");
  CHECK(names[4] == "blocks.0.attention.query.weight");
  CHECK(names[17] == "blocks.0.feed_forward.down.bias");
  CHECK(names[18] == "blocks.1.norm1.scale");
  CHECK(names.back() == "norm.bias");

  nn::transformer<float, alone, tiny_untied> untied{m, 1};
  CHECK(names_of(untied).back() == "output.weight");

  parameter<float, alone, in> w{m};
  parameter<float, alone, in> b{m};
  std::vector<std::string> plain;
  parameters(w, named("bias", b), net).for_each_named([&](std::string const& name, auto const&) {
    plain.push_back(name);
  });
  CHECK(plain[0] == "0");
  CHECK(plain[1] == "bias");
  CHECK(plain[2] == "2.tokens");
}

TEST_CASE("gradients of micro-batches add up, and are sent once") {
  if (boost::mpi::communicator{}.size() != 4) return;
  static constexpr auto price = []<int Times>(std::integral_constant<int, Times>) {
    return dry_run<mixed>([]<Layout L>(machine<L>& m) {
      nn::transformer<float, L, tiny> net{m, 1};
      tensor<int, L, batch, in> ids{m};
      m.start_over();
      for (int i = 0; i < Times; ++i) {
        auto const scores = net(ids);
        auto const loss   = mean(softmax_cross_entropy<vocab>(scores, ids));
        backward(loss);
      }
      adam opt;
      opt.step(parameters(net));
    });
  };
  constexpr auto once = price(std::integral_constant<int, 1>{});
  constexpr auto four = price(std::integral_constant<int, 4>{});
  // over rows alone travel the gradients, and the sum of each mean's loss
  constexpr extent losses = 3 * 4;  // three more means, of 4 bytes; a ring of two sends each once
  STATIC_REQUIRE(four.bytes_sent<rows>() - once.bytes_sent<rows>() == losses);
}
