// error: nearest_plan_recomputes<0>
// error: 6164
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<64> {};
struct in : meshtf::dim<4> {};

struct alone : meshtf::layout<meshtf::mesh<>> {};

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

#ifdef FIXED
constexpr meshtf::extent budget = 1 * meshtf::MiB;
#else
constexpr meshtf::extent budget = 1000;
#endif
static_assert(meshtf::fits_with<training, alone, budget>(1) <= 1);
