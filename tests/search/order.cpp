// If it compiles, it passes: sorts, largest elements and running products along whole dimensions are priced
// under an undecided layout as in dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<64> {};
struct length : dim<32> {};
struct model : dim<16> {};
struct best : dim<4> {};

template<Layout L>
struct ordering_step {
  parameter<float, L, batch, length, model> w;

  constexpr explicit ordering_step(machine<L>& m) : w{m} {}
  constexpr auto step() {
    auto loss = sum(sort<length>(w)) + sum(top_k<length, best>(w).value) +
                sum(nth_element<length, 7>(w).value) + sum(cumprod<length>(w));
    backward(loss);
    return loss;
  }
};

constexpr auto step = record<ordering_step, batch, model>();

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_both : layout<grid, split<batch, rows>, split<model, cols>> {};
static_assert(tests::priced_as_dry_runs<step, ordering_step, by_batch, by_both>);

}  // namespace
