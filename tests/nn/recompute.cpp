// Blocks of a Transformer that are computed again in the backward pass: the same bits, less memory.
// test: processes 1 2 4
#include "../layout_fixture.hpp"

#include <meshtf/nn/recomputed_blocks.hpp>
#include <meshtf/nn/stack.hpp>
#include <meshtf/nn/transformer.hpp>

using namespace fixture;

namespace {

struct of_blocks : nn::transformer_dims<plain_group, vocab, in, heads, key, hidden> {};

template<int Recomputed>
struct blocks_in_turn {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    using block = nn::transformer_block<double, L, of_blocks>;
    nn::streams seeds{1};
    nn::stack<block, 3> three{m, seeds, 0.3, 0.3};
    auto const& blocks = three.blocks;
    auto const x       = random_normal<double, L, batch, plain_group, in>(m, {5});
    auto const here    = std::source_location::current();
    auto const last    = nn::detail::through_recomputed<L>(blocks, x, Recomputed, here);
    auto const z       = last.stream + last.branch;
    see(z);
    auto const loss = mean(square(z));
    backward(loss);
    for (block* b : {&three.blocks[0],
                     &three.blocks[2]})  // not of the keys' bias, whose gradient is zero but for rounding
      parameters(b->norm1, b->attention.query, b->attention.value, b->feed).for_each([&see](auto const& w) {
        see(finish(gradient(w)));
      });
  }
};

template<int Recomputed, class L>
inline constexpr extent peak = dry_run<L>(shown_to<blocks_in_turn<Recomputed>>{}).peak_bytes();
static_assert(peak<3, mixed> < peak<0, mixed> * 4 / 5);

}  // namespace

TEST_CASE("blocks that are computed again have the bits of blocks that are kept") {
  check_program(blocks_in_turn<3>{});
  under_each_layout([]<Layout L> {
    compare(run<L>(blocks_in_turn<3>{}), run<L>(blocks_in_turn<0>{}), 0,
            std::string{name_of<L>()} + ", kept");
  });
}
