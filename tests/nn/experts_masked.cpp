// A mixture of experts of which a mask says that some tokens do not count: they take no place, get 0, are not
// counted as dropped, and are in neither loss, whatever the layout.
#include "mixture.hpp"

using namespace mixtures;

namespace {

struct two : dim<2> {};  // sentences of a group
struct tokens : dim<32> {};
struct half_of_tokens : dim<16> {};

using little = nn::capacity_factors<>;

/// Half of the tokens, here and there; of the third group none.
template<Layout L>
constexpr auto some(machine<L>& m) {
  auto const drawn =
      cast<int>(greater(random_uniform<double, L, sentences, words>(m, {.seed = 9}, -1, 1), 0));
  auto const group = floor_divide(iota<int, L, sentences>(m), 2);
  return logical_and(drawn, not_equal(group, 2));
}

/// A layer, of the tokens that count.
template<class Gating, class Factors>
struct layer {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, Gating, Factors> net{m, seeds, 0.8, 0.8};
    if constexpr (std::is_same_v<Factors, ample> && std::is_same_v<Gating, nn::top_2_gating>)
      net.gating.in_training = nn::second_expert::all;
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    show_with_load(see, net(x, {.seed = 3, .stream = 4}, some<L>(m)), x, net);
  }
};

/// Every expert on every token, and means over those that count.
template<class Gating, class Factors>
struct dense {
  static constexpr bool experts_choose = std::is_same_v<Gating, nn::expert_choice_gating>;

  template<Layout L>
  void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, Gating, Factors> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};

    auto const mask   = by_group(cast<double>(some<L>(m)));
    auto const in     = by_group(x);
    auto const logits = einsum<groups, tokens, every>(in, net.router.weight);
    auto const p      = softmax<every>(logits);
    auto const goes   = where(mask, chosen(p, mask), 0);
    auto const kept   = where(goes, p, 0);
    auto const weight = [&] {
      if constexpr (std::is_same_v<Gating, nn::top_2_gating>) return kept / (sum<every>(kept) + (1 - mask));
      else return kept;
    }();
    auto const h     = einsum<groups, tokens, experts, inside>(in, net.up.weight);
    auto const y     = einsum<groups, tokens, experts, width>(gelu(h + net.up.bias), net.down.weight);
    auto const all   = y + net.down.bias;
    auto const value = einsum<groups, tokens, width>(rename<every, experts>(weight), all);

    auto const n       = sum<tokens>(mask);
    auto const first   = one_hot<every, double>(argmax<every>(p)) * mask;
    auto const part    = sum<tokens>(first) / maximum(n, 1.0);
    auto const likely  = sum<tokens>(p * mask) / maximum(n, 1.0);
    auto const of_each = sum<every>(part * likely) * 8;
    auto const balance = sum(of_each * n) / sum(n) * (experts_choose ? 0 : 1);
    auto const size    = sum(square(logsumexp<every>(logits)) * mask) / sum(n);

    auto const split   = split_dim<tokens, two, words>(value);
    auto const out     = merge_dims<groups, two, sentences>(split);
    auto const dropped = sum<tokens>(mask - max<every>(goes)) * (experts_choose ? 1 : 0);
    show_with_load(see, nn::mixed_by_experts{out, balance, size, dropped, sum<tokens>(goes)}, x, net);
  }

private:
  template<class X>
  static auto by_group(X const& x) {
    return merge_dims<two, words, tokens>(split_dim<sentences, groups, two>(x));
  }
  /// 1 where a token goes to an expert, whether or not it counts.
  template<class P, class Mask>
  static auto chosen(P const& p, Mask const& mask) {
    auto const fixed = stop_gradient(p);
    if constexpr (experts_choose) {
      auto const counted = where(mask, fixed, -1);
      auto const limit   = min<half_of_tokens>(top_k<tokens, half_of_tokens>(counted).value);
      return cast<double>(greater_equal(counted, limit));
    } else {
      using best       = typename Gating::chosen;
      auto const limit = min<best>(top_k<every, best>(fixed).value);
      return cast<double>(greater_equal(fixed, limit));
    }
  }
};

template<class Gating, class Factors>
void agrees_with_dense() {
  recorded_values const truth = run<alone>(dense<Gating, Factors>{});
  layer<Gating, Factors> const f;
  switch (boost::mpi::communicator{}.size()) {
    case 1: compare(run<alone>(f), truth, 1e-9, "alone"); break;
    case 2: compare(run<by_two>(f), truth, 1e-9, "by_two"); break;
    default: compare(run<inside_too>(f), truth, 1e-9, "inside_too");
  }
}

