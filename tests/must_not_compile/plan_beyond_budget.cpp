// error: meshtf: no plan meets the budget
// error: no_plan_meets_budget<1000, 2580,
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<64> {};
struct in : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

/// One block, which is computed again if it is asked for.
template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in> w;
  meshtf::tensor<float, L, batch, in> x;
  bool again;
  constexpr training(meshtf::machine<L>& m, int recomputed) : w{m}, x{m}, again{recomputed > 0} {}
  constexpr void step() {
    auto const block = [this](auto const& y) { return square(tanh(y * w)); };
    if (again) backward(sum(recompute(block, x)));
    else backward(sum(block(x)));
    meshtf::sgd{0.1}.step(meshtf::parameters(w));
  }
};

using space = meshtf::plan_space<meshtf::candidates<batch>, meshtf::recomputed_blocks<1>>;
#ifdef FIXED
using plan = meshtf::cheapest<training, grid, meshtf::budget<1 * meshtf::MiB>, space>;
#else
using plan = meshtf::cheapest<training, grid, meshtf::budget<1000>, space>;
#endif
static_assert(plan::recomputed <= 1);
