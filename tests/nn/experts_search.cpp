// If it compiles, it passes: the search puts experts, with their groups, on the axes of the batch. It prices
// layouts where both change places, and others, each as its dry run.
#include <concepts>

#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>
#include <meshtf/search/search.hpp>

#include "../search/same_price.hpp"

namespace {

using namespace meshtf;

struct batch : dim<32> {};
struct length : dim<32> {};
struct model : dim<64> {};
struct hidden : dim<256> {};
struct experts : dim<8> {};
struct groups : dim<8> {};

struct rows : axis<4> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

template<Layout L>
struct training {
  nn::streams seeds{1};
  nn::mixture_of_experts<float, L, model, hidden, experts, groups> mixture;
  tensor<float, L, batch, length, model> x;

  constexpr explicit training(machine<L>& m) : mixture{m, seeds, 0.02, 0.02}, x{m} {}
  constexpr auto step() {
    auto const z    = mixture(x, {.seed = 2});
    auto const loss = mean(square(x + z.value)) + finish(z.balance_loss);
    backward(loss);
    sgd{0.1}.step(parameters(mixture));
    return loss;
  }
};

constexpr auto step   = record<training, batch, groups, experts, hidden, exchanged_dim<groups, experts>>();
using space           = candidates<batch, groups, experts, hidden>;
constexpr auto ranked = rank_layouts<grid, space>(step);

using on_batch =
    layout<grid, split<batch, rows, cols>, split<groups, rows, cols>, split<experts, rows, cols>>;
static_assert(std::same_as<best_layout<step, grid, space>, on_batch>);
static_assert(dry_run<training, on_batch>().peak_bytes() == ranked[0].peak);
static_assert(dry_run<training, on_batch>().calls<collective::all_to_all>() == 3);  // x needs no gradient

// the same if the experts stay where they are, or lie on an axis of their own
using whole     = layout<grid, split<batch, rows, cols>, split<groups, rows, cols>>;
using elsewhere = layout<grid, split<batch, rows>, split<groups, rows>, split<experts, cols>>;
using hidden_too =
    layout<grid, split<batch, rows>, split<groups, rows>, split<experts, rows>, split<hidden, cols>>;
using on_one_axis = layout<grid, split<batch, rows, cols>, split<groups, rows, cols>, split<experts, rows>>;
static_assert(tests::priced_as_dry_runs<step, training, on_batch, whole, elsewhere, hidden_too, on_one_axis>);

// and of a list of layouts
constexpr auto listed =
    rank_layouts<grid, candidates<whole, elsewhere, hidden_too, on_one_axis, on_batch>>(step);
static_assert(listed.size() == 5 && listed[0].number == 4 && listed[0].seconds == ranked[0].seconds);

}  // namespace
