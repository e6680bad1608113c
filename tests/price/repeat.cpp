// If it compiles, it passes: what blocks cost that are priced once is what a program with so many of them
// costs.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<16> {};
struct vocab : dim<64> {};
struct width : dim<32> {};
struct heads : dim<4> {};
struct key : dim<8> {};
struct inner : dim<128> {};
struct wide : dim<256> {};
struct wide_too : dim<256> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<inner, cols>, split<vocab, cols>> {
};

// the library's Transformer, of one to six layers
template<int Layers>
struct model_dims : nn::transformer_dims<length, vocab, width, heads, key, inner> {
  static constexpr int layers = Layers;
};

template<Layout L, int Layers>
struct training {
  nn::transformer<float, L, model_dims<Layers>> net;
  adam opt{1e-3};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;
  constexpr explicit training(machine<L>& m) : net{m, 1}, ids{m}, targets{m} { opt.prepare(parameters(net)); }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};
template<Layout L>
using with_1 = training<L, 1>;
template<Layout L>
using with_2 = training<L, 2>;
template<Layout L>
using with_3 = training<L, 3>;
template<Layout L>
using with_4 = training<L, 4>;
template<Layout L>
using with_6 = training<L, 6>;

template<class L>
constexpr auto repeated(int n) {
  return repeat(n, dry_run<with_1, L>(), dry_run<with_2, L>(), dry_run<with_3, L>());
}
template<class A>
constexpr bool same(A const& a, A const& b) {
  return a == b && a.live_bytes() == b.live_bytes() && a.at_peak().by_kind == b.at_peak().by_kind &&
         a.bytes_sent() == b.bytes_sent() && a.calls() == b.calls();
}
constexpr auto one   = dry_run<with_1, mixed>();
constexpr auto two   = dry_run<with_2, mixed>();
constexpr auto three = dry_run<with_3, mixed>();

static_assert(same(repeat(1, one, two, three), one) && same(repeat(3, one, two, three), three));
static_assert(same(repeat(4, one, two, three), dry_run<with_4, mixed>()));
static_assert(same(repeat(6, one, two, three), dry_run<with_6, mixed>()));

// 2000 layers, each of a matrix that is a message of its own: more calls than a cost could list, so they are
// counted
template<Layout L>
struct deep_training {
  std::vector<parameter<float, L, wide, wide_too>> ws{};
  tensor<float, L, batch, wide> x;
  constexpr deep_training(machine<L>& m, int layers) : x{m} {
    ws.reserve(static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i) ws.emplace_back(m);
  }
  constexpr void step() {
    auto y = x;
    for (auto const& w : ws) {
      auto const z = einsum<batch, wide_too>(y, w);
      y            = rename<wide_too, wide>(z);
    }
    auto const loss = mean(square(y));
    backward(loss);
    sgd{0.1}.step(parameters(ws));
  }
};
constexpr auto layer       = dry_run<deep_training, mixed>(1);
constexpr auto layers      = dry_run<deep_training, mixed>(2);
constexpr auto more_layers = dry_run<deep_training, mixed>(3);
constexpr auto deep        = repeat(2000, layer, layers, more_layers);
static_assert(same(repeat(5, layer, layers, more_layers), dry_run<deep_training, mixed>(5)));
static_assert(deep.calls() > 2000 &&
              deep.calls() == more_layers.calls() + 1997 * (more_layers.calls() - layers.calls()));
static_assert(deep.collectives().size() < 20 && deep.parameter_bytes() == 2000 * layer.parameter_bytes());
static_assert(deep.bytes_sent<rows>() ==
              more_layers.bytes_sent<rows>() +
                  1997 * (more_layers.bytes_sent<rows>() - layers.bytes_sent<rows>()));

// sums that begin in the backward pass: those of later layers go on for longer
constexpr bool close(double a, double b) { return a - b <= 1e-6 * b && b - a <= 1e-6 * b; }
template<template<Layout> class Training, int N>
constexpr bool overlap_alike() {
  constexpr auto all = dry_run<Training, mixed>(N);
  constexpr auto few =
      repeat(N, dry_run<Training, mixed>(1), dry_run<Training, mixed>(2), dry_run<Training, mixed>(3));
  std::vector<collective_call> calls;
  all.for_each_call([&calls](collective_call const& call) { calls.push_back(call); });
  bool same = few == all && few.time().hidden > 0 && close(few.time().overlapped(), all.time().overlapped());
  std::size_t i = 0;
  few.for_each_call([&](collective_call const& call) {
    same = same && close(call.since.flops(), calls[i].since.flops()) &&
           close(call.since.passed(), calls[i].since.passed()) &&
           close(call.until.flops(), calls[i].until.flops()) &&
           close(call.until.passed(), calls[i].until.passed());
    ++i;
  });
  return same;
}
template<Layout L>
struct with_early_sums {
  parameter<float, L, wide_too, wide> first;
  std::vector<parameter<float, L, wide, wide_too>> ws{};
  tensor<float, L, batch, wide_too> x;
  constexpr with_early_sums(machine<L>& m, int matrices) : first{m}, x{m} {
    ws.reserve(static_cast<std::size_t>(matrices));
    for (int i = 0; i < matrices; ++i) ws.emplace_back(m);
  }
  constexpr void step() {
    early_sums const early{parameters(first, ws)};
    auto y = einsum<batch, wide>(x, first);
    for (auto const& w : ws) {
      auto const z = einsum<batch, wide_too>(y, w);
      y            = rename<wide_too, wide>(z);
    }
    backward(mean(square(y)));
    sgd{0.1}.step(parameters(first, ws));
  }
};
static_assert(overlap_alike<with_early_sums, 7>());

// a bucket of small gradients that is full makes one call more: then it is not priced
template<int N>
concept is_priced = requires { typename std::integral_constant<extent, repeat(N, one, two, three).calls()>; };
static_assert(is_priced<16> && !is_priced<2000>);

}  // namespace
