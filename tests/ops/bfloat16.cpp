// Operations on bfloat16, under two layouts, of which one pads: against the same operations on the same
// numbers in double, and at the promised price.
//
// `see(z)` allows one rounding, 2^-8 of the value; `see(z, n)` allows besides n times 2^-8 of the largest
// value, for what is joined or for gradients that go through rounded results.
// test: processes 1 4 10
#include <cmath>
#include <string>
#include <vector>

#include "../layout_fixture.hpp"

namespace {

using namespace fixture;

struct two : dim<2> {};
struct many : dim<5000> {};
struct three : dim<3> {};
struct five : dim<5> {};
struct some : up_to<8> {};  // of which six are counted

struct viewer {
  recorded_values* seen      = nullptr;
  std::vector<double>* slack = nullptr;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...> const& x, double more = 0) const {
    if constexpr (!is_dry<L>)
      if (seen != nullptr) {
        value_recorder{seen}(x);
        slack->push_back(more);
      }
  }
};

/// Numbers that bfloat16 has, in elements of type `T`.
template<class T, class... D, class M>
constexpr auto drawn_as(M& m, auto layout, std::uint64_t seed, double mean = 0, double stddev = 1) {
  using L = typename decltype(layout)::type;
  parameter<T, L, D...> w{m};
  w = cast<T>(random_normal<bfloat16, L, D...>(m, {.seed = seed}, mean, stddev));
  return w;
}

/// The gradients of f(w...) if its result has a gradient of fixed numbers, after its result.
template<class T, class L, class See, class F, class... W>
constexpr void show(See const& see, double slack, double slack_of_gradients, F const& f, W&... w) {
  (w.zero_gradient(), ...);
  auto const z = f(w...);
  see(z, slack);
  [&]<class R, class K, class... D>(tensor<R, K, D...> const& value) {
    auto const probe = cast<R>(random_normal<bfloat16, K, D...>(value.machine(), {.seed = 99}));
    backward(sum(value * probe));
  }(z);
  (see(finish(gradient(w)), slack_of_gradients), ...);
}

template<class T>
struct pointwise {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    std::type_identity<L> const l;
    auto x = drawn_as<T, batch, hidden>(m, l, 1);
    auto y = drawn_as<T, batch, hidden>(m, l, 2);
    auto b = drawn_as<T, hidden>(m, l, 3);
    auto p = drawn_as<T, batch, hidden>(m, l, 4, 4, 0.5);
    show<T, L>(see, 0, 0, [](auto const& a, auto const& c) { return a + c; }, x, y);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& c) { return a - c; }, x, b);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& c) { return a * c; }, x, b);
    show<T, L>(see, 0, 2, [](auto const& a, auto const& c) { return a / c; }, x, p);
    show<T, L>(see, 0, 0, [](auto const& a) { return a * 0.1; }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return 1 - a; }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return a / 3; }, x);
    show<T, L>(see, 0, 2, [](auto const& a) { return 2 / a; }, p);
    show<T, L>(see, 0, 1, [](auto const& a) { return exp(a); }, x);
    show<T, L>(see, 0, 1, [](auto const& a) { return log(a); }, p);
    show<T, L>(see, 0, 1, [](auto const& a) { return sqrt(a); }, p);
    show<T, L>(see, 0, 2, [](auto const& a) { return tanh(a); }, x);
    show<T, L>(see, 0, 1, [](auto const& a) { return gelu(a); }, x);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& c) { return bias_gelu(a, c); }, x, b);
    show<T, L>(see, 0, 0, [](auto const& a, auto const& c) { return where(greater(a, c), a, c); }, x, y);
    show<T, L>(see, 0, 0, [](auto const& a) { return where(less(a, 0), 0.5, a); }, x);
    show<T, L>(
        see, 0, 1,
        [](auto const& a) {
          return map([](auto v) { return v * v * v; }, [](auto v) { return 3 * v * v; }, a);
        },
        x);
    show<T, L>(see, 0, 0, [](auto const& a) { return cast<T>(cast<float>(a)); }, x);
  }
};

template<class T>
struct reductions {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    std::type_identity<L> const l;
    auto x = drawn_as<T, batch, length, hidden>(m, l, 1);
    auto b = drawn_as<T, hidden>(m, l, 3);
    auto y = drawn_as<T, batch, length>(m, l, 5);
    show<T, L>(see, 0, 0, [](auto const& a) { return sum<length>(a); }, x);  // whole in these layouts
    show<T, L>(see, 2, 0, [](auto const& a) { return sum<batch>(a); }, x);
    show<T, L>(see, 2, 0, [](auto const& a) { return sum<hidden, batch>(a); }, x);
    show<T, L>(see, 2, 1, [](auto const& a) { return mean<hidden>(a); }, x);
    show<T, L>(see, 2, 0, [](auto const& a) { return sum(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return max<hidden>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return max<length, batch>(a); }, x);
    show<T, L>(see, 0, 1, [](auto const& a) { return cumsum<length>(a); }, x);
    show<T, L>(see, 0, 4, [](auto const& a) { return broadcast<batch, length, hidden>(a); }, b);
    show<T, L>(see, 0, 0, [](auto const& a) { return transpose<hidden, batch, length>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return slice<length, two>(a, 1); }, y);
  }
};

