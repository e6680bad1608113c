// If it compiles, it passes: layout, recomputed blocks and micro-batches are chosen together, for budgets
// from all the memory that the fastest step takes to a quarter of it.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<2048> {};
struct quarter : dim<512> {};
struct model : dim<16> {};
struct hidden : dim<32> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

/// Four blocks, the first of which may be computed again, over one or four micro-batches.
template<Layout L>
struct training {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;
  int recomputed;
  int parts;

  constexpr training(machine<L>& m, int again, int micro)
      : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m}, recomputed{again}, parts{micro} {}

  template<Dimension Batch>
  constexpr auto loss(tensor<float, L, Batch, model> const& in) const {
    auto const block = [this](auto const& h) {
      return h + einsum<Batch, model>(relu(einsum<Batch, hidden>(h, this->up)), this->down);
    };
    auto h = in;
    for (int i = 0; i < 4; ++i) {
      if (i < recomputed) h = recompute(block, h);
      else h = block(h);
    }
    return mean(square(h));
  }
  constexpr void step() {
    if (parts == 1) backward(loss(x));
    else accumulate<4>([this](extent i) { return loss(micro_batch<batch, quarter>(x, i)) / 4; });
    opt.step(parameters(up, down));
  }
};

using split_dims = candidates<batch, model, hidden>;
using space      = plan_space<split_dims, recomputed_blocks<4>, micro_batches_of<batch, quarter>>;

using program = detail::program_of<decltype(detail::records_program<training>),
                                   decltype(detail::prices_program<training>)>;
using dims    = detail::plan_dims<split_dims, recomputed_blocks<4>, micro_batches_of<batch, quarter>>::type;

constexpr int budgets = 11;
constexpr extent budget_number(int i, extent all) { return all * (1000 - 75 * i) / 1000; }

/// The fastest plan with room for all, and then with 100 % to 25 % of its peak.
struct walk {
  detail::found_plan roomy{};
  std::array<detail::found_plans, budgets> found{};
};
consteval walk walk_budgets() {
  detail::plan_search<program, grid, space, dims> search{machine_model{}};
  walk w;
  w.roomy = search.best(1 * GiB).plan[0];
  for (int i = 0; i < budgets; ++i)
    w.found[static_cast<std::size_t>(i)] = search.best(budget_number(i, w.roomy.peak));
  return w;
}
constexpr walk walked = walk_budgets();

// with room for all, nothing is computed again, and there is one batch
static_assert(walked.roomy.values[0] == 0 && walked.roomy.values[1] == 1);

// there is a plan for each budget; its peak never exceeds it, and asking for less never takes less time
constexpr bool follows_the_budget = [] {
  double before = walked.roomy.seconds;
  for (int i = 0; i < budgets; ++i) {
    auto const& found = walked.found[static_cast<std::size_t>(i)];
    if (found.count == 0) return false;
    if (found.plan[0].peak > budget_number(i, walked.roomy.peak) || found.plan[0].seconds < before)
      return false;
    before = found.plan[0].seconds;
  }
  return true;
}();
static_assert(follows_the_budget);

// where nothing was found, not even a plan over the budget, no layout could be placed
static_assert(!detail::found_plans{}.has_nearest && !accepted<no_layout_can_be_placed<space>>);

// that the numbers are right, dry runs say: of the last, which computes blocks again in micro-batches
constexpr detail::found_plan last = walked.found[budgets - 1].plan[0];
static_assert(last.values[0] > 0 && last.values[1] == 4);
constexpr extent quarter_of_all = budget_number(budgets - 1, walked.roomy.peak);
using plan                      = cheapest<training, grid, budget<quarter_of_all>, space>;
static_assert(plan::peak <= quarter_of_all && plan::peak == last.peak && plan::seconds == last.seconds);
static_assert(plan::recomputed == last.values[0] && plan::micro_batches == last.values[1]);
static_assert(fits<quarter_of_all>(dry_run<training, plan::layout>(plan::recomputed, plan::micro_batches)));
static_assert(std::same_as<plan::layout, layout<grid, split<batch, rows, cols>, split<quarter, rows, cols>>>);

}  // namespace
