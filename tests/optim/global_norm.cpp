// The norm of all gradients, micro-batches, and what sharded state holds and sends.
#include <string_view>

#include "model.hpp"

using namespace optim;

namespace {

/// The operations that sum gradients of parameters.
constexpr bool finishes_gradients(call_site const& site) {
  return !site.backward && std::string_view{site.operation} == "adamw::step";
}

template<Layout L>
struct microbatches {
  model_of<double, L> net;
  adamw opt{0.1};
  tensor<double, L, batch, in> x;

  constexpr explicit microbatches(machine<L>& m) : net{m}, x{data_of<double, L>(m)} {}
  constexpr void run(int count) {
    for (int i = 0; i < count; ++i) {
      auto const loss = net.loss(x) * (1. / count);
      backward(loss);
    }
    opt.step(net.parameters());
  }
};

template<Layout L>
struct one_batch : microbatches<L> {
  using microbatches<L>::microbatches;
  constexpr void step() { this->run(1); }
};
template<Layout L>
struct four_batches : microbatches<L> {
  using microbatches<L>::microbatches;
  constexpr void step() { this->run(4); }
};
template<Layout L>
struct sharded_batch : microbatches<L> {
  constexpr explicit sharded_batch(machine<L>& m) : microbatches<L>{m} { this->opt.shard_state = true; }
  constexpr void step() { this->run(1); }
};

struct figures {
  extent calls                                                     = 0;
  extent sent                                                      = 0;
  friend constexpr bool operator==(figures const&, figures const&) = default;
};

template<template<Layout> class Program, Layout L>
consteval figures of_gradients() {
  constexpr auto cost = dry_run<Program, L>();
  figures f;
  for (auto const& c : cost.collectives())
    if (finishes_gradients(c.site)) {
      ++f.calls;
      f.sent += c.sent;
    }
  return f;
}

}  // namespace

TEST_CASE(
    "the global norm is one number under every layout, in one all-reduce; gradients are finished by it") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    model_of<double, L> net{m};
    parameter<double, L, hidden, batch> unused{m};
    auto const list = parameters(net, unused);
    {
      auto const loss = net.loss(data_of<double, L>(m));
      backward(loss);
    }
    see(global_norm(list));
    see(global_norm(list));
    list.for_each([&see](auto& w) {
      if (w.slot().unreduced != 0) throw "it is unreduced";
      see(finish(gradient(w)));
    });
    {  // an unreduced gradient adds to one that does not
      auto const loss = net.loss(data_of<double, L>(m) * 2);
      backward(loss);
    }
    see(clip_by_global_norm(list, 0.25));
    see(global_norm(list));  // 0.25
    see(clip_by_global_norm(list, 1000));
    net.parameters().for_each([&see](auto& w) { see(finish(gradient(w))); });
  });
}

TEST_CASE("the global norm is the norm of the gradients") {
  auto& m = processes<single>();
  model_of<double, alone> net{m};
  auto const loss = net.loss(data_of<double, alone>(m));
  backward(loss);
  double squares = 0;
  net.parameters().for_each([&squares](auto& w) {
    auto const g = finish(gradient(w));
    for (extent i = 0; i < w.size; ++i) squares += g.data()[i] * g.data()[i];
  });
  CHECK(std::abs(global_norm(net.parameters()).value() / std::sqrt(squares) - 1) <= 1e-14);
  CHECK(clip_by_global_norm(net.parameters(), 0.125).value() > 0.125);
  CHECK(std::abs(global_norm(net.parameters()).value() - 0.125) <= 1e-15);
  CHECK(clip_by_global_norm(net.parameters(), 1).value() == global_norm(net.parameters()).value());
}

TEST_CASE("finished gradients send one number for their norm, once and again") {
  under_each_layout([]<Layout L>() {
    auto& m = processes<typename L::mesh_type>();
    model_of<double, L> net{m};
    auto const loss = net.loss(data_of<double, L>(m));
    backward(loss);
    global_norm(net.parameters());
    auto const again = recorded<L>(m, [&net]<Layout>(auto&) { global_norm(net.parameters()); });
    CHECK(again.calls() == (L::mesh_type::size > 1 ? 1 : 0));
    CHECK(again.payload() == (L::mesh_type::size > 1 ? 8 : 0));
  });
}

TEST_CASE("parameters that got the same gradient are clipped once each") {
  auto& m = processes<single>();
  parameter<double, alone, hidden> u{m, normal{1}};
  parameter<double, alone, hidden> v{m, normal{2}};
  auto const loss = sum(u + v);
  backward(loss);
  CHECK(std::abs(clip_by_global_norm(parameters(u, v), 1).value() - std::sqrt(32.)) <= 1e-14);
  auto const gu = finish(gradient(u));
  auto const gv = finish(gradient(v));
  CHECK(std::abs(gu.data()[0] - 1 / std::sqrt(32.)) <= 1e-16);
  CHECK(std::abs(gv.data()[0] - 1 / std::sqrt(32.)) <= 1e-16);
}

