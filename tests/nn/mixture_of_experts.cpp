// A mixture of experts: where no token is dropped it is what every expert on every token would be, masked and
// added up; where some are, the same ones under every layout.
#include <meshtf/nn/mixture_of_experts.hpp>

#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct sentences : dim<16> {};
struct words : dim<16> {};
struct width : dim<6> {};
struct inside : dim<10> {};
struct experts : dim<8> {};
struct groups : dim<8> {};  // of two sentences, 32 words

/// Experts over the batch's axis, of two, four and eight processes.
struct by_two : layout<pair, split<sentences, line>, split<groups, line>, split<experts, line>> {};
struct by_four : layout<two_by_two, split<sentences, rows, cols>, split<groups, rows, cols>,
                        split<experts, rows, cols>> {};
struct by_eight : layout<two_by_four, split<sentences, rows, wide>, split<groups, rows, wide>,
                         split<experts, rows, wide>> {};
/// Hidden units over another axis.
struct inside_too : layout<two_by_two, split<sentences, rows>, split<groups, rows>, split<experts, rows>,
                           split<inside, cols>> {};
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

/// Shows the value, both losses, and all gradients of a loss with all three.
template<class Z, class X, class Net>
constexpr void show(value_recorder const& see, Z const& z, X const& x, Net& net) {
  auto const balance = finish(z.balance_loss);
  auto const size    = finish(z.router_z_loss);
  auto const task    = sum(square(z.value));
  auto const loss    = task + balance * 3 + size * 2;
  see(z.value);
  see(balance);
  see(size);
  backward(loss);
  see(finish(gradient(x)));
  meshtf::parameters(net).for_each([&](auto const& w) { see(finish(gradient(w))); });
}

/// With little capacity, and second experts by chance.
struct drops {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    nn::mixture_of_experts<double, L, width, inside, experts, groups> net{m, seeds, 0.8, 0.8};
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    auto const z = net(x, {.seed = 3, .stream = 4});
    see(z.dropped);
    see(z.load);
    show(see, z, x, net);
  }
};

template<Layout L, class Gating>
using ample = nn::mixture_of_experts<double, L, width, inside, experts, groups, Gating,
                                     nn::capacity_factors<std::ratio<8>, std::ratio<8>>>;

template<class Gating>
struct keeps_all {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    nn::streams seeds{1};
    ample<L, Gating> net{m, seeds, 0.8, 0.8};
    if constexpr (std::is_same_v<Gating, nn::top_2_gating>) net.gating.in_training = nn::second_expert::all;
    parameter<double, L, sentences, words, width> x{m, normal{5}};
    show(see, net(x, {}), x, net);
  }
};

/// Every expert on every token, weighted by what the gate gives it, with the parameters of a layer.
template<class Gating>
struct dense {
  template<Layout L>
  void operator()(machine<L>& m, value_recorder const& see) const {
    using every = nn::all_of<experts>;
    nn::streams seeds{1};
    ample<L, Gating> net{m, seeds, 0.8, 0.8};
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
    struct {
      decltype(value) const& value;
      decltype(balance) balance_loss;
      decltype(size) router_z_loss;
    } const z{value, balance, size};
    show(see, z, x, net);
  }
  struct pair_of_sentences : dim<2> {};
};

template<class Gating>
void is_the_dense_one() {
  recorded_values const truth = run<alone>(dense<Gating>{});
  under_layouts_of_experts(
      [&]<Layout L> { compare(run<L>(keeps_all<Gating>{}), truth, 1e-9, std::string{name_of<L>()}); });
}

}  // namespace

TEST_CASE("without drops, two experts of each token are the dense mixture, masked", "[1][2][4][8]") {
  is_the_dense_one<nn::top_2_gating>();
}

TEST_CASE("without drops, one expert of each token is the dense mixture, masked", "[1][2][4][8]") {
  is_the_dense_one<nn::switch_gating>();
}

TEST_CASE("the same tokens are dropped under every layout", "[1][2][4][8]") {
  recorded_values const truth = run<alone>(drops{});
  double dropped              = 0;
  for (double const n : truth.all[0].value) dropped += n;
  CHECK(dropped > 0);
  under_layouts_of_experts([&]<Layout L> { check_under<L>(drops{}, truth, 1e-12); });
}
