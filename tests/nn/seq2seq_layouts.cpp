// An encoder and decoder under every layout, with dropout, at the promised price; counted lengths; depths
// known at run time; mixed precision.
// test: processes 1 2 3 4 6 8 10
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct words : dim<8> {};
struct short_source : up_to<6> {};
struct short_target : up_to<5> {};

// sources along `memory`, whole; targets along `length`, which one layout splits
struct one_block : nn::seq2seq_dims<memory, length, vocab, out, heads, key, hidden> {
  using positions                     = nn::learned_positions;
  static constexpr int encoder_layers = 1;
  static constexpr int decoder_layers = 1;
};
struct one_block_more : one_block {
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};
// sources along `right`, targets along `left`: many layouts split one or both
struct in_lines : nn::seq2seq_dims<right, left, words, in, plain_group, key, plain_member> {
  static constexpr int encoder_layers = nn::any_depth;
  static constexpr int decoder_layers = nn::any_depth;
};

/// Ids that differ along both dimensions; segments of three positions, the last of padding.
template<Dimension Along, Layout L>
constexpr auto ids_along(machine<L>& m) {
  auto const across = broadcast<batch, Along>(iota<int, L, batch>(m)) * 3;
  return modulo(across + iota<int, L, Along>(m) * 5, 8);
}
template<Dimension Along, Layout L>
constexpr auto segments_along(machine<L>& m) {
  auto const across = broadcast<batch, Along>(modulo(iota<int, L, batch>(m), 2));
  return modulo(floor_divide(across + iota<int, L, Along>(m), 2) + 1, 3);
}

/// The same model, of sources and targets whose lengths are counted.
struct of_counted : nn::seq2seq_dims<short_source, short_target, vocab, out, heads, key, hidden> {
  static constexpr int encoder_layers = 1;
  static constexpr int decoder_layers = 1;
};

constexpr nn::seq2seq_loss_options training{.dropout = {0.2, {.seed = 3, .stream = 4}, 0.3},
                                            .terms   = {.label_smoothing = 0.1, .z_loss = 1e-3}};

/// A step of two blocks on each side, which are computed again in the backward pass, or kept.
template<bool Again>
struct blocks_again {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::seq2seq<double, L, one_block_more> net{m, 1};
    net.encoder.recompute_blocks = net.decoder.recompute_blocks = Again;
    nn::packed_pairs const pairs{ids_along<memory, L>(m), segments_along<memory, L>(m),
                                 ids_along<length, L>(m), segments_along<length, L>(m)};
    auto const loss = net.loss(pairs, training);
    see(loss);
    backward(loss);
    parameters(net.tokens, net.encoder.norm, net.decoder.blocks[0].cross.value, net.encoder.blocks[1].feed)
        .for_each([&see](auto const& w) { see(finish(gradient(w))); });
  }
};
template<bool Again>
inline constexpr extent peak_of = dry_run<mixed>(shown_to<blocks_again<Again>>{}).peak_bytes();
static_assert(peak_of<true> < peak_of<false> * 4 / 5);

}  // namespace

TEST_CASE("blocks that are computed again have the bits of blocks that are kept", "[1]") {
  auto const again = run<alone>(blocks_again<true>{});
  compare(again, run<alone>(blocks_again<false>{}), 0, "kept");
}

TEST_CASE("scores, loss with dropout and gradients of packed pairs") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::seq2seq<double, L, one_block> net{m, 1};
    nn::packed_pairs const pairs{ids_along<memory, L>(m), segments_along<memory, L>(m),
                                 ids_along<length, L>(m), segments_along<length, L>(m)};
    see(net(pairs));
    auto const total = net.loss(pairs, training);
    auto const loss  = total / net.count(pairs);
    see(loss);
    backward(loss);
    see(finish(gradient(net.tokens.table)));
    see(finish(gradient(net.source_positions.table)));
    see(finish(gradient(net.target_positions.table)));
    see(finish(gradient(net.encoder.blocks[0].attention.value.weight)));
    see(finish(gradient(net.decoder.blocks[0].attention.query.weight)));
    see(finish(gradient(net.decoder.blocks[0].cross.key.weight)));
    see(finish(gradient(net.decoder.blocks[0].feed.up.bias)));
    see(finish(gradient(net.decoder.norm.scale)));
  });
}

