// Gated feed-forwards with each gate: they compile, and cost the same products.
#include <meshtf/planning.hpp>

using namespace meshtf;

namespace {

struct batch : dim<8> {};
struct model : dim<16> {};
struct hidden : dim<32> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};

template<class Gate>
constexpr auto cost = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  nn::streams seeds{1};
  nn::gated_feed_forward<float, L, model, hidden, Gate> feed{m, seeds, 0.1, 0.1};
  tensor<float, L, batch, model> const x{m};
  backward(sum(feed(x)));
});

// The gates differ in elementwise work alone.
static_assert(cost<nn::swiglu>.flops() > 0 && cost<nn::glu>.flops() == cost<nn::swiglu>.flops());
static_assert(cost<nn::geglu>.flops() == cost<nn::swiglu>.flops());
static_assert(cost<nn::glu>.template bytes_sent<cols>() == cost<nn::geglu>.template bytes_sent<cols>());

}  // namespace