TEST_CASE("float and double have one norm, of the first's type") {
  auto& m = processes<single>();
  parameter<double, alone, hidden> u{m, normal{1}};
  parameter<float, alone, hidden, out> v{m, normal{2}};
  auto const loss = sum(u * 3) + cast<double>(sum(v));
  backward(loss);
  adam opt{0.1};
  opt.max_norm = 1;
  CHECK(std::abs(clip_by_global_norm(parameters(u, v), 1).value() - std::sqrt(16 * 9 + 128.)) <= 1e-13);
  auto const gv = finish(gradient(v));
  CHECK(std::abs(double{gv.data()[127]} - 1 / std::sqrt(16 * 9 + 128.)) <= 1e-8);
  opt.step(parameters(v, u));
  CHECK(!gradient(u).owed());
}

TEST_CASE("a norm of nothing: no gradients, zeros, no parameters") {
  auto& m = processes<single>();
  parameter<double, alone, hidden> w{m, normal{1}};
  CHECK(global_norm(parameters(w)).value() == 0);
  {
    auto const loss = sum(w * 0);
    backward(loss);
  }
  CHECK(clip_by_global_norm(parameters(w), 1).value() == 0);
  CHECK(finish(gradient(w)).data()[0] == 0);
  std::vector<parameter<double, alone, hidden>> none;
  CHECK_THROWS_AS(global_norm(parameters(none)), software_error);
}

TEST_CASE("micro-batches: one reduction of each gradient after the last") {
  under_each_layout([]<Layout L>() {
    static constexpr figures one  = of_gradients<one_batch, L>();
    static constexpr figures four = of_gradients<four_batches, L>();
    static_assert(one == four);
    CHECK((one.calls > 0) == (L::mesh_type::size > 1));
  });
}

TEST_CASE("four micro-batches step as the whole batch does, under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    for (int count : {1, 4}) {
      microbatches<L> program{m};
      program.run(count);
      program.net.parameters().for_each([&see](auto& w) { see(w); });
    }
  });
}

TEST_CASE(
    "sharded means hold ceil(P / N) elements each, and the step sends what an all-reduce of the padded "
    "size sends, or half where nothing is left to reduce") {
  under_each_layout([]<Layout L>() {
    static constexpr figures sharded = of_gradients<sharded_batch, L>();
    auto& m                          = processes<typename L::mesh_type>();
    sharded_batch<L> program{m};
    auto const before = m.live_bytes();
    {
      auto const loss = program.net.loss(program.x);
      backward(loss);
    }
    extent held = 0;
    extent sent = 0;
    program.net.parameters().for_each([&held, &sent]<class T, class... D>(parameter<T, L, D...>& w) {
      extent const n     = replicas<L>(split_over<L, shape<D...>>);
      extent const part  = (w.size + n - 1) / n;
      extent const bytes = sent_by_one(collective::all_reduce, part * n * extent{sizeof(T)}, n);
      held += 2 * part * extent{sizeof(T)};
      sent += w.slot().unreduced != 0 ? bytes : bytes / 2;
    });
    program.opt.step(program.net.parameters());
    CHECK(m.live_bytes() - before == held);
    CHECK(sharded.sent == sent);
  });
}

TEST_CASE("a tensor that is not trained does not choose the type of a norm, though it is named first") {
  under_each_layout([]<Layout L> {
    auto& m = processes<typename L::mesh_type>();
    meshtf::state<float, L, in> mean{m};
    parameter<double, L, in> w{m, normal{1}};
    tensor<double, L, in> const x{m};
    auto const list = parameters(mean, w);
    backward(sum(w * (x + 3.)));
    auto const norm = global_norm(list);
    static_assert(std::is_same_v<typename decltype(norm)::element_type, double>);
    CHECK(to_global(norm).flat(0) > 0);
    lamb opt{0.1};
    opt.max_norm = 1;
    opt.step(list);
    CHECK(!w.slot().sum);
    static_assert(std::is_same_v<typename detail::first_parameter<parameter_list<decltype(mean)>>::type,
                                 decltype(mean)>);
  });
}

TEST_CASE("parts of a shard cover it once") {
  static constexpr replica_parts p{.size = 6, .count = 4, .over = 1};
  static_assert(p.part() == 2 && p.padded_size() == 8 && p.is_padded());
  static_assert(p.first(0) == 0 && p.local_extent(0) == 2 && p.first(2) == 4 && p.local_extent(2) == 2 &&
                p.first(3) == 6 && p.local_extent(3) == 0);
  static constexpr replica_parts one{.size = 1, .count = 8, .over = 1};
  static_assert(one.part() == 1 && one.local_extent(0) == 1 && one.first(7) == 1 && one.local_extent(7) == 0);
  static constexpr replica_parts even{.size = 8, .count = 4, .over = 1};
  static_assert(!even.is_padded() && even.first(3) == 6 && even.local_extent(3) == 2);
}