/// A layer with a mask, or without.
template<bool Masked>
struct passes {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::streams seeds{1};
    mixture_of<L> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    if constexpr (Masked) {
      tensor<int, L, sentences, words> const segments{m};
      auto const z = net(x, {.seed = 3}, segments);
      backward(loss_of(z));
    } else {
      backward(loss_of(net(x, {.seed = 3})));
    }
  }
};
constexpr auto with    = dry_run<by_four>(passes<true>{});
constexpr auto without = dry_run<by_four>(passes<false>{});
static_assert(with.calls() == without.calls() + 1);
static_assert(with.calls<collective::all_reduce>() == without.calls<collective::all_reduce>() + 1);
static_assert(with.bytes_sent() == without.bytes_sent() + 2 * 3 * 4 / 4);

template<class X, class Y>
bool same(X const& x, Y const& y) {
  return std::equal(x.data(), x.data() + X::size, y.data());
}

}  // namespace

TEST_CASE("two experts of each token that counts are the dense mixture of these tokens", "[1][2][4]") {
  agrees_with_dense<nn::top_2_gating, ample>();
}
TEST_CASE("one expert of each token that counts is the dense mixture of these tokens", "[1][2]") {
  agrees_with_dense<nn::switch_gating, ample>();
}
TEST_CASE("experts choose tokens that count, also where these are fewer than places", "[1][2]") {
  agrees_with_dense<nn::expert_choice_gating, half>();
}

TEST_CASE("the same tokens that count are dropped under every layout", "[1][2][4]") {
  layer<nn::top_2_gating, little> const f;
  recorded_values const truth = run<alone>(f);
  double dropped              = 0;
  for (double const n : truth.all[0].value) dropped += n;
  CHECK(dropped > 0);
  switch (boost::mpi::communicator{}.size()) {
    case 2: check_under<by_two>(f, truth, 1e-12); break;
    case 4:
      compare(run<by_four>(f), truth, 1e-12, "by_four");
      check_under<inside_too>(f, truth, 1e-12);
      break;
    default: break;
  }
}

TEST_CASE("what stands where no token counts changes nothing elsewhere", "[1]") {
  auto& m = processes<single>();
  no_gradient const guard{m};  // there is no backward pass that would empty the tape
  nn::streams seeds{1};
  mixture_of<alone> net{m, seeds, 0.8, 0.8};
  tensor<double, alone, sentences, words, width> const x =
      random_normal<double, alone, sentences, words, width>(m, {.seed = 5});
  auto const mask  = some<alone>(m);
  auto const other = where(mask, x, 100);
  auto const a     = net(x, {.seed = 3}, mask);
  auto const b     = net(other, {.seed = 3}, mask);
  CHECK(same(a.value, b.value));
  CHECK(same(a.dropped, b.dropped));
  CHECK(same(a.load, b.load));
  CHECK(finish(a.balance_loss).value() == finish(b.balance_loss).value());
  CHECK(finish(a.router_z_loss).value() == finish(b.router_z_loss).value());
  CHECK(sum(a.dropped).value() > 0);
  CHECK(max(where(mask, 0, a.value * a.value)).value() == 0);
  // without the mask they are in the others' way
  CHECK(!same(where(mask, net(x, {.seed = 3}).value, 0), where(mask, net(other, {.seed = 3}).value, 0)));
}

TEST_CASE("a mask of ones is no mask, and of no token all is 0", "[1]") {
  auto& m = processes<single>();
  no_gradient const guard{m};  // there is no backward pass that would empty the tape
  nn::streams seeds{1};
  mixture_of<alone> net{m, seeds, 0.8, 0.8};
  parameter<double, alone, sentences, words, width> x{m, normal{5}};
  tensor<int, alone, sentences, words> const none{m};
  auto const a = net(x, {.seed = 3});
  auto const b = net(x, {.seed = 3}, none + 1);
  CHECK(same(a.value, b.value));
  CHECK(same(a.dropped, b.dropped));
  CHECK(finish(b.balance_loss).value() == Approx(finish(a.balance_loss).value()).epsilon(1e-12));
  CHECK(finish(b.router_z_loss).value() == Approx(finish(a.router_z_loss).value()).epsilon(1e-12));
  CHECK(same(net.evaluate(x).value, net.evaluate(x, none + 1).value));

  auto const z = net(x, {.seed = 3}, none);
  CHECK(max(square(z.value)).value() == 0);
  CHECK(finish(z.balance_loss).value() == 0);
  CHECK(finish(z.router_z_loss).value() == 0);
  CHECK(sum(z.dropped).value() + sum(z.load).value() == 0);
}
