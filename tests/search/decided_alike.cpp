// If it compiles, it passes: a step with a loop that all processes leave together is recorded without a
// layout, and priced as in dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct model : dim<12> {};

template<Layout L>
struct training {
  parameter<float, L, batch, model> w;

  constexpr explicit training(machine<L>& m) : w{m} {}
  constexpr auto step() {
    auto x = w * 1;
    for (int turn = 0; same_on_all(sum(square(x)), turn < 3 ? 2 : 0) > 1; ++turn) x = x * 0.5F;
    if (same_on_all(any(cast<bool>(x)), true)) x = x * 0.5F;  // of a bool nothing is sent
    auto loss = mean(x);
    backward(loss);
    return loss;
  }
};

constexpr auto step = record<training, batch, model>();

struct solo : axis<1> {};
struct lone : mesh<solo> {};
struct alone : layout<lone> {};
struct nothing : layout<grid> {};
struct by_batch : layout<grid, split<batch, rows, cols>> {};
struct by_both : layout<grid, split<batch, rows>, split<model, cols>> {};

static_assert(tests::priced_as_dry_runs<step, training, alone, nothing, by_batch, by_both>);

// each time one number is sent, also where everything else is whole
constexpr auto of_nothing = dry_run<training, nothing>();
static_assert(of_nothing.calls() == 4 && of_nothing.bytes_sent() == 4 * 4 &&
              of_nothing.collectives()[0].kind == collective::broadcast);
static_assert(dry_run<training, alone>().calls() == 0);

}  // namespace
