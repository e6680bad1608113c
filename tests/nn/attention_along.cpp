// Attention layers whose positions are split: keys and values are gathered, at the price that was promised.
// And their options.
// test: processes 1 2 3 4 6 8 10
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct by_left : layout<pair, split<left, line>> {};

struct one_block : nn::transformer_dims<length, vocab, out, heads, key, hidden> {
  static constexpr int layers = 1;
};

/// Its gradients, but for that of the keys' bias, which is 0 but for rounding: softmax does not see what all
/// keys share.
constexpr void see_gradients(value_recorder const& see, auto& attends) {
  meshtf::parameters(attends.query, attends.key.weight, attends.value, attends.output)
      .for_each([&](auto const& w) { see(finish(gradient(w))); });
}

}  // namespace

TEST_CASE("attention of a sequence to itself, of which some layouts split the positions") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::streams seeds{5};
    nn::self_attention<double, L, left, in, plain_group, key> attends{m, seeds, 0.4, 0.4};
    nn::grouped_attention<double, L, left, in, plain_group, plain_member, key> shares{m, seeds, 0.4, 0.4};
    parameter<double, L, left, in> x{m, normal{4}};
    shares.window     = 3;
    auto const y      = attends(x);
    auto const both   = attends(x, {.dropout = 0.25, .random = {.seed = 7}});
    auto const z      = shares(x);
    auto const fewer  = shares(x, {.causal = true, .dropout = 0.25, .random = {.seed = 8}});
    auto const summed = y + both + z + fewer;
    see(y);
    see(both);
    see(z);
    see(fewer);
    auto const differ = [](auto const& one, auto const& same) {
      auto const far = sum(square(one - same));
      if constexpr (!is_dry<L>) CHECK(far.value() > 0.01);
    };
    differ(both, y);
    differ(fewer, z);
    auto const loss = sum(square(summed));
    backward(loss);
    see(finish(gradient(x)));
    see_gradients(see, attends);
    shares.parameters().for_each([&](auto const& w) { see(finish(gradient(w))); });
  });
}

TEST_CASE("a block of a Transformer whose batch, positions and heads are all split", "[8]") {
  auto const program = []<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::transformer<double, L, one_block> net{m, 3};
    auto const ids    = argmax<vocab>(random_normal<double, L, vocab, batch, length>(m, {.seed = 2}));
    auto const scores = net(ids);
    auto const loss   = mean(softmax_cross_entropy<vocab>(scores, ids));
    see(scores);
    backward(loss);
    see_gradients(see, net.blocks[0].attention);
    meshtf::parameters(net.tokens, net.positions.table, net.norm).for_each([&](auto const& w) {
      see(finish(gradient(w)));
    });
  };
  check_under<solid>(program, run<alone>(program), 1e-12);
}

TEST_CASE("what split positions cost: a gather of keys and of values, and their gradients back") {
  static constexpr auto price = dry_run<by_left>([]<Layout L>(machine<L>& m) {
    nn::streams seeds{5};
    nn::self_attention<float, L, left, in, plain_group, key> attends{m, seeds, 0.4, 0.4};
    tensor<float, L, left, in> x{m};
    m.start_over();
    auto const z = attends(x);
    backward(sum(square(z)));
  });
  constexpr extent half       = left::size * plain_group::size * key::size * 4 / 2;  // of the keys, in bytes
  STATIC_REQUIRE(price.template bytes_sent<line>() == 4 * half + 4);  // and one number, the loss
}
