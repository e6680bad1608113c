// What running sums and the first elements in order send along a split dimension: as the compiler promises it
// and as MPI sees it, of each call the busiest process exactly so much, and no other more.
#include "compare.hpp"

#include "../catch.hpp"

namespace accounting {

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<4> {};
struct length : dim<10> {};  // in parts of 3, 3, 3 and 1 over both axes
struct best : dim<2> {};

/// The parts follow each other in another order than ranks do.
struct in_a_row : layout<grid, padded<length, cols, rows>> {};
struct mixed : layout<grid, split<batch, rows>, split<length, cols>> {};

struct running {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, length> w{m};
    auto const sums     = cumsum<length>(w, {.exclusive = true});
    auto const products = cumprod<length>(sums, {.reverse = true});
    auto const loss     = sum(products);
    backward(loss);
  }
};

struct first {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, length> w{m};
    auto const found = top_k<length, best>(w);
    auto const loss  = sum(found.value);
    backward(loss);
  }
};

template<class L, class F>
void check(F const& f) {
  static constexpr auto promised = dry_run<L>(F{});
  process_mesh<grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = recorded<L>(m, f);
  auto const made    = pmpi::stop();
  CHECK(difference_on_all(promised, made) == "");
  CHECK(difference(promised, counted) == "");
}

}  // namespace

TEST_CASE("running sums send what is promised", "[4]") {
  static_assert(dry_run<in_a_row>(running{}).calls<collective::scan>() > 0);
  check<in_a_row>(running{});
  check<mixed>(running{});
}

TEST_CASE("the first elements in order send what is promised", "[4]") {
  static_assert(dry_run<in_a_row>(first{}).calls<collective::all_gather>() == 2);
  check<in_a_row>(first{});
  check<mixed>(first{});
}

}  // namespace accounting
