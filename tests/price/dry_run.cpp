// If it compiles, it passes: prices of small programs, worked out by hand.
#include <string_view>

#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;
using enum collective;

struct batch : dim<8> {};
struct in : dim<4> {};
struct hidden : dim<16> {};
struct out : dim<6> {};
struct vocab : dim<32> {};
struct long_dim : dim<(1 << 21)> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};

struct whole : layout<grid> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<vocab, cols>> {};
struct joint : layout<grid, split<hidden, rows, cols>> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_in : layout<grid, split<in, rows>> {};
struct by_lone : layout<grid, split<hidden, lone>> {};

constexpr axis_set over_rows = 0b001;
constexpr axis_set over_cols = 0b010;

template<class L, class... D>
using value = tensor<float, L, D...>;
template<class L, class... D>
using weight = parameter<float, L, D...>;

// ---- what an operation sends

// every process has all it needs of a whole dimension: nothing is sent, and it multiplies its part
constexpr auto up = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  value<L, batch, in> x{m};
  value<L, in, hidden> w{m};
  auto y = einsum<batch, hidden>(x, w);
});
static_assert(up.calls() == 0 && up.bytes_sent() == 0 && up.flops() == 2 * (8 / 2) * 4 * (16 / 4) &&
              up.elementwise_flops() == 0);

// out of a split dimension: one all-reduce of what one process holds of the result, 2 * 3/4 of its bytes
// under the ring model
constexpr auto down = [](auto rules) {
  return dry_run<decltype(rules)>([]<Layout L>(machine<L>& m) {
    value<L, batch, hidden> x{m};
    value<L, hidden, out> w{m};
    auto y = einsum<batch, out>(x, w);
  });
};
constexpr auto down_mixed = down(mixed{});
static_assert(down_mixed.calls() == 1 && down_mixed.calls<all_reduce>() == 1);
static_assert(down_mixed.payload<cols>() == 4 * (8 / 2) * 6 &&
              down_mixed.bytes_sent<cols>() == 2 * (4 * (8 / 2) * 6) * 3 / 4);
static_assert(down_mixed.payload<rows>() == 0 && down_mixed.bytes_sent<rows>() == 0);

// a sum over two axes is one call of eight processes, and counts for both axes
constexpr auto down_joint = down(joint{});
static_assert(down_joint.calls() == 1 && down_joint.collectives()[0].over == (over_rows | over_cols));
static_assert(down_joint.bytes_sent() == 2 * (4 * 8 * 6) * 7 / 8 &&
              down_joint.bytes_sent<rows>() == down_joint.bytes_sent() &&
              down_joint.bytes_sent<cols>() == down_joint.bytes_sent() && down_joint.bytes_sent<lone>() == 0);
static_assert(down_joint.flops() == 2 * 8 * (16 / 8) * 6);

// what is split over an axis of one process, or not at all, is sent nowhere
static_assert(down(by_lone{}).calls() == 0 && down(whole{}).calls() == 0 &&
              down(whole{}).flops() == 2 * 8 * 16 * 6);

// gathers, all-to-alls, reduce-scatters and slices
constexpr auto moves = dry_run<by_batch>([]<Layout L>(machine<L>& m) {
  value<L, batch, in> x{m};
  auto y = reshard<by_in>(x);                          // 64 bytes, of which half stay
  auto z = reshard<whole>(y);                          // 64 bytes for the one other process
  auto s = reshard<by_batch>(z);                       // free
  auto p = partial_einsum<in>(x, value<L, batch>{m});  // a partial sum over rows
  // 16 bytes, half of them to be added there
  auto q = reshard<by_in>(p);
});
static_assert(moves.calls() == 3 && moves.calls<all_to_all>() == 1 && moves.calls<all_gather>() == 1 &&
              moves.calls<reduce_scatter>() == 1);
static_assert(moves.collectives()[0].payload == 64 && moves.collectives()[0].sent == 32);
static_assert(moves.collectives()[1].payload == 64 && moves.collectives()[1].sent == 64);
static_assert(moves.collectives()[2].payload == 8 && moves.collectives()[2].sent == 8);
static_assert(moves.bytes_sent() == 32 + 64 + 8 && moves.payload<rows>() == 64 + 64 + 8);

