// Small gradients travel together: fewer calls, the same bytes, the same weights.
#include <string_view>

#include "model.hpp"

using namespace optim;

namespace {

struct wide : dim<160> {};
struct tall : dim<64> {};

/// Next to the small parameters a long one, one in another element type, and one that has no gradient in a
/// step. Each is trained by a part of the loss of its own, so that they are unreduced over different axes.
template<Layout L>
struct mixture {
  model_of<double, L> net;
  parameter<double, L, tall, wide> big;
  parameter<float, L, hidden> f;
  parameter<float, L, in, out> g;
  parameter<double, L, hidden, out> unused;

  constexpr explicit mixture(machine<L>& m)
      : net{m}, big{m, normal{6, 0.1}}, f{m, normal{7}}, g{m, normal{8}}, unused{m, normal{9}} {}

  constexpr auto parameters() { return meshtf::parameters(net, big, f, unused, g); }

  constexpr void backward() const {
    auto const x      = random_normal<double, L, batch, in>(f.machine(), {.seed = 21});
    auto const first  = net.loss(x);
    auto const t      = random_normal<double, L, batch, tall>(f.machine(), {.seed = 22});
    auto const far    = einsum<batch, wide>(t, big);
    auto const next   = mean(square(far));
    auto const narrow = cast<float>(x);
    auto const z      = einsum<batch, out>(narrow, g);
    auto const small  = mean(square(z));
    auto const bias   = sum(square(f));
    auto const last   = small + bias;
    auto const both   = first + next;
    auto const rest   = cast<double>(last);
    auto const total  = both + rest;
    meshtf::backward(total);
  }
};

enum class way { sgd, adam, sharded };

template<way How, Layout L>
struct stepping {
  mixture<L> net;
  std::conditional_t<How == way::sgd, sgd, adamw> opt{0.1};

  constexpr explicit stepping(machine<L>& m) : net{m} {
    if constexpr (How == way::sharded) opt.shard_state = true;
  }
  constexpr void step() {
    for (int i = 0; i < 2; ++i) net.backward();  // two micro-batches
    opt.step(net.parameters());
  }
};

template<Layout L>
using by_sgd = stepping<way::sgd, L>;
template<Layout L>
using by_adam = stepping<way::adam, L>;
template<Layout L>
using by_sharded = stepping<way::sharded, L>;

struct sent_by_step {
  extent calls   = 0;
  extent bytes   = 0;
  extent payload = 0;
};

template<template<Layout> class Program, Layout L>
consteval sent_by_step of_step() {
  constexpr auto cost = dry_run<Program, L>();
  sent_by_step s;
  for (auto const& c : cost.collectives()) {
    std::string_view const operation = c.site.operation;
    if (c.site.backward || (operation != "sgd::step" && operation != "adamw::step")) continue;
    ++s.calls;
    s.bytes += c.sent;
    s.payload += c.payload;
  }
  return s;
}

/// What a step would send parameter by parameter: the gradients' finishing, and how many of them are
/// unreduced.
template<Layout L>
sent_by_step one_by_one(mixture<L>& net) {
  sent_by_step s;
  net.backward();
  auto& m          = net.f.machine();
  auto const taken = recorded<L>(
      m, [&net]<class>(auto&) { net.parameters().for_each([](auto& w) { finish(gradient(w)); }); });
  for (auto const& c : taken.collectives()) {
    ++s.calls;
    s.bytes += c.sent;
    s.payload += c.payload;
  }
  return s;
}

}  // namespace

// with the batch split all parameters are unreduced over one axis: the small ones in double, those in float,
// and the long one by itself
static_assert(of_step<by_sgd, fixture::data>().calls == 3 &&
              of_step<by_sharded, fixture::data>().calls == 2 * 3);

TEST_CASE("a step sends the same bytes in fewer calls") {
  under_each_layout([]<Layout L>() {
    static constexpr auto packed  = of_step<by_sgd, L>();
    static constexpr auto of_adam = of_step<by_adam, L>();
    mixture<L> net{processes<typename L::mesh_type>()};
    auto const single = one_by_one(net);
    INFO(name_of<L>());
    // each message of an all-reduce over 3 processes rounds its bytes
    CHECK(std::abs(packed.bytes - single.bytes) <= single.calls);
    CHECK(packed.payload == single.payload);
    CHECK(of_adam.bytes == packed.bytes);
    CHECK(of_adam.calls == packed.calls);
    CHECK(packed.calls <= (single.calls > 3 ? single.calls - 2 : single.calls));
  });
}

TEST_CASE("sharded state sends as many bytes, up to the padding, in two calls a kind") {
  under_each_layout([]<Layout L>() {
    static constexpr auto whole   = of_step<by_adam, L>();
    static constexpr auto sharded = of_step<by_sharded, L>();
    INFO(name_of<L>());
    if (L::mesh_type::size == 1) {
      CHECK(sharded.calls == 0);
      return;
    }
    // an all-reduce sends what a reduce-scatter and an all-gather send; where a gradient is unreduced over
    // fewer axes than those that hold it alike, more is sent
    CHECK(sharded.bytes >= whole.bytes);
    CHECK(sharded.calls <= 2 * whole.calls + 4);
  });
}

TEST_CASE("the weights after steps of packed messages are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const run = [&]<way How>(std::integral_constant<way, How>) {
      stepping<How, L> program{m};
      program.step();
      program.step();
      program.net.net.parameters().for_each([&see](auto& w) { see(w); });
      see(program.net.big);
      see(program.net.unused);
    };
    run(std::integral_constant<way, way::sgd>{});
    run(std::integral_constant<way, way::sharded>{});
  });
}

TEST_CASE("each gradient flows back to its own parameter") {
  under_each_layout([]<Layout L>() {
    auto& m = processes<typename L::mesh_type>();
    mixture<L> packed{m};
    mixture<L> alone{m};
    packed.backward();
    alone.backward();
    detail::finish_gradients(packed.parameters());
    std::vector<std::vector<double>> found;
    packed.parameters().for_each([&found](auto& w) {
      CHECK(w.slot().unreduced == 0);
      auto const g = finish(gradient(w));
      found.emplace_back(g.data(), g.data() + g.size);
    });
    std::size_t i = 0;
    alone.parameters().for_each([&](auto& w) {
      auto const g    = finish(gradient(w));
      auto const same = [&](extent k) {
        return std::abs(found[i][static_cast<std::size_t>(k)] - double{g.data()[k]}) <=
               1e-6 * std::abs(g.data()[k]);
      };
      for_each_run(placed_dims<L, typename std::remove_cvref_t<decltype(w)>::shape_type>, m.place(),
                   [&](extent at, extent, extent n) {
                     for (extent k = at; k < at + n; ++k) CHECK(same(k));
                   });
      ++i;
    });
  });
}

TEST_CASE("a parameter that a list names twice is sent and stepped once") {
  under_each_layout([]<Layout L>() {
    auto& m = processes<typename L::mesh_type>();
    parameter<double, L, hidden, out> w{m, normal{1}};
    parameter<double, L, hidden, out> once{m, normal{1}};
    for (auto* p : {&w, &once}) {
      auto const loss = sum(square(*p));
      backward(loss);
    }
    sgd{0.1}.step(parameters(w, w));
    sgd{0.1}.step(parameters(once));
    for_each_run(placed_dims<L, shape<hidden, out>>, m.place(), [&](extent at, extent, extent n) {
      for (extent k = at; k < at + n; ++k) CHECK(std::as_const(w).data()[k] == std::as_const(once).data()[k]);
    });
  });
}
