// If it compiles, it passes: what shift, roll, flip, cumsum, cumprod, top_k and nth_element do along a split
// dimension is recorded without a layout, and priced as in dry runs.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct length : dim<16> {};
struct model : dim<4> {};
struct some : dim<3> {};
struct many : dim<6> {};  // more than a part has

struct nothing : layout<grid> {};
struct by_length : layout<grid, split<length, cols>> {};
struct by_both : layout<grid, split<batch, rows>, split<length, cols>> {};
struct by_all_axes : layout<grid, split<length, cols, rows>> {};

// ---- elements that move, by fewer elements than a part has and by more
template<Layout L>
struct moving {
  parameter<float, L, length, model> places;
  parameter<float, L, batch, length, model> w;

  constexpr explicit moving(machine<L>& m) : places{m, he_normal{1}}, w{m, he_normal{2}} {}
  constexpr auto step() {
    auto const x = tanh(w) + flip<length>(shift<length>(places, 1));
    auto const y = roll<length>(x, -5) * shift<length>(x, 3, 0.5F);
    auto loss    = mean(square(shift<length>(y, -20))) + mean(roll<length>(x, 24)) +
                mean(square(roll<length>(y, 8))) + mean(shift<length>(x, 7));
    backward(loss);
    return loss;
  }
};
constexpr auto moved = record<moving, batch, length>();
static_assert(tests::priced_as_dry_runs<moved, moving, nothing, by_length, by_both, by_all_axes>);

// ---- running sums and products
template<Layout L>
struct running_on {
  parameter<float, L, batch, length, model> w;
  parameter<double, L, length> v;

  constexpr explicit running_on(machine<L>& m) : w{m, he_normal{1}}, v{m, normal{2}} {}
  constexpr auto step() {
    auto const x = cumsum<length>(tanh(w), {.exclusive = true});
    auto loss    = mean(square(cumsum<length>(x, {.reverse = true}))) + mean(cumprod<length>(x)) +
                cast<float>(mean(cumprod<length>(v, {.reverse = true})));
    backward(loss);
    return loss;
  }
};
constexpr auto ran = record<running_on, batch, length>();
static_assert(tests::priced_as_dry_runs<ran, running_on, nothing, by_length, by_both>);

// ---- of narrow elements, whose sums in parts are wider
template<Layout L>
struct narrow_running {
  parameter<bfloat16, L, batch, length> w;

  constexpr explicit narrow_running(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() {
    auto loss = mean(square(cumsum<length>(tanh(w), {.exclusive = true})));
    backward(loss);
    return loss;
  }
};
constexpr auto ran_narrow = record<narrow_running, batch, length>();
static_assert(tests::priced_as_dry_runs<ran_narrow, narrow_running, nothing, by_both>);

// ---- the first in order
template<Layout L>
struct ranking_lines {
  parameter<float, L, batch, length, model> w;

  constexpr explicit ranking_lines(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() {
    auto const x             = tanh(w);
    auto const [best, where] = top_k<length, some>(x);
    auto const [more, there] = top_k<length, many>(square(x));
    auto const [third, at]   = nth_element<length, 2>(x);
    auto loss                = mean(square(best)) + mean(more) + mean(third);
    backward(loss);
    (void)there, (void)at;
    return sum(where);
  }
};
constexpr auto ranked = record<ranking_lines, batch, length>();
static_assert(tests::priced_as_dry_runs<ranked, ranking_lines, nothing, by_length, by_both>);

// ---- all layouts of a search
constexpr auto layouts = rank_layouts<grid, candidates<batch, length>>(ranked);
template<std::size_t... I>
constexpr bool peaks_are_dry_runs(std::index_sequence<I...>) {
  return ((layouts[I].peak == dry_run<ranking_lines, layout_at<layouts, I>>().peak_bytes()) && ...);
}
static_assert(layouts.size() == 9);  // each of two axes splits one of two dimensions or none
static_assert(peaks_are_dry_runs(tests::some_of<9>{}));

// ---- parts that are not equal
struct seven : dim<7> {};
struct two : dim<2> {};
struct seven_by_cols : layout<grid, padded<seven, cols>> {};

template<Layout L>
struct unequal {
  parameter<float, L, seven, model> w;

  constexpr explicit unequal(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() {
    auto const x          = tanh(w);
    auto const [best, at] = top_k<seven, two>(x);
    auto loss = mean(shift<seven>(x, 1)) + mean(cumsum<seven>(x)) + mean(cumprod<seven>(x)) + mean(best);
    backward(loss);
    (void)at;
    return loss;
  }
};
constexpr auto uneven = record<unequal, seven>();
static_assert(tests::priced_as_dry_runs<uneven, unequal, nothing, seven_by_cols>);

// flip and roll need equal parts
template<Layout L>
struct around {
  parameter<float, L, seven, model> w;

  constexpr explicit around(machine<L>& m) : w{m, he_normal{1}} {}
  constexpr auto step() { return sum(flip<seven>(roll<seven>(w, 1))); }
};
constexpr auto went_around = record<around, seven>();
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(went_around), true)>{}; };
static_assert(has_price<nothing> && !has_price<seven_by_cols>);
static_assert(rank_layouts<grid, candidates<padded<seven>>>(went_around).size() == 1);

// what is sorted as a whole stays whole, and so do the ranks
template<Layout L>
struct sorting {
  tensor<float, L, batch, length> x;

  constexpr explicit sorting(machine<L>& m) : x{m} {}
  constexpr auto step() { return top_k<length, some>(sort<batch>(x)).value; }
};
constexpr auto sorted = record<sorting, batch, length, some>();
static_assert(rank_layouts<grid, candidates<batch, length, some>>(sorted).size() == 4);

}  // namespace
