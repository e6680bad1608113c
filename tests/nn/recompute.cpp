// Blocks of a Transformer that are computed again in the backward pass: the same bits, less memory.
// test: processes 1 2 4
#include "../layout_fixture.hpp"

#include <meshtf/nn/transformer.hpp>

using namespace fixture;

namespace {

struct of_blocks : nn::transformer_dims<plain_group, vocab, in, heads, key, hidden> {};

template<bool Again>
struct blocks_in_turn {
  template<class F, class X>
  static constexpr auto call(F const& f, X const& x) {
    if constexpr (Again) return recompute(f, x);
    else return f(x);
  }

  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    using block = nn::transformer_block<double, L, of_blocks>;
    nn::streams seeds{1};
    block one{m, seeds, 0.3, 0.3};
    block two{m, seeds, 0.3, 0.3};
    block three{m, seeds, 0.3, 0.3};
    auto const x     = random_normal<double, L, batch, plain_group, in>(m, {5});
    auto const first = call(one, x);
    auto const next  = call(two, first);
    auto const last  = call(three, next);
    auto const z     = last.stream + last.branch;
    see(z);
    auto const loss = mean(square(z));
    backward(loss);
    for (block* b : {&one, &three})  // not of the keys' bias, whose gradient is zero but for rounding
      parameters(b->norm1, b->attention.query, b->attention.value, b->feed).for_each([&see](auto const& w) {
        see(finish(gradient(w)));
      });
  }
};

template<bool Again, class L>
inline constexpr extent peak = dry_run<L>(shown_to<blocks_in_turn<Again>>{}).peak_bytes();
static_assert(peak<true, mixed> < peak<false, mixed> * 4 / 5);

}  // namespace

TEST_CASE("blocks that are computed again have the bits of blocks that are kept") {
  check_program(blocks_in_turn<true>{});
  under_each_layout([]<Layout L> {
    compare(run<L>(blocks_in_turn<true>{}), run<L>(blocks_in_turn<false>{}), 0,
            std::string{name_of<L>()} + ", kept");
  });
}
