// If it compiles, it passes: flip, pad, shift, roll, tile, split_into, stack, unstack and a rename of two
// names are recorded without a layout, and priced as dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct grid : mesh<rows> {};

struct batch : dim<16> {};
struct sequences : dim<16> {};  // batch under another name
struct length : dim<8> {};
struct longer : dim<12> {};
struct twice : dim<16> {};
struct start : dim<2> {};
struct ending : dim<6> {};
struct model : dim<4> {};
struct features : dim<4> {};  // model under another name

template<Layout L>
struct training {
  parameter<float, L, length, model> places;
  parameter<float, L, batch, length, model> w;

  constexpr explicit training(machine<L>& m) : places{m, he_normal{1}}, w{m, he_normal{2}} {}
  constexpr auto step() {
    auto const x            = tanh(w) + flip<length>(shift<length>(places, 1));
    auto const y            = roll<length>(x, -2) * shift<length>(x, 3, 0.5);
    auto const z            = rename<batch, sequences, model, features>(y);
    auto const [a, b]       = split_into<length, start, ending>(x);
    auto const [c, d, e, f] = unstack<model>(y);
    auto const loss         = mean(pad<length, longer>(z, 2)) + mean(tile<length, twice>(x)) + mean(a) +
                      mean(stack<start, 1>(c, f)) + sum(square(d));
    backward(loss);
    (void)b, (void)e;
    return loss;
  }
};

constexpr auto step = record<training, batch, sequences, length>();
struct by_batch : layout<grid, split<batch, rows>, split<sequences, rows>> {};
struct whole : layout<grid> {};
struct by_length : layout<grid, split<length, rows>> {};
static_assert(tests::same_price(price<by_batch>(step), dry_run<training, by_batch>()));
static_assert(tests::same_price(price<whole>(step), dry_run<training, whole>()));

// split_into needs its dimension whole
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(step), true)>{}; };
static_assert(!has_price<by_length> && has_price<whole>);

}  // namespace
