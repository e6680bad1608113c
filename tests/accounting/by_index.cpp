// What operations by index, and numbers by which all processes decide, send: as the compiler promises it and
// as MPI sees it.
#include "compare.hpp"

#include "../catch.hpp"

namespace accounting {

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<4> {};
struct length : dim<6> {};
struct slot : dim<8> {};
struct step : dim<3> {};
struct width : dim<5> {};

struct mixed : layout<grid, split<batch, rows>, split<slot, cols>> {};

struct sends {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    parameter<float, L, batch, slot, width> memory{m};
    parameter<float, L, slot, width> table{m};
    parameter<float, L, batch, step, width> part{m};
    tensor<int, L, batch, length> const places{m};
    auto const read  = gather<slot>(memory, places);             // over cols
    auto const kept  = scatter<slot>(memory * 1, places, read);  // nothing, and its gradient over cols
    auto const added = scatter_add<slot>(table, places, read);   // over rows
    auto const grown = write<slot>(kept, part, 3);               // nothing, and its gradient over cols
    auto const one   = sum(square(added));
    auto const other = sum(square(grown));
    auto const loss  = one + other;
    if (same_on_all(loss, 1) < 2) backward(loss);
  }
};

}  // namespace

TEST_CASE("operations by index send what is promised", "[4]") {
  static constexpr auto promised = dry_run<mixed>(sends{});
  process_mesh<grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = recorded<mixed>(m, sends{});
  auto const made    = pmpi::stop();
  CHECK(difference(promised, made) == "");
  CHECK(difference(promised, counted) == "");
  bool one_for_all = false;
  for (auto const& c : promised.collectives())
    one_for_all = one_for_all || (c.kind == collective::broadcast && c.payload == 4 &&
                                  c.over == axis_set_of<grid, axes<rows, cols>>);
  CHECK(one_for_all);
}

}  // namespace accounting