TEST_CASE("depths known at run time, and decoding, where positions of both sides may be split") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::seq2seq<double, L, in_lines> net{m, nn::depth{1}, nn::depth{2}, 1};
    net.encoder.recompute_blocks = net.decoder.recompute_blocks = true;
    auto const from                                             = modulo(iota<int, L, right>(m) * 5, 8);
    auto const to                                               = modulo(iota<int, L, left>(m) * 3 + 1, 8);
    nn::packed_pairs const pairs{from, floor_divide(iota<int, L, right>(m), 3), to,
                                 floor_divide(iota<int, L, left>(m), 3)};
    auto const total = net.loss(pairs, training);
    auto const loss  = total / net.count(pairs);
    see(loss);
    backward(loss);
    see(finish(gradient(net.tokens.table)));
    see(finish(gradient(net.encoder.blocks[0].feed.down.weight)));
    see(finish(gradient(net.decoder.blocks[1].cross.value.weight)));
    see(net.greedy(nn::source_rows{from, less(iota<int, L, right>(m), 5)}, -1));
  });
}

TEST_CASE("pairs of counted lengths are packed pairs with one sequence in each row", "[1]") {
  auto& m = processes<single>();
  nn::seq2seq<double, alone, of_counted> net{m, 1};
  auto const losses = [&] {
    auto const from = ids_along<short_source, alone>(m);
    auto const to   = ids_along<short_target, alone>(m);
    nn::row_pairs const rows_of{from, to};
    nn::packed_pairs const packed{from, from * 0 + 1, to, to * 0 + 1};
    auto const apart = net.loss(rows_of, training) - net.loss(packed, training);
    CHECK(std::abs(apart.value()) < 1e-12);
    CHECK(net.count(rows_of).value() == net.count(packed).value());
    return std::pair{net.loss(rows_of).value(), net.count(rows_of).value()};
  };
  auto const all = losses();
  CHECK(all.second == 8 * 5);
  counted<short_source> const of_source{m, 4};
  counted<short_target> const of_target{m, 3};
  auto const fewer = losses();
  CHECK(fewer.second == 8 * 3);
  CHECK(fewer.first < all.first);
}

TEST_CASE("dropout: other elements in each pass, none in evaluation", "[1]") {
  auto& m = processes<single>();
  nn::seq2seq<double, alone, one_block> net{m, 1};
  nn::packed_pairs const pairs{ids_along<memory, alone>(m), segments_along<memory, alone>(m),
                               ids_along<length, alone>(m), segments_along<length, alone>(m)};
  auto const loss = [&](double rate, std::uint64_t pass) {
    return net.loss(pairs, {.dropout = {rate, {.seed = 1, .stream = pass}}}).value();
  };
  CHECK(loss(0, 1) == net.loss(pairs).value());
  CHECK(loss(0, 1) == loss(0, 2));
  CHECK(loss(0.1, 1) == loss(0.1, 1));
  CHECK(loss(0.1, 1) != loss(0.1, 2));
  CHECK(loss(0.1, 1) != loss(0, 1));
  auto const of_attention = [&](double rate, std::uint64_t pass) {
    return net.loss(pairs, {.dropout = {.random = {.seed = 1, .stream = pass}, .attention = rate}}).value();
  };
  CHECK(of_attention(0, 1) == loss(0, 1));
  CHECK(of_attention(0.3, 1) == of_attention(0.3, 1));
  CHECK(of_attention(0.3, 1) != of_attention(0.3, 2));
  CHECK(of_attention(0.3, 1) != loss(0, 1));
}

TEST_CASE("dropout draws other numbers in each part of a model", "[1]") {
  nn::dropout_options const pass{0.1, {.seed = 1, .stream = 7}};
  std::vector<std::uint64_t> drawn;
  for (std::uint64_t side = 0; side < 2; ++side)
    for (std::uint64_t block = 0; block < 4; ++block)
      for (std::uint64_t use = 0; use < 3; ++use)
        drawn.push_back(pass.part(side).part(block).part(use).random.stream);
  std::sort(drawn.begin(), drawn.end());
  CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
}

TEST_CASE("mixed precision: activations in bfloat16, the loss in float", "[1]") {
  auto& m = processes<single>();
  nn::seq2seq<float, alone, one_block> net{m, 1};
  nn::seq2seq<float, alone, one_block, bfloat16> narrow{m, 1};
  nn::packed_pairs const pairs{ids_along<memory, alone>(m), segments_along<memory, alone>(m),
                               ids_along<length, alone>(m), segments_along<length, alone>(m)};
  auto const loss  = net.loss(pairs) / net.count(pairs);
  auto const other = narrow.loss(pairs) / narrow.count(pairs);
  CHECK(std::abs(loss.value() - other.value()) < 0.02f * loss.value());
  CHECK(loss.value() != other.value());
  backward(other);
  CHECK(std::isfinite(sum(finish(gradient(narrow.tokens.table))).value()));
}
