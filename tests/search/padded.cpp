// If it compiles, it passes: sizes that do not divide are priced as in dry runs, and a search cuts those
// dimensions that it may pad.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "language_training.hpp"
#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

// ---- a Transformer with 251 ids, 6 heads and a batch of 10

namespace block {

struct batch : dim<10> {};
struct length : dim<8> {};
struct vocab : dim<251> {};
struct model : dim<25> {};
struct heads : dim<6> {};
struct key : dim<4> {};
struct hidden : dim<97> {};

struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 1;
};

template<Layout L>
using training = tests::language_training<L, batch, dims>;

constexpr auto step = record<training, batch, length, vocab, model, heads, hidden>();

// every dimension is rounded up by itself, within a product of two uneven ones too
struct ids : layout<grid, padded<vocab, cols>> {};
struct all_of_it
    : layout<grid, split<batch, rows>, padded<vocab, cols>, padded<heads, cols>, padded<hidden, cols>> {};
struct both_uneven : layout<grid, padded<batch, cols>, padded<hidden, rows>, padded<vocab, rows>> {};
struct two_axes : layout<grid, padded<batch, rows, cols>> {};
struct along_model : layout<grid, split<batch, rows>, padded<model, cols>> {};
struct divides : layout<grid, padded<batch, rows>> {};
static_assert(
    tests::priced_as_dry_runs<step, training, ids, all_of_it, both_uneven, two_axes, along_model, divides>);

// `split` still must divide, whatever the search does
struct cut : layout<grid, split<vocab, cols>> {};
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(step), true)>{}; };
static_assert(!has_price<cut> && has_price<ids>);

// what is not marked is not padded: of 251 and 97 elements, both prime, there are no equal parts
constexpr auto plain = rank_layouts<grid, candidates<batch, vocab, hidden>>(step);
static_assert(plain.size() == 2 && plain.text(1) != plain.text(0));

using space           = candidates<batch, padded<vocab>, padded<heads>, hidden>;
constexpr auto ranked = rank_layouts<grid, space>(step);
// rows split nothing, batch, vocab, heads, or the last two; cols all but batch
static_assert(ranked.looked_at() == 256 && ranked.size() == 5 * 4);
constexpr bool has(std::string_view text) {
  for (std::size_t i = 0; i < ranked.size(); ++i)
    if (ranked.text(i) == text) return true;
  return false;
}
static_assert(has("batch: rows, vocab: cols (padded), heads: cols (padded)"));
static_assert(has("heads: rows"));  // divides
static_assert(!has("hidden: rows (padded)") && !has("batch: cols (padded)"));

template<std::size_t I>
constexpr bool as_dry_run() {
  using found           = layout_at<ranked, I>;
  constexpr auto priced = price<found>(step);
  return tests::same_price(priced, dry_run<training, found>()) &&
         tests::same_price(priced, price<grid>(step, ranked.numbers(I))) &&
         ranked[I].peak == priced.peak_bytes() && ranked[I].seconds < priced.time().total() * (1 + 1e-9) &&
         ranked[I].seconds > priced.time().total() * (1 - 1e-9);
}
template<std::size_t... I>
constexpr bool all_as_dry_runs(std::index_sequence<I...>) {
  return (as_dry_run<I>() && ...);
}
static_assert(all_as_dry_runs(tests::some_of<ranked.size()>{}));

// the type of a found layout pads what must be padded, and nothing else
constexpr min_time flops_alone{.machine = {.flops_per_second        = 1e9,
                                           .memory_bytes_per_second = 1e30,
                                           .seconds_per_byte_added  = 0,
                                           .within_node = {.seconds_per_message = 0, .seconds_per_byte = 0}}};
using best = best_layout<step, grid, space, flops_alone>;
static_assert(std::same_as<best, layout<grid, split<batch, rows>, padded<vocab, cols>, padded<heads, cols>>>);

