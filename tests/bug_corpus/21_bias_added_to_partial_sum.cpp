// error: still_a_sum_over<meshtf::
// error: meshtf: each process adds x: write p + as_partial<...>(x), free
//
// pytorch/torchtitan PR 4245: under tensor parallelism a replicated bias was added to the partial sum of a
// product, so that it counted once for each process. Here the sum of a tensor and a partial sum does not
// compile; as_partial gives the bias to one process, so it is added once and nothing is sent.
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};
struct model : meshtf::dim<4> {};

struct cols : meshtf::axis<4> {};
struct line : meshtf::mesh<cols> {};
struct row_parallel : meshtf::layout<line, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<row_parallel>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> const x{m};
  meshtf::tensor<float, L, hidden, model> const w{m};
  meshtf::tensor<float, L, model> const bias{m};
  auto const p = meshtf::partial_einsum<batch, model>(x, w);
#ifdef FIXED
  auto const y = p + meshtf::as_partial<cols>(bias);
  (void)finish(y);
#else
  auto const y = p + bias;
#endif
});
#ifdef FIXED
static_assert(cost.calls() == 1);  // the all-reduce of the product
#endif
