// A mesh needs MPI from its beginning to its end, with or without an environment: each mistake ends with a
// sentence and status 70.
//
//   before   MPI is not up: make a meshtf::environment (or call MPI_Init) before a process_mesh
//   after    MPI has ended: make a process_mesh while the meshtf::environment lives
//   mesh     the process_mesh of alone lives longer than MPI: ...
//   tensor   the process_mesh of alone ends before what lives on it, 1 array ...
//   talks    prints a line                                                                    status 0
//   caught   nothing: a program may catch the first of them                                   status 0
#include <cstdio>
#include <string_view>

#include <meshtf/core/mesh.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace {

struct width : meshtf::dim<8> {};
struct one : meshtf::axis<1> {};
struct alone : meshtf::mesh<one> {};
struct whole : meshtf::layout<alone> {};
using machine = meshtf::process_mesh<alone>;

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "caught";
  if (which == "talks") {
    meshtf::environment const env{argc, argv, {.report_kernels = false}};
    std::puts("hello");
  }
  if (which == "before") machine const m{MPI_COMM_SELF};
  if (which == "after") {
    {
      meshtf::environment const env{argc, argv, {.report_kernels = false}};
    }
    machine const m{MPI_COMM_SELF};
  }
  if (which == "mesh") {
    meshtf::environment const env{argc, argv, {.report_kernels = false}};
    static machine const m{MPI_COMM_WORLD};
  }
  if (which == "tensor") {
    MPI_Init(&argc, &argv);
    machine m{MPI_COMM_SELF};
    static meshtf::tensor<float, whole, width> const x{m};
  }
  try {
    if (which == "caught") machine const m{MPI_COMM_SELF};
  } catch (meshtf::software_error const&) {
    meshtf::environment const env{argc, argv, {.report_kernels = false}};
    machine const m{MPI_COMM_SELF};
  }
}
