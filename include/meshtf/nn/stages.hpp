// Which blocks of a model are on which stage of a pipeline.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/core/layout.hpp>
#include <meshtf/ops/function/hand_on.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// A pipeline of `Stages` stages is cut between blocks, and the model has only `Blocks`.
template<int Stages, int Blocks>
struct more_stages_than_blocks {};

/// Where stages begin must rise from 0 to the number of blocks, one number for each stage and that one.
template<auto Cut, int Stages, int Blocks>
struct stages_do_not_cut {};

/// Decoding step by step needs all blocks of a decoder in each step, but the layout has stages along `Axis`,
/// which work in turn: decode under a layout without stages, for which a checkpoint serves too.
template<class Axis>
struct decoding_needs_all_blocks {};

/// The blocks of a part of a model, such as its decoder: how many of the model's are before them, and how
/// many it has in all. Stages are cut from all. Each `by`-th block is meant: of two kinds in turn, every
/// second.
struct place_among_blocks {
  int before;
  int all;
  int by = 1;
};

namespace detail {

template<class L>
inline constexpr auto stage_cut = meshtf::detail::base_layout_of<L>::stages_rule::cut;

template<class L>
inline constexpr bool is_cut_evenly = std::is_same_v<std::remove_cv_t<decltype(stage_cut<L>)>, even_cut>;

/// Whether the cut of `L` has one begin for each stage, and rises from 0 to `blocks`.
template<class L>
constexpr bool cuts(int blocks) {
  if constexpr (is_cut_evenly<L>) {
    return blocks >= stage_count<L>;
  } else {
    auto const& begins = stage_cut<L>;
    if (begins.size() != std::size_t{stage_count<L>} + 1 || begins[0] != 0 ||
        begins[begins.size() - 1] != blocks)
      return false;
    for (std::size_t k = 1; k < begins.size(); ++k)
      if (begins[k] <= begins[k - 1]) return false;
    return true;
  }
}

template<class L, int Blocks>
consteval auto cut_verdict_of() {
  if constexpr (cuts<L>(Blocks)) return legal{};
  else if constexpr (is_cut_evenly<L>) return more_stages_than_blocks<stage_count<L>, Blocks>{};
  else return stages_do_not_cut<stage_cut<L>, stage_count<L>, Blocks>{};
}

/// `legal`, or the objection to decoding step by step under `L`.
template<class L>
struct decoding_objection : std::type_identity<legal> {};
template<class L>
  requires is_staged<L>
struct decoding_objection<L> : std::type_identity<decoding_needs_all_blocks<stage_axis<L>>> {};

}  // namespace detail

/// `legal`, or the objection to a pipeline under `L` of a model with `Blocks` blocks.
template<Layout L, int Blocks>
using cut_verdict = decltype(detail::cut_verdict_of<L, Blocks>());

/// The stage of block number `block` of `blocks` under `L`; 0 without stages.
template<Layout L>
constexpr int stage_of(int block, int blocks) {
  if constexpr (detail::is_cut_evenly<L>) {
    return static_cast<int>(extent{block} * stage_count<L> / blocks);
  } else {
    int k = 0;
    while (detail::stage_cut<L>[static_cast<std::size_t>(k) + 1] <= block) ++k;
    return k;
  }
}

/// Where each of `K` stages begins, and the number of blocks.
template<int K>
using stage_begins = std::array<int, std::size_t{K} + 1>;

