// The price of each stage, as it was counted on processes and worked out by hand: bytes of a boundary, what a
// stage holds between its two passes, recomputation, axes other than that of the stages.
#include <meshtf/planning.hpp>

#include "program.hpp"

namespace {

using namespace pipelines;

/// Without an optimizer's state.
template<Layout L, class Schedule, bool Recomputes>
struct descent : training<L, 8, Schedule, Recomputes> {
  using training<L, 8, Schedule, Recomputes>::training;
  sgd down{0.0};
  constexpr auto step() {
    auto loss = this->gradients();
    down.step(parameters(this->model_));
    return loss;
  }
};
template<Layout L>
using one_f_one_b = descent<L, one_forward_one_backward, false>;
template<Layout L>
using all_forward_first = descent<L, gpipe, false>;
template<Layout L>
using again = descent<L, one_forward_one_backward, true>;

template<class L, template<Layout> class How>
constexpr auto price = dry_run<How, L>();

// 1F1B: stage k of 4 holds at most 4 - k micro-batches.
using four = piped<4>;
static_assert(price<four, one_f_one_b>.stage(0).peak_bytes() == 128512);
static_assert(price<four, one_f_one_b>.stage(1).peak_bytes() == 101632);
static_assert(price<four, one_f_one_b>.stage(2).peak_bytes() == 79744);
static_assert(price<four, one_f_one_b>.stage(3).peak_bytes() == 64040);
static_assert(price<four, one_f_one_b>.peak_bytes() == 128512, "the figure of all is that of the dearest");

// A boundary is 4 bytes of 32 / 8 sequences of 6 positions of 16 numbers: an inner stage hands on and back 8
// of each, and its share of the all-reduce of one loss over 4 stages.
constexpr extent boundary = 4 * 4 * 6 * 16;
static_assert(boundary == 1536);
static_assert(price<four, one_f_one_b>.stage(0).bytes_sent<stages<4>>() == 8 * boundary + 2 * 4 * 3 / 4);
static_assert(price<four, one_f_one_b>.stage(1).bytes_sent<stages<4>>() == 2 * 8 * boundary + 2 * 4 * 3 / 4);
static_assert(price<four, one_f_one_b>.stage(2).bytes_sent<stages<4>>() == 24582);
static_assert(price<four, one_f_one_b>.stage(3).bytes_sent<stages<4>>() == 12294);
static_assert(price<four, one_f_one_b>.stage(1).calls<collective::hand_on>() == 16);
static_assert(price<four, one_f_one_b>.bytes_sent<rows<1>>() == 0);

// All forward passes first: M micro-batches on each stage.
static_assert(price<four, all_forward_first>.stage(0).peak_bytes() == 202496);
static_assert(price<four, all_forward_first>.stage(3).peak_bytes() == 247648);

// Each stage computed again: a third more flops in its blocks.
static_assert(price<four, again>.stage(0).peak_bytes() == 67456);
static_assert(price<four, again>.stage(3).peak_bytes() == 62472);
static_assert(3 * price<four, again>.stage(1).flops() == 4 * price<four, one_f_one_b>.stage(1).flops());

// Two stages of 2 x 2 processes.
using cubed = piped<2, 2, 2>;
static_assert(price<cubed, one_f_one_b>.stage(0).peak_bytes() == 59552);
static_assert(price<cubed, one_f_one_b>.stage(1).peak_bytes() == 45704);
static_assert(price<cubed, one_f_one_b>.stage(0).bytes_sent<stages<2>>() == 6148);
static_assert(price<cubed, one_f_one_b>.stage(1).bytes_sent<rows<2>>() == 12896);
static_assert(price<cubed, one_f_one_b>.stage(1).bytes_sent<cols<2>>() == 56448);

// One stage is gradient accumulation: the same calls, work and peak as without the rule.
static_assert(price<piped<1>, one_f_one_b>.stage(0).flops() == price<plain, one_f_one_b>.flops());
static_assert(price<piped<1>, one_f_one_b>.stage(0).peak_bytes() == price<plain, one_f_one_b>.peak_bytes());
static_assert(price<plain, one_f_one_b>.calls() == 0);

// ---- modelled seconds

// Where a pass takes one unit forward and one backward, and messages take none, the bubble is (K-1)/(M+K-1).
struct width : dim<4> {};
template<Layout L>
struct equal_stages {
  std::vector<parameter<double, L, width, model>> weights;
  machine<L>* m;
  constexpr explicit equal_stages(machine<L>& on) : m{&on} {
    for (int k = 0; k < stage_count<L>; ++k) {
      at_stage<L> const here{on, k};
      weights.emplace_back(on);
    }
  }
  constexpr auto step() {
    return accumulate<8>(*m, [this](extent) {
      auto x = tensor<double, L, width>{*m};
      for (int k = 0; k < stage_count<L>; ++k) {
        auto const y = hand_on(x, k);
        auto const z = einsum<model>(y, weights[static_cast<std::size_t>(k)]);
        x            = einsum<width>(z, weights[static_cast<std::size_t>(k)]);
      }
      return sum(x);
    });
  }
};
constexpr machine_model only_products{.flops_per_second        = 1,
                                      .memory_bytes_per_second = 1e30,
                                      .seconds_per_byte_added  = 0,
                                      .within_node             = {},
                                      .between_nodes           = {}};
constexpr auto even       = dry_run<equal_stages, piped<4>>().time(only_products);
constexpr double per_pass = 2.0 * 2 * 4 * 16;  // flops of two products
// the first stage's input needs no gradient, so its backward pass is shorter: it is the last to end all the
// same
static_assert(even.busy[1] == 8 * 3 * per_pass, "a backward pass has twice the products of a forward pass");
static_assert(even.passes <= (8 + 3) * 3 * per_pass && even.passes > (8 + 2) * 3 * per_pass);
static_assert(even.bubble() > 0.2 && even.bubble() < 0.35, "(K - 1) / (M + K - 1) is 3/11");

// A message of 16 s is there before the last of two stages comes to it, except for the first. Where messages
// begin when their receiver waits, that stage waits for each of the other seven, too.
constexpr machine_model at_once{.flops_per_second        = 1,
                                .memory_bytes_per_second = 1e30,
                                .seconds_per_byte_added  = 0,
                                .within_node             = {.seconds_per_message = 16}};
constexpr auto when_received = [] {
  machine_model m = at_once;
  m.eager_limit   = 4 * 8 - 1;
  return m;
}();
constexpr auto two_stages = dry_run<equal_stages, piped<2>>();
static_assert(two_stages.time(when_received).passes == two_stages.time(at_once).passes + 7 * 16);
static_assert(two_stages.time(when_received).busy == two_stages.time(at_once).busy);

constexpr auto of_net = price<four, one_f_one_b>.time();
static_assert(of_net.total() > of_net.busy[3] && of_net.total() < 4 * of_net.busy[3]);
static_assert(price<piped<1>, one_f_one_b>.time().bubble() < 1e-9);
// one stage takes as long as without stages
static_assert(price<piped<1>, one_f_one_b>.time().total() < 1.001 * price<plain, one_f_one_b>.time().total());
static_assert(price<piped<1>, one_f_one_b>.time().total() > 0.999 * price<plain, one_f_one_b>.time().total());

// ---- where blocks are

static_assert(nn::stage_of<four>(0, 8) == 0 && nn::stage_of<four>(1, 8) == 0 &&
              nn::stage_of<four>(2, 8) == 1);
static_assert(nn::stage_of<four>(7, 8) == 3 && nn::stage_of<plain>(7, 8) == 0);
static_assert(std::is_same_v<nn::cut_verdict<four, 4>, legal>);
static_assert(std::is_same_v<nn::cut_verdict<four, 3>, nn::more_stages_than_blocks<4, 3>>);

// An embedding, eight blocks, and scores as dear as two blocks.
constexpr std::array<extent, 10> prices{1, 10, 10, 10, 10, 10, 10, 10, 10, 20};
constexpr extent heaviest(auto const& begins) {
  extent found = 0;
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    extent own = 0;
    for (int i = begins[k]; i < begins[k + 1]; ++i) own += prices[static_cast<std::size_t>(i)];
    if (own > found) found = own;
  }
  return found;
}
static_assert(heaviest(nn::balanced_cut<1>(prices)) == 101);
static_assert(heaviest(nn::balanced_cut<4>(prices)) == 30);
static_assert(heaviest(nn::balanced_cut<8>(prices)) == 20);
static_assert(heaviest(nn::balanced_cut<10>(prices)) == 20);
static_assert(heaviest(nn::balanced_cut<4>(prices)) <= 101 / 4 + 20, "by less than the heaviest block");
static_assert(nn::balanced_cut<4>(std::array<extent, 12>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) ==
              std::array{0, 3, 6, 9, 12});

