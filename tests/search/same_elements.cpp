// If it compiles, it passes: rename, split_dim and merge_dims are recorded without a layout where nothing
// moves, and priced as dry runs.
// test: long
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct sequences : dim<16> {};  // batch under another name
struct batch : dim<16> {};
struct length : dim<32> {};
struct memory : dim<32> {};  // length under another name
struct model : dim<64> {};
struct hidden : dim<64> {};  // heads x key
struct heads : dim<8> {};
struct key : dim<8> {};
struct out : dim<64> {};  // hidden under another name

/// Attention by hand, whose values' weight is renamed; queries and keys are split, the result is merged.
template<Layout L>
struct training {
  parameter<float, L, model, hidden> wq;
  parameter<float, L, model, hidden> wv;
  parameter<float, L, hidden, model> wo;
  parameter<float, L, out> b;
  adam opt{1e-3};
  tensor<float, L, batch, length, model> x;

  constexpr explicit training(machine<L>& m)
      : wq{m, he_normal{1}}, wv{m, he_normal{2}}, wo{m, he_normal{3}}, b{m}, x{m} {}
  constexpr auto step() {
    auto q = split_dim<hidden, heads, key>(einsum<batch, length, hidden>(x, wq));
    auto k = rename<length, memory>(q);
    auto v = rename<length, memory>(
        split_dim<out, heads, key>(einsum<batch, length, out>(x, rename<hidden, out>(wv)) + b));
    auto p = softmax<memory>(einsum<batch, heads, length, memory>(q, k));
    auto z = merge_dims<heads, key, hidden>(
        transpose<batch, length, heads, key>(einsum<batch, heads, length, key>(p, v)));
    auto y    = einsum<batch, length, model>(z, wo);
    auto loss = mean(square(y));
    backward(loss);
    opt.step(parameters(wq, wv, wo, b));
    return loss;
  }
};

// `out` is never split: so neither is what is renamed to it, nor what that is split into
constexpr auto shut = record<training, batch, model, hidden, heads, length, memory>();
constexpr auto open = record<training, batch, model, hidden, heads, key, out, length, memory>();

template<auto const& Step, class L>
constexpr bool as_dry_run() {
  return tests::same_price(price<L>(Step), dry_run<training, L>());
}
template<auto const& Step, class L>
concept has_price = requires { std::bool_constant<(price<L>(Step), true)>{}; };

struct whole : layout<grid> {};
struct data : layout<grid, split<batch, rows>> {};
struct by_heads : layout<grid, split<hidden, cols>, split<out, cols>, split<heads, cols>> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<out, cols>, split<heads, cols>> {};
struct tall : layout<grid, split<hidden, rows, cols>, split<out, rows, cols>, split<heads, rows, cols>> {};
struct by_model : layout<grid, split<batch, cols>, split<model, rows>> {};

static_assert(as_dry_run<open, whole>() && as_dry_run<open, data>() && as_dry_run<open, by_model>());
static_assert(as_dry_run<open, by_heads>() && as_dry_run<open, mixed>() && as_dry_run<open, tall>());
static_assert(as_dry_run<shut, data>() && as_dry_run<shut, by_model>());

// where elements would move there is no price
struct heads_alone : layout<grid, split<heads, cols>> {};
struct hidden_alone : layout<grid, split<hidden, cols>, split<out, cols>> {};
struct other_name : layout<grid, split<hidden, cols>, split<heads, cols>> {};
struct other_axis : layout<grid, split<hidden, cols>, split<out, rows>, split<heads, cols>> {};
struct turned : layout<grid, split<hidden, rows, cols>, split<out, cols, rows>, split<heads, rows, cols>> {};
struct inner : layout<grid, split<key, cols>> {};
static_assert(!has_price<open, heads_alone> && !has_price<open, hidden_alone> &&
              !has_price<open, other_name> && !has_price<open, other_axis> && !has_price<open, turned> &&
              !has_price<open, inner>);
static_assert(!has_price<shut, other_name> && has_price<shut, data>);

// a search finds all that have one: three dimensions that are split alike, batch, model, length; an axis
// splits one of them or none
constexpr auto ranked = rank_layouts<grid, candidates<batch, model, hidden, heads, out, length>>(open);
template<std::size_t... I>
constexpr bool all_as_dry_runs(std::index_sequence<I...>) {
  return (as_dry_run<open, layout_at<ranked, I>>() && ...) &&
         ((ranked[I].peak == price<layout_at<ranked, I>>(open).peak_bytes()) && ...);
}
static_assert(ranked.size() == 25 && all_as_dry_runs(tests::some_of<25>{}));

/// Partial sums take other names, are split and merged, and are finished at last.
template<Layout L>
struct partial_sums {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  tensor<float, L, batch, length, model> x;

  constexpr explicit partial_sums(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m} {}
  constexpr auto step() {
    auto const parts = split_dim<hidden, heads, key>(einsum<batch, length, hidden>(x, up));
    auto const y     = merge_dims<heads, key, out>(rename<length, memory>(parts)) +
                   rename<hidden, out, length, memory>(einsum<batch, length, hidden>(x, up));
    auto const z    = rename<batch, sequences>(einsum<batch, memory, model>(y, rename<hidden, out>(down)));
    auto const loss = mean(square(z));
    backward(loss);
    return loss;
  }
};
constexpr auto sums = record<partial_sums, batch, sequences, model, hidden, heads, out, length, memory>();
struct by_sequences : layout<grid, split<batch, rows>, split<sequences, rows>> {};
struct sums_by_model : layout<grid, split<batch, rows>, split<sequences, rows>, split<model, cols>> {};
struct sums_by_heads : layout<grid, split<length, rows>, split<memory, rows>, split<hidden, cols>,
                              split<heads, cols>, split<out, cols>> {};
static_assert(tests::same_price(price<whole>(sums), dry_run<partial_sums, whole>()));
static_assert(tests::same_price(price<by_sequences>(sums), dry_run<partial_sums, by_sequences>()));
static_assert(tests::same_price(price<sums_by_model>(sums), dry_run<partial_sums, sums_by_model>()));
static_assert(tests::same_price(price<sums_by_heads>(sums), dry_run<partial_sums, sums_by_heads>()));
// the batch is gathered under its other name
static_assert(tests::same_price(price<data>(sums), dry_run<partial_sums, data>()));

}  // namespace
