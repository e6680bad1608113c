// The gatings of a mixture of experts compared with the original's: weights and places, losses, gradients.
#include <meshtf/nn/gating.hpp>

#include "../golden.hpp"
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct groups : dim<2> {};
struct tokens : dim<16> {};
struct width : dim<6> {};
struct experts : dim<4> {};

golden_arrays const& golden() {
  static golden_arrays const file{"gating"};
  return file;
}

struct golden_case {
  std::string name;
  std::string router = "even";
  bool trains        = true;
};

/// `Factor` of 16 tokens and 4 experts: 5, 8 or 16 places.
template<Layout L, class Factor, class Gating>
void compare_with_golden(golden_case const& is, Gating const& gating) {
  using places   = nn::capacity<tokens, experts, Factor>;
  using of_group = nn::detail::places_of<experts, places>;
  CAPTURE(is.name);
  auto const& file = golden();
  auto& m          = processes<typename L::mesh_type>();
  parameter<double, L, groups, tokens, width> x{m};
  parameter<double, L, width, experts> router{m};
  x      = file.tensor<double, L, groups, tokens, width>(m, "x");
  router = file.tensor<double, L, width, experts>(m, is.router);

  auto const logits = einsum<groups, tokens, experts>(x, router);
  auto const routes =
      nn::detail::route<groups, tokens, experts, places>(gating, logits, {is.trains, {3, 4}}, {});
  auto const marks   = one_hot<of_group, double>(routes.place);
  auto const weights = einsum<groups, tokens, of_group>(routes.weight, marks);
  auto const combine = split_dim<of_group, experts, places>(weights);
  auto const balance = finish(routes.balance_loss);
  auto const size    = finish(routes.router_z_loss);
  CHECK(file.distance(combine, is.name + ".combine") <= 1e-12);
  CHECK(file.distance(balance, is.name + ".balance") <= 1e-12);
  CHECK(file.distance(size, is.name + ".size") <= 1e-12);

  auto const asked = file.tensor<double, L, groups, tokens, experts, places>(m, is.name + ".weights");
  backward(sum(combine * asked) + balance * 3 + size * 2);
  CHECK(file.distance(finish(gradient(x)), is.name + ".x") <= 1e-12);
  CHECK(file.distance(finish(gradient(router)), is.name + ".router") <= 1e-12);
}

using training   = std::ratio<5, 4>;
using evaluation = std::ratio<2>;
using ample      = std::ratio<4>;

template<Layout L>
void compare_with_all() {
  using enum nn::second_expert;
  using nn::switch_gating;
  using nn::top_2_gating;
  compare_with_golden<L, training>({"switch"}, switch_gating{});
  compare_with_golden<L, evaluation>({"switch_in_evaluation", "even", false}, switch_gating{});
  compare_with_golden<L, training>({"switch_crowded", "crowded"}, switch_gating{});
  compare_with_golden<L, training>({"all"}, top_2_gating{.in_training = all});
  compare_with_golden<L, training>({"all_crowded", "crowded"}, top_2_gating{.in_training = all});
  compare_with_golden<L, ample>({"all_ample"}, top_2_gating{.in_training = all});
  compare_with_golden<L, training>({"none"}, top_2_gating{.in_training = none});
  compare_with_golden<L, training>({"threshold"}, top_2_gating{.in_training = threshold});
  compare_with_golden<L, evaluation>({"threshold_in_evaluation", "crowded", false},
                                     top_2_gating{.in_evaluation = threshold, .threshold = 0.1});
  compare_with_golden<L, training>({"random"}, top_2_gating{});
  compare_with_golden<L, training>({"random_crowded", "crowded"}, top_2_gating{.threshold = 0.5});
  compare_with_golden<L, evaluation>({"random_in_evaluation", "even", false},
                                     top_2_gating{.in_evaluation = random, .threshold = 0.5});
}

}  // namespace

TEST_CASE("gatings have the weights, places, losses and gradients of the original's", "[1]") {
  compare_with_all<alone>();
}