template<class T>
struct products {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    std::type_identity<L> const l;
    auto x = drawn_as<T, batch, in>(m, l, 1);
    auto w = drawn_as<T, in, hidden>(m, l, 2);
    auto v = drawn_as<T, hidden, out>(m, l, 3);
    auto h = drawn_as<T, batch, length, hidden>(m, l, 4);
    auto k = drawn_as<T, batch, memory, hidden>(m, l, 5);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& b) { return einsum<batch, hidden>(a, b); }, x, w);
    show<T, L>(
        see, 4, 4, [](auto const& a, auto const& b) { return einsum<batch, length, out>(a, b); }, h, v);
    show<T, L>(
        see, 4, 4, [](auto const& a, auto const& b) { return einsum<batch, length, memory>(a, b); }, h, k);
    show<T, L>(
        see, 4, 4,
        [](auto const& a, auto const& b) { return finish(partial_einsum<out, length, batch>(a, b)); }, h, v);
    // an outer product
    show<T, L>(see, 0, 4, [](auto const& a, auto const& b) { return einsum<batch, in, hidden>(a, b); }, x, w);
    show<T, L>(see, 4, 4, [](auto const& a, auto const& b) { return einsum<>(a, b); }, h, k);  // one number
  }
};

template<class T>
struct layers {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    std::type_identity<L> const l;
    auto x             = drawn_as<T, batch, length, hidden>(m, l, 1);
    auto y             = drawn_as<T, batch, length, hidden>(m, l, 2);
    auto scale         = drawn_as<T, hidden>(m, l, 3, 1, 0.25);
    auto bias          = drawn_as<T, hidden>(m, l, 4);
    auto logits        = drawn_as<T, batch, length, vocab>(m, l, 5);
    auto table         = drawn_as<T, vocab, in>(m, l, 6);
    auto q             = drawn_as<T, batch, heads, length, key>(m, l, 7);
    auto k             = drawn_as<T, batch, heads, length, key>(m, l, 8);
    auto v             = drawn_as<T, batch, heads, length, key>(m, l, 9);
    auto const targets = cast<int>(random_uniform<float, L, batch, length>(m, {.seed = 10}, 0, vocab::size));
    show<T, L>(see, 0, 2, [](auto const& a) { return softmax<hidden>(a); }, x);
    show<T, L>(see, 0, 2, [](auto const& a) { return log_softmax<hidden>(a); }, x);
    show<T, L>(see, 0, 0, [&](auto const& a) { return softmax_cross_entropy<vocab>(a, targets); }, logits);
    show<T, L>(
        see, 0, 0,
        [&](auto const& a) {
          return softmax_cross_entropy<vocab>(a, targets, {.label_smoothing = 0.1, .z_loss = 1e-2});
        },
        logits);
    show<T, L>(
        see, 0, 4, [](auto const& a, auto const& s, auto const& b) { return layer_norm<hidden>(a, s, b); }, x,
        scale, bias);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& s) { return rms_norm<hidden>(a, s); }, x, scale);
    show<T, L>(
        see, 3, 6,
        [](auto const& a, auto const& c, auto const& s, auto const& b) {
          return residual_layer_norm<hidden>(a, c, s, b).norm;
        },
        x, y, scale, bias);
    show<T, L>(
        see, 0, 3,
        [](auto const& a, auto const& c, auto const& d) {
          return attention<length, length, key>(a, c, d, {.causal = true});
        },
        q, k, v);
    show<T, L>(see, 0, 4, [&](auto const& a) { return gather<vocab>(a, targets); }, table);
    show<T, L>(see, 0, 0, [](auto const& a) { return dropout(a, 0.3, {.seed = 11}); }, x);
    see(dropout(tensor<T, L, many>{m} + 1, 0.3, {.seed = 15}));  // more than one piece
    see(argmax<vocab>(logits));
    see(argmax<length>(logits));
    see(sample<vocab>(logits, {.seed = 12}, 0.9));
    see(one_hot<vocab, T>(targets));
    see(random_uniform<T, L, batch, hidden>(m, {.seed = 13}, -1, 1));
    see(random_normal<T, L, batch, hidden>(m, {.seed = 14}, 0.1, 0.02));
    see(iota<T, L, hidden>(m));
  }
};

template<class T>
struct moves {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    using to = targets_of<actual<L>>;
    std::type_identity<L> const l;
    auto x = drawn_as<T, batch, hidden>(m, l, 1);
    auto y = drawn_as<T, batch, two, hidden>(m, l, 2);
    auto z = drawn_as<T, batch, three, hidden>(m, l, 3);
    auto w = drawn_as<T, hidden, out>(m, l, 4);
    auto h = drawn_as<T, plain_group, plain_member, batch>(m, l, 5);
    auto e = drawn_as<T, left, in>(m, l, 6);
    show<T, L>(see, 0, 0, [](auto const& a, auto const& b) { return concat<five>(a, b); }, y, z);
    show<T, L>(see, 0, 0, [](auto const& a) { return split_dim<hidden, heads, key>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return split_dim<hidden, plain_group, plain_member>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return merge_dims<plain_group, plain_member, hidden>(a); }, h);
    show<T, L>(see, 0, 0, [](auto const& a) { return rename<left, even>(a); }, e);
    show<T, L>(see, 0, 0, [](auto const& a) { return rename<left, out>(a); }, e);
    show<T, L>(see, 0, 0, [](auto const& a) { return reshard<typename to::whole>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return reshard<typename to::exchanged>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return reshard<typename to::scattered>(a); }, w);
  }
};

