// An index lies outside of its dimension: on one process alone, while the others go on to an all-reduce, or,
// as a number of the program, on all.
//
//   outside CASE   gather, scatter, scatter_add: an id of process 1;  slice, write, pad: where the part
//                  begins
//
// gather:   meshtf: id number 1 of this process is 8, expected a row from 0 to 7: check the ids (process 1 of
// 4)     status 65, within seconds
#include <cstdint>
#include <string_view>

#include <meshtf/meshtf.hpp>

namespace {

struct batch : meshtf::dim<8> {};
struct row : meshtf::dim<8> {};
struct two : meshtf::dim<2> {};
struct more : meshtf::dim<10> {};
struct ranks : meshtf::axis<4> {};
struct grid : meshtf::mesh<ranks> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, ranks>> {};

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<grid> m{env.world()};
  meshtf::tensor<float, by_batch, row> table{m};
  auto ids          = meshtf::iota<std::int32_t, by_batch, batch>(m);
  auto const values = meshtf::iota<float, by_batch, batch>(m);
  if (m.rank() == 1) ids.local()(1) = 8;
  meshtf::tensor<float, by_batch, batch, row> lines{m};

  if (which == "gather") (void)sum(gather<row>(table, ids));
  if (which == "scatter") (void)sum(scatter<row>(lines, ids, values));
  if (which == "scatter_add") (void)scatter_add<row>(table, ids, values);
  if (which == "slice") (void)slice<row, two>(table, 7);
  if (which == "write") (void)write<row>(table, meshtf::tensor<float, by_batch, two>{m}, -1);
  if (which == "pad") (void)pad<row, more>(table, 3);
}
