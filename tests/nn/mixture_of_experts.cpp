// A mixture of experts: where no token is dropped it is what every expert on every token would be, masked and
// added up; where some are, the same ones under every layout.
#include "mixture.hpp"

using namespace mixtures;

namespace {

/// Experts over the batch's axis, of eight processes.
struct by_eight : layout<two_by_four, split<sentences, rows, wide>, split<groups, rows, wide>,
                         split<experts, rows, wide>> {};
/// Every process has all experts; experts over an axis over which the batch is not split.
struct batch_alone : layout<pair, split<sentences, line>, split<groups, line>> {};
struct two_axes : layout<two_by_two, split<sentences, rows>, split<groups, rows>, split<experts, cols>> {};

/// f.operator()<L>() under those of them that have as many processes as run this test.
template<class F>
void under_layouts_of_experts(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(); break;
    case 2:
      f.template operator()<by_two>();
      f.template operator()<batch_alone>();
      break;
    case 4:
      f.template operator()<by_four>();
      f.template operator()<inside_too>();
      f.template operator()<two_axes>();
      break;
    case 8: f.template operator()<by_eight>(); break;
    default: break;
  }
}

/// With little capacity, and second experts by chance.
struct drops {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    show_with_load(see, net(x, {.seed = 3, .stream = 4}), x, net);
  }
};

template<class Gating>
struct keeps_all {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, Gating, ample> net{m, seeds, 0.8, 0.8};
    if constexpr (std::is_same_v<Gating, nn::top_2_gating>) net.gating.in_training = nn::second_expert::all;
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    show(see, net(x, {}), x, net);
  }
};

/// What a reference computes of what a layer does.
template<class Value, class Balance, class Size>
struct reference {
  Value value;
  Balance balance_loss;
  Size router_z_loss;
};
template<class... Part>
reference(Part...) -> reference<Part...>;

/// Every expert on every token, weighted by what the gate gives it, with the parameters of a layer.
template<class Gating>
struct dense {
  template<Layout L>
  void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, Gating, ample> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};

    auto const logits = einsum<sentences, words, every>(x, net.router.weight);
    auto const p      = softmax<every>(logits);
    auto const limit  = top_k<every, typename Gating::chosen>(stop_gradient(p)).value;
    auto const chosen = where(greater_equal(p, min<typename Gating::chosen>(limit)), p, 0);
    auto const weight = [&] {
      if constexpr (Gating::chosen::size == 1) return chosen;
      else return chosen / sum<every>(chosen);
    }();
    auto const h     = einsum<sentences, words, experts, inside>(x, net.up.weight);
    auto const y     = einsum<sentences, words, experts, width>(gelu(h + net.up.bias), net.down.weight);
    auto const all   = y + net.down.bias;
    auto const value = einsum<sentences, words, width>(rename<every, experts>(weight), all);

    auto const first   = one_hot<every, double>(argmax<every>(p));
    auto const ours    = split_dim<sentences, groups, pair_of_sentences>(first);
    auto const theirs  = split_dim<sentences, groups, pair_of_sentences>(p);
    auto const part    = mean<pair_of_sentences, words>(ours);
    auto const likely  = mean<pair_of_sentences, words>(theirs);
    auto const balance = sum(part * likely);
    auto const size    = mean(square(logsumexp<every>(logits)));
    show(see, reference{value, balance, size}, x, net);
  }
  struct pair_of_sentences : dim<2> {};
};

struct expert_choice {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, nn::expert_choice_gating, half> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    show_with_load(see, net(x, {}), x, net);
  }
};

/// Every expert on every token, weighted where the expert chooses it.
struct dense_choice {
  struct tokens : dim<sentences::size * words::size / groups::size> {};
  struct chosen : dim<tokens::size / 2> {};
  struct pair_of_sentences : dim<2> {};

