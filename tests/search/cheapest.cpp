// If it compiles, it passes: layout, recomputed and spilled blocks and micro-batches are chosen together, for
// budgets from all the memory that the fastest step takes to a quarter of it.
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

/// A machine on which to compute a block again takes longer than to move what it keeps.
constexpr machine_model with_fast_file{.flops_per_second = 20e9, .file_bytes_per_second = 8e9};

/// Four blocks, the first of which may be computed again, and the next of which may leave for a file, over
/// one or four micro-batches.
template<Layout L>
struct training {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;
  int recomputed;
  int spilled;
  int parts;

  constexpr training(machine<L>& m, int again, int away, int micro = 1)
      : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m}, recomputed{again}, spilled{away}, parts{micro} {
    m.spill_from(20 * KiB);  // some are too short under some layouts
  }

  template<Dimension Batch>
  constexpr auto loss(tensor<float, L, Batch, model> const& in) const {
    auto const block = [this](auto const& h) {
      return h + einsum<Batch, model>(relu(einsum<Batch, hidden>(h, this->up)), this->down);
    };
    auto h = in;
    for (int i = 0; i < 4; ++i) {
      if (i < recomputed) h = recompute(block, h);
      else if (i < recomputed + spilled) h = spill(block, h);
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
using again      = recomputed_blocks<4>;
using away       = spilled_blocks<4>;
using micro      = micro_batches_of<batch, quarter>;
using space      = plan_space<split_dims, again, away, micro>;

using program = detail::program_of<decltype(detail::records_program<training>),
                                   decltype(detail::prices_program<training>)>;

constexpr int budgets = 11;
constexpr extent budget_number(int i, extent all) { return all * (1000 - 75 * i) / 1000; }

/// The fastest plan with room for all, and then with 100 % to 25 % of its peak: one of eight, and alone.
struct walk {
  detail::found_plan roomy{};
  std::array<detail::found_plans, budgets> found{};
  std::array<detail::found_plans, budgets> alone{};
};
template<class... Coordinates>
consteval walk walk_budgets() {
  using dims = detail::plan_dims<split_dims, Coordinates...>::type;
  detail::plan_search<program, grid, plan_space<split_dims, Coordinates...>, dims> search{with_fast_file};
  walk w;
  w.roomy = search.best(1 * GiB).plan[0];
  for (int i = 0; i < budgets; ++i) {
    w.found[static_cast<std::size_t>(i)] = search.best(budget_number(i, w.roomy.peak));
    w.alone[static_cast<std::size_t>(i)] = search.best(budget_number(i, w.roomy.peak), 1);
  }
  return w;
}
constexpr walk walked    = walk_budgets<again, away, micro>();
constexpr walk of_blocks = walk_budgets<again, away>();

// with room for all, nothing is computed again, and there is one batch
static_assert(walked.roomy.values == std::array{0, 0, 1, 0});

// the peak never exceeds the budget, and asking for less never takes less time; what is called nearest is
// over it
constexpr bool follows_the_budget(walk const& w) {
  double before = w.roomy.seconds;
  for (int i = 0; i < budgets; ++i) {
    auto const& found   = w.found[static_cast<std::size_t>(i)];
    extent const budget = budget_number(i, w.roomy.peak);
    if (found.count == 0 ? found.nearest.peak <= budget : found.plan[0].peak > budget) return false;
    double const takes = found.count == 0 ? before : found.plan[0].seconds;
    if (takes < before) return false;
    before = takes;
  }
  return true;
}
static_assert(follows_the_budget(walked) && follows_the_budget(of_blocks));
static_assert(walked.found[budgets - 1].count > 0 && of_blocks.found[budgets / 3].count > 0);

// a search for the fastest plan alone finds the same one, and looks at fewer
constexpr bool is_the_same(detail::found_plan const& a, detail::found_plan const& b) {
  return a.over == b.over && a.values == b.values && a.seconds == b.seconds && a.peak == b.peak;
}
constexpr bool is_found_alone(walk const& w) {
  for (std::size_t i = 0; i < budgets; ++i)
    if ((w.found[i].count == 0) != (w.alone[i].count == 0) ||
        !is_the_same(w.found[i].plan[0], w.alone[i].plan[0]) ||
        !is_the_same(w.found[i].nearest, w.alone[i].nearest))
      return false;
  return true;
}
static_assert(is_found_alone(walked) && is_found_alone(of_blocks));

// where nothing was found, not even a plan over the budget, no layout could be placed
static_assert(!detail::found_plans{}.has_nearest && !accepted<no_layout_can_be_placed<space>>);

// without micro-batches, some of them spill blocks, and some compute blocks again
constexpr bool takes_a_step_of(std::size_t coordinate) {
  for (auto const& found : of_blocks.found)
    if (found.count > 0 && found.plan[0].values[coordinate] > 0) return true;
  return false;
}
static_assert(takes_a_step_of(0) && takes_a_step_of(1));

// that the numbers are right, dry runs say: of the last, which works on micro-batches
constexpr detail::found_plan last = walked.found[budgets - 1].plan[0];
static_assert(last.values[0] + last.values[1] > 0 && last.values[2] == 4);
constexpr extent quarter_of_all = budget_number(budgets - 1, walked.roomy.peak);
using plan                      = cheapest<training, grid, budget<quarter_of_all, with_fast_file>, space>;
static_assert(plan::peak <= quarter_of_all && plan::peak == last.peak && plan::seconds == last.seconds);
static_assert(plan::recomputed == last.values[0] && plan::spilled == last.values[1] &&
              plan::micro_batches == last.values[2]);
static_assert(fits<quarter_of_all>(dry_run<training, plan::layout>(plan::recomputed, plan::spilled,
                                                                   plan::micro_batches)));
static_assert(std::same_as<plan::layout, layout<grid, split<batch, rows, cols>, split<quarter, rows, cols>>>);

// its list, which another search makes, begins with it; of the next one a dry run would be made if that of
// the first did not confirm it
using plans = detail::plans_of<program, grid, budget<quarter_of_all, with_fast_file>, space>;
static_assert(is_the_same(plan::ranked(0), last) && is_the_same(plans::plan<0>, last));
static_assert(plan::size == walked.found[budgets - 1].count &&
              (plan::size == 1 || is_the_same(plans::plan<1>, plan::ranked(1))));

}  // namespace