// a softmax along a split dimension sends one number a row, twice; a cross entropy one, and then two in one
// message
constexpr auto softmaxes = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  value<L, batch, vocab> x{m};
  auto y    = softmax<vocab>(x);
  auto z    = softmax_cross_entropy<vocab>(x, tensor<int, L, batch>{m});
  auto best = argmax<vocab>(x);
});
static_assert(softmaxes.calls() == 6 && softmaxes.calls<all_reduce>() == 6 &&
              softmaxes.bytes_sent<rows>() == 0);
static_assert(softmaxes.collectives()[0].op == reduction::max && softmaxes.collectives()[0].payload == 4 * 4);
static_assert(softmaxes.collectives()[1].op == reduction::sum && softmaxes.collectives()[1].payload == 4 * 4);
static_assert(softmaxes.collectives()[2].op == reduction::max && softmaxes.collectives()[2].payload == 4 * 4);
static_assert(softmaxes.collectives()[3].op == reduction::sum &&
              softmaxes.collectives()[3].payload == 2 * 4 * 4);
static_assert(softmaxes.collectives()[4].op == reduction::max &&
              softmaxes.collectives()[5].op == reduction::min);
static_assert(softmaxes.collectives()[4].type == element::float32 &&
              softmaxes.collectives()[5].type == element::int32);

// a long array is reduced in parts, at the same price
constexpr auto in_parts = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  value<L, batch> x{m};
  auto z = finish(partial_einsum<long_dim>(x, value<L, batch, long_dim>{m}));
});
static_assert(in_parts.calls<reduce_scatter>() == 1 && in_parts.calls<all_gather>() == 1 &&
              in_parts.calls() == 2);
static_assert(in_parts.bytes_sent<rows>() == 2 * (4 << 21) / 2);

// ---- the order of calls, and where they come from

constexpr auto ordered = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, in, hidden> w1{m};
  weight<L, hidden, out> w2{m};
  value<L, batch, in> x{m};
  auto y    = einsum<batch, out>(tanh(einsum<batch, hidden>(x, w1)), w2);
  auto loss = sum(square(y));
  backward(loss);
  sgd{0.1}.step(parameters(w1, w2));
});
constexpr bool is(collective_call const& call, axis_set over, extent count) {
  return call.kind == all_reduce && call.over == over && call.count == count;
}
constexpr bool is(collective_call const& call, std::string_view operation, axis_set over, extent count) {
  return call.site.operation == operation && is(call, over, count);
}
static_assert(ordered.calls() == 3);
static_assert(is(ordered.collectives()[0], "einsum", over_cols, 4 * 6) &&
              is(ordered.collectives()[1], "sum", over_rows, 1));
// both gradients are small: one message
static_assert(is(ordered.collectives()[2], "sgd::step", over_rows, 4 * 4 + 4 * 6));
static_assert(ordered.collectives()[0].site.has_line() &&
              ordered.collectives()[0].site.at.line() < ordered.collectives()[1].site.at.line());

// ---- gradients: what needs none costs none

// data: forward and the weight's gradient, two products; nothing is sent before the weight's owner asks
template<template<class, class...> class Operand>
constexpr auto trained       = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  Operand<L, batch, in> x{m};
  weight<L, in, hidden> w{m};
  backward(sum(einsum<batch, hidden>(x, w)));
});
constexpr extent one_product = 2 * 4 * 4 * 4;
static_assert(trained<value>.flops() == 2 * one_product && trained<value>.calls() == 1 &&
              trained<value>.collectives()[0].count == 1);
// a parameter in the place of the data: three products, and its gradient's sum stays unreduced as well
static_assert(trained<weight>.flops() == 3 * one_product && trained<weight>.calls() == 1);

// an intermediate value's sum is added up where the tape comes to it, in the name of the operation that made
// it
constexpr auto through = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, batch, in> x{m};
  value<L, in, hidden> w{m};
  backward(sum(einsum<batch, hidden>(tanh(x), w)));
});
static_assert(through.calls() == 2 && is(through.collectives()[1], "tanh", over_cols, 4 * 4) &&
              through.collectives()[1].site.backward);
static_assert(!through.collectives()[0].site.backward);