  template<Layout L>
  void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    mixture_of<L, nn::expert_choice_gating, half> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};

    auto const pairs  = split_dim<sentences, groups, pair_of_sentences>(x);
    auto const in     = merge_dims<pair_of_sentences, words, tokens>(pairs);
    auto const logits = einsum<groups, tokens, every>(in, net.router.weight);
    auto const p      = softmax<every>(logits);
    auto const limit  = min<chosen>(top_k<tokens, chosen>(stop_gradient(p)).value);
    auto const takes  = greater_equal(p, limit);
    auto const weight = where(takes, p, 0);
    auto const h      = einsum<groups, tokens, experts, inside>(in, net.up.weight);
    auto const y      = einsum<groups, tokens, experts, width>(gelu(h + net.up.bias), net.down.weight);
    auto const all    = y + net.down.bias;
    auto const value  = einsum<groups, tokens, width>(rename<every, experts>(weight), all);
    see(sum<tokens>(1 - max<every>(takes)));
    see(sum<tokens>(takes));

    auto const rows = split_dim<tokens, pair_of_sentences, words>(value);
    auto const out  = merge_dims<groups, pair_of_sentences, sentences>(rows);
    auto const size = mean(square(logsumexp<every>(logits)));
    show(see, reference{out, size * 0, size}, x, net);
  }
};

template<Layout L, class F>
void has_values_of(recorded_values const& truth, F const& f) {
  compare(run<L>(f), truth, 1e-9, std::string{name_of<L>()});
}

/// The derivatives of the loss along some elements of a parameter against central differences.
template<class Net, class X, class W>
void compare_with_differences(Net& net, X& x, W& w) {
  auto& m      = x.machine();
  auto const f = [&] {
    no_gradient const guard{m};
    return loss_of(net(x, {.seed = 3, .stream = 4})).value();
  };
  auto const g    = finish(gradient(w));
  extent const by = w.size / 12 + 1;
  for (extent i = 0; i < w.size; i += by) {
    double const here = w.data()[i];
    double const step = 1e-5;
    auto const there  = [&](double value) {
      w.data()[i]    = value;
      double const z = f();
      w.data()[i]    = here;
      return z;
    };
    double const slope = (there(here + step) - there(here - step)) / (2 * step);
    CHECK(std::as_const(g).data()[i] == Approx(slope).epsilon(1e-5).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("without drops, two experts of each token are the dense mixture, masked", "[1][2][4]") {
  recorded_values const truth = run<alone>(dense<nn::top_2_gating>{});
  keeps_all<nn::top_2_gating> const f;
  switch (boost::mpi::communicator{}.size()) {
    case 1: has_values_of<alone>(truth, f); break;
    case 2:
      has_values_of<by_two>(truth, f);
      has_values_of<batch_alone>(truth, f);
      break;
    default: has_values_of<inside_too>(truth, f);
  }
}

TEST_CASE("without drops, one expert of each token is the dense mixture, masked", "[1][2]") {
  recorded_values const truth = run<alone>(dense<nn::switch_gating>{});
  if (boost::mpi::communicator{}.size() == 1) has_values_of<alone>(truth, keeps_all<nn::switch_gating>{});
  else has_values_of<by_two>(truth, keeps_all<nn::switch_gating>{});
}

TEST_CASE("experts that choose their tokens are the dense mixture, masked", "[1][2]") {
  recorded_values const truth = run<alone>(dense_choice{});
  if (boost::mpi::communicator{}.size() == 1) has_values_of<alone>(truth, expert_choice{});
  else check_under<by_two>(expert_choice{}, truth, 1e-9);
}

TEST_CASE("the same tokens are dropped under every layout", "[1][2][4][8]") {
  recorded_values const truth = run<alone>(drops{});
  double dropped              = 0;
  for (double const n : truth.all[0].value) dropped += n;
  CHECK(dropped > 0);
  under_layouts_of_experts([&]<Layout L> {
    if constexpr (std::is_same_v<L, inside_too> || std::is_same_v<L, batch_alone>)
      check_under<L>(drops{}, truth, 1e-12);
    else compare(run<L>(drops{}), truth, 1e-12, std::string{name_of<L>()});
  });
}

TEST_CASE("gradients of a mixture that drops tokens are those of finite differences", "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{1};
  mixture_of<alone> net{m, seeds, 0.8, 0.8};
  parameter<double, alone, sentences, words, width> x{m, normal{5}};
  backward(loss_of(net(x, {.seed = 3, .stream = 4})));
  compare_with_differences(net, x, x);
  meshtf::parameters(net).for_each([&](auto& w) { compare_with_differences(net, x, w); });
}