/// Where each of `K` stages begins, and the number of blocks: so that the heaviest stage is as light as
/// possible. `prices` are those of the blocks in order, such as the flops of each in a dry run. Of equal cuts
/// it takes the one with later begins, which leaves the least to the last stages.
///
///     constexpr auto cut = nn::balanced_cut<4>(std::array<extent, 6>{1, 10, 10, 10, 10, 20});
///     struct piped : layout<grid, staged<stages, cut>> {};
///
/// The heaviest stage exceeds the mean by less than the heaviest block. Dynamic programming over prefix sums,
/// as in Narayanan et al., PipeDream (2019), section 3.1, for equal machines.
template<int K, std::size_t N>
constexpr stage_begins<K> balanced_cut(std::array<extent, N> const& prices) {
  static_assert(K >= 1 && std::size_t{K} <= N, "meshtf: a pipeline has at most as many stages as blocks");
  std::array<extent, N + 1> sum{};
  for (std::size_t i = 0; i < N; ++i) sum[i + 1] = sum[i] + prices[i];
  // heaviest[k][n]: of the best cut of the first n blocks into k + 1 stages; begin[k][n]: of its last stage
  std::array<std::array<extent, N + 1>, std::size_t{K}> heaviest{};
  std::array<std::array<std::size_t, N + 1>, std::size_t{K}> begin{};
  heaviest[0] = sum;
  for (std::size_t k = 1; k < std::size_t{K}; ++k)
    for (std::size_t n = k + 1; n <= N; ++n) {
      heaviest[k][n] = -1;
      for (std::size_t j = k; j < n; ++j) {
        extent const own  = sum[n] - sum[j];
        extent const both = heaviest[k - 1][j] > own ? heaviest[k - 1][j] : own;
        if (heaviest[k][n] >= 0 && both > heaviest[k][n]) continue;
        heaviest[k][n] = both;
        begin[k][n]    = j;
      }
    }
  stage_begins<K> cut{};
  std::size_t n       = N;
  cut[std::size_t{K}] = static_cast<int>(N);
  for (std::size_t k = std::size_t{K} - 1; k > 0; --k) {
    n      = begin[k][n];
    cut[k] = static_cast<int>(n);
  }
  return cut;
}

namespace detail {

/// A value between blocks for stage `k`: a tensor, a partial sum, whose local terms go to the processes of
/// the same places, or an aggregate of these that shows them by `values()`.
template<class X>
constexpr auto handed_on(X const& x, int k, std::source_location at) {
  if constexpr (requires { x.values(); })
    return std::apply([&](auto const&... each) { return X{handed_on(each, k, at)...}; }, x.values());
  else if constexpr (requires { x.owed(); }) return X{meshtf::hand_on(x.local_terms(), k, at), x.owed()};
  else return meshtf::hand_on(x, k, at);
}

template<class X>
  requires requires(X const& x) { x.machine(); }
constexpr auto& machine_of(X const& x) {
  return x.machine();
}
template<class X>
  requires requires(X const& x) { std::get<0>(x.values()).machine(); }
constexpr auto& machine_of(X const& x) {
  return std::get<0>(x.values()).machine();
}

/// Whether x and y are the same to what follows, but for their elements: in the gradients that they need, and
/// in the axes over which they are sums.
template<class X>
constexpr bool are_alike(X const& x, X const& y) {
  if constexpr (requires { x.values(); })
    return [&]<std::size_t... I>(auto const& a, auto const& b, std::index_sequence<I...>) {
      return (are_alike(std::get<I>(a), std::get<I>(b)) && ...);
    }(x.values(), y.values(), std::make_index_sequence<std::tuple_size_v<decltype(x.values())>>{});
  else if constexpr (requires { x.owed(); })
    return x.owed() == y.owed() && are_alike(x.local_terms(), y.local_terms());
  else return x.needs_gradient() == y.needs_gradient();
}

template<class X>
constexpr bool all_need_gradient(X const& x) {
  if constexpr (requires { x.values(); })
    return std::apply([](auto const&... each) { return (all_need_gradient(each) && ...); }, x.values());
  else if constexpr (requires { x.owed(); }) return all_need_gradient(x.local_terms());
  else return x.needs_gradient();
}

/// call(x), a block on its stage. If it returns what it takes, a dry run leaves it out where the machine
/// idles: nothing would be noted, but the price of each stage would take the blocks of all. The first one,
/// whose results need gradients though its data do not, is called on every stage.
template<Layout L, class X, class Call>
constexpr auto called_on_stage(X const& x, Call const& call) {
  if constexpr (!is_staged<L> || !is_dry<L>) {
    return call(x);
  } else if constexpr (!std::is_same_v<X, decltype(call(x))> || !requires { machine_of(x); }) {
    return call(x);
  } else {
    auto& m = machine_of(x);
    if (m.records_gradients() && !all_need_gradient(x)) return call(x);
    if (m.idles() && m.leaves_out_idle_blocks()) return x;
    auto z = call(x);
    if (!m.idles() && !are_alike(x, z)) m.note_changing_block();
    return z;
  }
}

/// A layer that stage `k` has.
template<class Layer, Layout L, class... A>
constexpr Layer made_at_stage(machine<L>& m, int k, A&&... arguments) {
  [[maybe_unused]] at_stage<L> const here{m, k};
  return Layer{m, static_cast<A&&>(arguments)...};
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