// named layouts are ranked among each other
static_assert(
    std::same_as<best_layout<step, grid, candidates<ids, all_of_it, two_axes>, flops_alone>, all_of_it>);

}  // namespace block

// ---- gradients that are too long to share a message

namespace two_layers {

struct batch : dim<30> {};
struct in : dim<49> {};
struct hidden : dim<1021> {};
struct out : dim<10> {};

template<Layout L>
struct training {
  parameter<float, L, in, hidden> w1;
  parameter<float, L, hidden, out> w2;
  parameter<float, L, out> b;
  adam opt{1e-3};
  tensor<float, L, batch, in> x;
  tensor<int, L, batch> labels;

  constexpr explicit training(machine<L>& m)
      : w1{m, he_normal{1}}, w2{m, he_normal{2}}, b{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto h    = relu(einsum<batch, hidden>(x, w1));
    auto loss = mean(softmax_cross_entropy<out>(einsum<batch, out>(h, w2) + b, labels));
    backward(loss);
    opt.step(parameters(w1, w2, b));
    return loss;
  }
};

constexpr auto step = record<training, batch, in, hidden, out>();

struct data : layout<grid, padded<batch, cols>> {};
struct mixed : layout<grid, padded<hidden, rows>, padded<batch, cols>> {};
struct inputs : layout<grid, padded<in, cols>, split<batch, rows>> {};
struct outputs : layout<grid, padded<out, cols>, padded<batch, rows>> {};
static_assert(tests::priced_as_dry_runs<step, training, data, mixed, inputs, outputs>);

constexpr auto ranked =
    rank_layouts<grid, candidates<padded<batch>, padded<in>, padded<hidden>, padded<out>>, 100>(step);
constexpr bool priced_as_ranked() {
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    auto const alone     = price<grid>(step, ranked.numbers(i));
    double const seconds = alone.time().total();
    if (ranked[i].peak != alone.peak_bytes() || ranked[i].seconds < seconds * (1 - 1e-9) ||
        ranked[i].seconds > seconds * (1 + 1e-9))
      return false;
  }
  return ranked.size() > 20;
}
static_assert(priced_as_ranked());

}  // namespace two_layers

// ---- other names of the same elements stay in place if both are cut between the same ones

namespace names {

struct three : axis<3> {};
struct trio : mesh<three, cols> {};

struct batch : dim<4> {};
struct in : dim<7> {};
struct hidden : dim<10> {};  // heads x key
struct heads : dim<5> {};
struct key : dim<2> {};
struct out : dim<10> {};  // hidden under another name

template<Layout L>
struct training {
  parameter<float, L, in, hidden> w;
  sgd opt{1e-3};
  tensor<float, L, batch, in> x;

  constexpr explicit training(machine<L>& m) : w{m, he_normal{1}}, x{m} {}
  constexpr auto step() {
    auto const z    = einsum<batch, hidden>(x, w);
    auto const each = split_dim<hidden, heads, key>(relu(z));
    auto const loss = sum(square(merge_dims<heads, key, out>(each) + rename<hidden, out>(z)));
    backward(loss);
    opt.step(parameters(w));
    return loss;
  }
};

constexpr auto step = record<training, batch, in, hidden, heads, out>();

// 10 over 3 is cut after 4 elements, between two pairs, but over 4 after 3, within a pair
template<class A>
struct over : layout<trio, padded<hidden, A>, padded<heads, A>, padded<out, A>> {};
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(step), true)>{}; };
static_assert(tests::same_price(price<over<three>>(step), dry_run<training, over<three>>()));
static_assert(!has_price<over<cols>>);

constexpr auto ranked = rank_layouts<trio, candidates<padded<hidden>, padded<heads>, padded<out>>>(step);
static_assert(ranked.size() == 2);
static_assert(std::same_as<layout_at<ranked, 0>, layout<trio>> ||
              std::same_as<layout_at<ranked, 1>, layout<trio>>);

}  // namespace names

}  // namespace
