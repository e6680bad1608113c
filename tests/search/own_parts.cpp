// If it compiles, it passes: where slice, pad, concat, stack, split_into and tile give their result a
// dimension that is split, each process keeps its part. A record has that, and the gather of the gradient, at
// the price of a dry run.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<3> {};
struct grid : mesh<rows, cols> {};
struct five : axis<5> {};
struct line : mesh<five> {};

struct batch : dim<6> {};
struct positions : dim<16> {};
struct start : dim<4> {};
struct ending : dim<8> {};
struct length : dim<12> {};
struct twice : dim<24> {};
struct six : dim<6> {};
struct pair : dim<2> {};
struct model : dim<6> {};

struct nothing : layout<grid> {};
struct by_model : layout<grid, split<model, cols>> {};
struct by_length : layout<grid, split<length, cols>, split<twice, cols>> {};
struct by_both : layout<grid, split<batch, rows>, split<length, cols>> {};
struct by_parts : layout<grid, split<batch, cols>, split<six, rows>, split<pair, rows>> {};
struct by_all
    : layout<grid, split<length, rows, cols>, split<twice, rows>, split<six, rows>, split<pair, rows>> {};
struct unequal
    : layout<line, padded<length, five>, padded<twice, five>, padded<six, five>, padded<pair, five>> {};

// ---- of parameters, whose gradients stay unreduced, and of other values
template<Layout L>
struct cutting {
  parameter<float, L, positions, model> table;
  parameter<float, L, batch, start, model> prefix;
  parameter<float, L, batch, ending, model> rest;
  sgd opt{0.1F};

  constexpr explicit cutting(machine<L>& m)
      : table{m, he_normal{1}}, prefix{m, he_normal{2}}, rest{m, he_normal{3}} {}
  constexpr auto step() {
    auto const all          = concat<length>(relu(prefix), rest);
    auto const places       = slice<positions, length>(table, 3) + slice<positions, length>(tanh(table), 1);
    auto const [six_of, no] = split_into<ending, six, pair>(tanh(rest));
    auto loss = mean(square(all * broadcast<batch, length, model>(places))) + mean(square(six_of)) + mean(no);
    backward(loss);
    opt.step(parameters(table, prefix, rest));
    return loss;
  }
};
constexpr auto cut = record<cutting, batch, length, twice, six, pair, model>();
static_assert(
    tests::priced_as_dry_runs<cut, cutting, nothing, by_length, by_both, by_parts, by_all, unequal>);

// ---- padded, stacked, repeated
template<Layout L>
struct putting_together {
  parameter<float, L, start, model> w;
  parameter<float, L, batch, start> v;

  constexpr explicit putting_together(machine<L>& m) : w{m, he_normal{1}}, v{m, normal{2}} {}
  constexpr auto step() {
    auto const x = tanh(w);
    auto loss    = mean(square(pad<start, length>(x, 3))) + mean(square(pad<start, six>(w, 1, 2.F))) +
                mean(square(tile<start, twice>(x)));
    loss = loss + mean(square(stack<pair, 1>(v, square(v)))) + mean(square(tile<start, length>(v)));
    backward(loss);
    return loss;
  }
};
constexpr auto put = record<putting_together, batch, length, twice, six, pair>();
static_assert(
    tests::priced_as_dry_runs<put, putting_together, nothing, by_length, by_both, by_parts, by_all, unequal>);

// ---- all layouts of a search
constexpr auto ranked = rank_layouts<grid, candidates<batch, length, six, pair>>(put);
template<std::size_t... I>
constexpr bool peaks_are_dry_runs(std::index_sequence<I...>) {
  return ((ranked[I].peak == dry_run<putting_together, layout_at<ranked, I>>().peak_bytes()) && ...);
}
static_assert(ranked.size() == 60 && peaks_are_dry_runs(tests::some_of<60>{}));

// ---- parts that correspond: rows go to the process before or after
struct tokens : dim<11> {};
struct inputs : dim<10> {};
struct rounded : dim<12> {};
struct tokens_by_rows : layout<grid, padded<tokens, rows>, padded<rounded, rows>, split<model, cols>> {};
struct inputs_by_cols
    : layout<grid, padded<tokens, cols>, padded<inputs, cols>, padded<rounded, cols>, split<batch, rows>> {};

template<Layout L>
struct shifting {
  parameter<float, L, batch, tokens> ids;
  parameter<float, L, tokens, model> w;

  constexpr explicit shifting(machine<L>& m) : ids{m, he_normal{1}}, w{m, normal{2}} {}
  constexpr auto step() {
    auto const x = tanh(ids);
    auto loss    = mean(square(slice<tokens, inputs>(x, 1))) + mean(slice<tokens, inputs>(ids, 0)) +
                mean(square(pad<tokens, rounded>(w, 1)));
    backward(loss);
    return loss;
  }
};
constexpr auto shifted = record<shifting, batch, tokens, inputs, rounded, model>();
static_assert(tests::priced_as_dry_runs<shifted, shifting, nothing, inputs_by_cols>);
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(shifted), true)>{}; };
static_assert(!has_price<tokens_by_rows>);  // inputs are whole, or have 5 of 10 where tokens have 6 of 11
// in 1, 3 or 6 parts
static_assert(
    rank_layouts<grid, candidates<padded<tokens>, padded<inputs>, padded<rounded>>>(shifted).size() == 3);

// pieces of a parameter stay whole: their gradients would be unreduced over different dimensions
template<Layout L>
struct cutting_a_parameter {
  parameter<float, L, ending, model> w;

  constexpr explicit cutting_a_parameter(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() {
    auto const [more, less] = split_into<ending, six, pair>(w);
    auto loss               = mean(square(more)) + mean(less);
    backward(loss);
    return loss;
  }
};
constexpr auto pieces = record<cutting_a_parameter, six, pair, model>();
// each axis splits model or nothing
static_assert(rank_layouts<grid, candidates<six, pair, model>>(pieces).size() == 4);

// and so do parts of partial sums
template<Layout L>
struct cutting_a_sum {
  parameter<float, L, ending, model> w;
  tensor<float, L, batch, model> x;

  constexpr explicit cutting_a_sum(machine<L>& m) : w{m, he_normal{1}}, x{m} {}
  constexpr auto step() {
    auto loss = mean(square(finish(slice<ending, six>(partial_einsum<batch, ending>(x, w), 1))));
    backward(loss);
    return loss;
  }
};
constexpr auto of_sum = record<cutting_a_sum, six, model>();
static_assert(rank_layouts<grid, candidates<six, model>>(of_sum).size() == 4);
static_assert(tests::priced_as_dry_runs<of_sum, cutting_a_sum, by_model>);

}  // namespace
