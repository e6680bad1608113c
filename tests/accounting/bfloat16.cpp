// What bfloat16 sends, as the compiler promises it and as MPI sees it: short sums as float, long ones
// pairwise in two bytes an element, all else as it is.
#include "compare.hpp"

#include "../catch.hpp"

namespace accounting {

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<2> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct big : dim<(1 << 21)> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct whole : layout<grid> {};

void check_sum(bfloat16 first, bfloat16 last) { CHECK((first == bfloat16{3} && last == bfloat16{3})); }

struct sends {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    tensor<bfloat16, L, batch, hidden> const x{m};
    tensor<bfloat16, L, hidden, in> const w{m};
    auto const y = einsum<batch, in>(x, w);
    auto const z = max<hidden>(x);
    auto const a = reshard<whole>(x);
    auto const s = sum<batch>(tensor<bfloat16, L, batch, big>{m} + 1.5);
    if constexpr (!is_dry<L>) check_sum(s.data()[0], s.data()[s.size - 1]);
  }
};

}  // namespace

TEST_CASE("bfloat16 is sent as promised", "[4]") {
  static constexpr auto promised = dry_run<mixed>(sends{});
  static_assert(promised.calls() > 0);
  process_mesh<grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = recorded<mixed>(m, sends{});
  auto const made    = pmpi::stop();
  CHECK(difference(promised, made) == "");
  CHECK(difference(promised, counted) == "");
  bool float_sum = false;
  bool pairwise  = false;
  for (auto const& c : promised.collectives()) {
    float_sum = float_sum || (c.kind == collective::all_reduce && c.type == element::float32);
    pairwise  = pairwise || (c.kind == collective::reduce_scatter && c.type == element::bfloat16);
  }
  CHECK(float_sum);
  CHECK(pairwise);
}

}  // namespace accounting