// a frozen first layer: no gradient of it is computed or sent, and none goes through it
template<bool Frozen>
constexpr auto two_layers = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, in, hidden> w1{m};
  weight<L, hidden, out> w2{m};
  value<L, batch, in> x{m};
  auto forward = [&] {
    if constexpr (Frozen) return einsum<batch, hidden>(x, stop_gradient(w1));
    else return einsum<batch, hidden>(x, w1);
  };
  backward(sum(einsum<batch, out>(tanh(forward()), w2)));
  sgd{0.1}.step(parameters(w1, w2));
});
constexpr extent first    = 2 * 4 * 4 * 4;
constexpr extent second   = 2 * 4 * 4 * 6;
static_assert(two_layers<false>.flops() == 2 * first + 3 * second &&
              two_layers<true>.flops() == first + 2 * second);
static_assert(two_layers<false>.bytes_sent<rows>() - two_layers<true>.bytes_sent<rows>() == 4 * (4 * 4));
static_assert(two_layers<false>.bytes_sent<cols>() == two_layers<true>.bytes_sent<cols>());

// gradients of several batches are added up first and sent once
template<int Batches>
constexpr auto accumulated = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, in, hidden> w{m};
  for (int i = 0; i < Batches; ++i) {
    value<L, batch, in> x{m};
    backward(sum(einsum<batch, hidden>(x, w)));
  }
  sgd{0.1}.step(parameters(w));
});
static_assert(accumulated<1>.calls() == 1 + 1 && accumulated<5>.calls() == 5 + 1);
static_assert(accumulated<5>.bytes_sent<rows>() == 5 * sent_by_one(all_reduce, 4, 8) + 4 * (4 * 4));

// ---- what is alive

// a tensor is its shard, a copy of a handle nothing, a copy of the elements as much again
constexpr extent one = 4 * (8 / 2) * 4;
template<int Chapter>
constexpr auto held = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  value<L, batch, in> x{m};
  if constexpr (Chapter == 1) auto y = x;
  if constexpr (Chapter == 2) auto y = copy(x);
  if constexpr (Chapter == 3) auto y = tanh(tanh(tanh(x)));
  if constexpr (Chapter == 4) {
    auto y = tanh(x);
    for (int i = 0; i < 10; ++i) y = tanh(y);
  }
});
static_assert(held<0>.peak_bytes() == one && held<1>.peak_bytes() == one && held<2>.peak_bytes() == 2 * one);
// values in the middle of an expression live to its end
static_assert(held<3>.peak_bytes() == 4 * one);
// in a loop the old value dies when the new one is there
static_assert(held<4>.peak_bytes() == 3 * one);
static_assert(held<0>.live_bytes() == 0 && held<4>.live_bytes() == 0);

// the tape keeps what gradients need: tanh its results, all eleven of them, and with none to come nothing
template<bool Recording>
constexpr auto evaluated = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, batch, in> w{m};
  m.record_gradients(Recording);
  auto y = tanh(w);
  for (int i = 0; i < 10; ++i) y = tanh(y);
});
static_assert(evaluated<true>.peak_bytes() == 12 * one && evaluated<false>.peak_bytes() == 3 * one);
constexpr auto guarded = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, batch, in> w{m};
  {
    no_gradient guard{m};
    auto y = tanh(w);
    for (int i = 0; i < 10; ++i) y = tanh(y);
  }
  backward(sum(w));
});
static_assert(guarded.peak_bytes() == 3 * one);

// backward: the weight, its gradient, the gradient of the square, and the loss
constexpr auto squared = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  weight<L, batch, in> w{m};
  auto loss = sum(square(w));
  backward(loss);
});
static_assert(squared.peak_bytes() == 3 * one + 4 && squared.parameter_bytes() == one);

// a program's step: its constructor's bytes count, what the constructor computes and sends does not
template<Layout L>
struct fitting {
  weight<L, in, hidden> w;
  value<L, batch, in> x;
  adam opt{};
  constexpr explicit fitting(machine<L>& m) : w{m}, x{m} { auto once = sum<batch>(x); }
  constexpr auto step() {
    auto loss = sum(einsum<batch, hidden>(x, w));
    backward(loss);
    opt.step(parameters(w));
    return loss;
  }
};
constexpr auto fitted = dry_run<fitting, mixed>();
constexpr extent of_w = 4 * 4 * 4;
constexpr extent of_x = 4 * 4 * 4;
static_assert(fitted.calls() == 2 && is(fitted.collectives()[0], "sum", over_rows | over_cols, 1) &&
              is(fitted.collectives()[1], over_rows, 4 * 4));
static_assert(fitted.parameter_bytes() == of_w && fitted.flops() == 2 * one_product);
// after it live the weight, Adam's two means and the data
static_assert(fitted.live_bytes() == of_w + 2 * of_w + of_x);

