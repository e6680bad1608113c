// If it compiles, it passes: two stacks of blocks that grow together, an encoder and a decoder, priced from
// one, two and three blocks each.
// test: long
#include "../../examples/paper_models.hpp"

namespace {

using namespace meshtf;

template<class A>
constexpr bool same(A const& a, A const& b) {
  return a == b && a.live_bytes() == b.live_bytes() && a.at_peak().by_kind == b.at_peak().by_kind &&
         a.bytes_sent() == b.bytes_sent() && a.calls() == b.calls();
}

// T5's stacks have attentions of two kinds, of texts of two lengths; all blocks of a stack share a table, and
// all of the decoder what the encoder made
using small          = paper::t5_small<4, 4>;
constexpr auto one   = dry_run<paper::t5_model, small>(1);
constexpr auto two   = dry_run<paper::t5_model, small>(2);
constexpr auto three = dry_run<paper::t5_model, small>(3);
static_assert(same(repeat(4, one, two, three), dry_run<paper::t5_model, small>(4)));
static_assert(same(repeat(6, one, two, three), dry_run<paper::t5_model, small>(6)));

// of the translator encoder and decoder have one length, so that their calls are alike
using pairs           = paper::wmt<2, 4, 4>;
constexpr auto first  = dry_run<paper::translator, pairs>(1);
constexpr auto second = dry_run<paper::translator, pairs>(2);
constexpr auto third  = dry_run<paper::translator, pairs>(3);
static_assert(same(repeat(4, first, second, third), dry_run<paper::translator, pairs>(4)));
static_assert(same(repeat(6, first, second, third), dry_run<paper::translator, pairs>(6)));

// one stack alone that grows is no stack of equal blocks of the other's: the costs must follow from each
// other
template<auto const& A, auto const& B, auto const& C>
concept follow = requires { typename std::integral_constant<extent, repeat(4, A, B, C).calls()>; };
static_assert(follow<one, two, three> && follow<first, second, third>);
static_assert(!follow<one, one, three> && !follow<two, one, three> && !follow<one, two, one>);

}  // namespace