constexpr auto own_cut = nn::balanced_cut<4>(prices);
struct cut : layout<grid<4, 1, 1>, staged<stages<4>, own_cut>> {};
static_assert(nn::stage_of<cut>(0, 10) == 0 && nn::stage_of<cut>(9, 10) == 3);
static_assert(std::is_same_v<nn::cut_verdict<cut, 10>, legal>);
static_assert(std::is_same_v<nn::cut_verdict<cut, 9>, nn::stages_do_not_cut<own_cut, 4, 9>>);
struct falls : layout<grid<4, 1, 1>, staged<stages<4>, std::array{0, 3, 2, 4, 5}>> {};
static_assert(!accepted<nn::cut_verdict<falls, 5>>);

// ---- layouts

struct twice : layout<grid<4, 2, 1>, staged<stages<4>>, staged<rows<2>>> {};
static_assert(std::is_same_v<twice::rules_verdict, two_axes_of_stages<stages<4>, rows<2>>>);
struct splits : layout<grid<4, 1, 1>, staged<stages<4>>, split<batch, stages<4>>> {};
static_assert(std::is_same_v<splits::rules_verdict, axis_of_stages_splits_dim<stages<4>, batch>>);
static_assert(is_staged<four> && is_staged<dry<four>> && !is_staged<plain>);
static_assert(stage_count<four> == 4 && stage_count<plain> == 1);
static_assert(replica_axes<cubed, shape<batch>> == axis_set_of<grid<2, 2, 2>, axes<cols<2>>>);

}  // namespace
