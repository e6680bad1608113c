// If it compiles, it passes: indices are int32, and what does not fit into one is refused.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct longest : dim<(1LL << 31)> {};
struct longer : dim<(1LL << 31) + 2> {};

struct rows : axis<2> {};
struct grid : mesh<rows> {};
struct by_place : layout<grid, split<longest, rows>, split<longer, rows>> {};

using L = dry<by_place>;

// the last index of 2^31 elements is the largest int32
static_assert(accepted<detail::index_verdict<longest>>);
static_assert(std::same_as<detail::index_verdict<longer>,
                           dim_is_too_long_for_an_index<longer, (1LL << 31) + 2, (1LL << 31)>>);

static_assert(dry_run<by_place>([]<Layout M>(machine<M>& m) {
                auto const ids = argmax<longest>(tensor<float, M, batch, longest>{m});
                auto const all = iota<int, M, longest>(m);
                auto const far = iota<double, M, longer>(m);  // a double holds these
              }).calls() == 2);

}  // namespace