/// Along a dimension of which fewer elements are counted than are allocated. Its results are without it:
/// what is not counted has no value.
template<class T>
struct counts_of {
  template<Layout L, class See>
  constexpr void operator()(machine<L>& m, See const& see) const {
    std::type_identity<L> const l;
    auto x     = drawn_as<T, batch, some, hidden>(m, l, 1);
    auto k     = drawn_as<T, batch, some, in>(m, l, 2);
    auto scale = drawn_as<T, in>(m, l, 3, 1, 0.25);
    auto bias  = drawn_as<T, in>(m, l, 4);
    counted<some> const guard{m, 6};
    show<T, L>(see, 0, 0, [](auto const& a) { return sum<some>(a); }, x);
    show<T, L>(see, 0, 1, [](auto const& a) { return mean<some>(a); }, x);
    show<T, L>(see, 0, 0, [](auto const& a) { return max<some>(a); }, x);
    show<T, L>(see, 0, 4, [](auto const& a, auto const& b) { return einsum<batch, hidden, in>(a, b); }, x, k);
    show<T, L>(see, 2, 4, [](auto const& a) { return sum<some>(softmax<some>(a) * a); }, x);
    show<T, L>(
        see, 4, 6,
        [](auto const& a, auto const& s, auto const& b) {
          return sum<some>(square(layer_norm<in>(a, s, b)));
        },
        k, scale, bias);
    show<T, L>(
        see, 4, 6,
        [](auto const& a) { return max<some>(attention<some, some, in>(a, a, a, {.causal = true})); }, k);
  }
};

template<class P>
struct silent {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    P{}.template operator()<L>(m, viewer{});
  }
};

template<class P, Layout L>
void check_price(std::string const& name) {
  static constexpr cost_summary promised{dry_run<L>(silent<P>{})};
  compare(promised, cost_summary{recorded<L>(processes<typename L::mesh_type>(), silent<P>{})}, name);
}

/// The elements that we know, each within its bound.
void compare_rounded(recorded_values const& ours, std::vector<double> const& slack,
                     recorded_values const& truth, std::string const& where) {
  INFO("under " << where);
  REQUIRE(ours.all.size() == truth.all.size());
  for (std::size_t n = 0; n < truth.all.size(); ++n) {
    auto const& x = ours.all[n];
    auto const& t = truth.all[n];
    INFO("value number " << n);
    REQUIRE(x.value.size() == t.value.size());
    double const scale = largest(t.value);
    REQUIRE(std::isfinite(scale));
    double worst   = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.value.size(); ++i) {
      double const allowed = std::abs(t.value[i]) * 0x1.01p-8 + (slack[n] * 0x1p-8 + 1e-5) * scale;
      double const error   = std::abs(x.value[i] - t.value[i]) / allowed;
      if (x.known[i] != 0 && !(error <= worst)) {
        worst = error;
        at    = i;
      }
    }
    INFO("element " << at << ": got " << x.value[at] << ", in double it is " << t.value[at]
                    << ", the largest " << scale);
    CHECK(worst <= 1);
  }
}

template<template<class> class P, Layout L>
void check_under_layout() {
  auto const look = [](auto program, auto layout) {
    using K = typename decltype(layout)::type;
    std::pair<recorded_values, std::vector<double>> seen;
    program.template operator()<K>(processes<typename K::mesh_type>(), viewer{&seen.first, &seen.second});
    return seen;
  };
  std::string const name{name_of<L>()};
  auto const truth = look(P<double>{}, std::type_identity<alone>{});
  auto const ours  = look(P<bfloat16>{}, std::type_identity<L>{});
  compare_rounded(ours.first, ours.second, truth.first, name);
  check_price<P<bfloat16>, L>(name);
}

template<template<class> class P>
void check_rounded() {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check_under_layout<P, alone>(); break;
    case 4: check_under_layout<P, mixed>(); break;
    case 10: check_under_layout<P, sparse_batch>(); break;
    default: break;
  }
}

}  // namespace

TEST_CASE("pointwise operations round once") { check_rounded<pointwise>(); }
TEST_CASE("normalisations, attention, look-ups and draws round once") { check_rounded<layers>(); }
TEST_CASE("products round once") { check_rounded<products>(); }
TEST_CASE("reductions and copies round once") { check_rounded<reductions>(); }
TEST_CASE("concatenations, reshapes and reshards move bfloat16 as it is") { check_rounded<moves>(); }
TEST_CASE("bfloat16 under counts rounds once") { check_rounded<counts_of>(); }