// the same program under another layout has another price, and under its own always the same
static_assert(dry_run<fitting, mixed>() == fitted && !(dry_run<fitting, whole>() == fitted));
static_assert(dry_run<fitting, whole>().calls() == 0 &&
              dry_run<fitting, whole>().parameter_bytes() == 4 * 4 * 16);
static_assert(dry_run<fitting, dry<mixed>>() == fitted);

}  // namespace

// ---- the program of the README

namespace readme {

struct batch : meshtf::dim<512> {};
struct in : meshtf::dim<784> {};
struct hidden : meshtf::dim<4096> {};
struct out : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct clash : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, rows>> {};

template<meshtf::Layout L> struct mlp {
  meshtf::parameter<float, L, in, hidden> w1;
  meshtf::parameter<float, L, hidden, out> w2;
  constexpr explicit mlp(meshtf::machine<L>& m) : w1{m, meshtf::he_normal{1}}, w2{m, meshtf::he_normal{2}} {}
  constexpr auto operator()(auto const& x) const {
    auto h = relu(einsum<batch, hidden>(x, w1));
    return einsum<batch, out>(h, w2);
  }
};

template<meshtf::Layout L> struct training {
  mlp<L> net;
  meshtf::sgd opt{0.1f};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;
  constexpr explicit training(meshtf::machine<L>& m) : net{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<out>(net(x), labels));
    backward(loss);
    opt.step(parameters(net.w1, net.w2));
    return loss;
  }
};

using meshtf::collective;

// one process has 256 rows of the batch and 1024 hidden units
constexpr meshtf::extent w1     = 4 * 784 * 1024;
constexpr meshtf::extent w2     = 4 * 1024 * 16;
constexpr meshtf::extent x      = 4 * 256 * 784;
constexpr meshtf::extent labels = 4 * 256;
constexpr meshtf::extent logits = 4 * 256 * 16;
constexpr meshtf::extent loss   = 4;

constexpr auto cost = meshtf::dry_run<training, mixed>();
static_assert(cost.parameter_bytes() == w1 + w2);

// along cols the logits are summed, along rows the loss and both gradients
static_assert(cost.calls<collective::all_reduce>() == 4 && cost.calls() == 4);
static_assert(cost.bytes_sent<cols>() == 2 * logits * 3 / 4 && cost.bytes_sent<rows>() == loss + w1 + w2);
static_assert(cost.payload<cols>() == logits && cost.payload<rows>() == loss + w1 + w2);
static_assert(cost.bytes_sent<rows>() <= 4 * meshtf::MiB && cost.peak_bytes() <= 2 * meshtf::GiB);

// two products forward; backward both weights' gradients and the gradient of the hidden units, but not that
// of the data
static_assert(cost.flops() == 2 * 256 * 1024 * (784 + 16) + 2 * 256 * 1024 * (784 + 16 + 16));

// the most is alive when backward comes to the first product: in addition to what the program holds and the
// loss there are the gradients of w2, of the hidden units before relu, and of w1; sums are finished where the
// gradients lie
constexpr meshtf::extent hidden_units = 4 * 256 * 1024;
static_assert(cost.peak_bytes() == (w1 + w2 + x + labels) + loss + w2 + hidden_units + w1);

// what stays is what the program holds
static_assert(cost.live_bytes() == w1 + w2 + x + labels);

// with the batch alone split each process has all of the weights, and no sum to finish but that of the
// gradients and the loss: both gradients in parts
constexpr auto by_data = meshtf::dry_run<training, data_parallel>();
static_assert(by_data.bytes_sent<cols>() == 0 && by_data.bytes_sent<rows>() == loss + 4 * (w1 + w2));
static_assert(by_data.flops() == 4 * cost.flops() && by_data.parameter_bytes() == 4 * (w1 + w2));

static_assert(std::same_as<meshtf::placement_verdict<clash, batch, hidden>,
                           meshtf::one_axis_splits_two_dims<rows, batch, hidden>>);

// an optimizer that takes the place of another begins anew
constexpr auto renewed = dry_run<whole>([]<Layout L>(machine<L>& m) {
  weight<L, in, out> w{m, zeros{}};
  adam opt;
  opt.prepare(parameters(w));
  opt = adam{0.1};
  opt.prepare(parameters(w));
});
static_assert(renewed.optimizer_bytes() == 2 * 4 * in::size * out::size);

}  // namespace readme
