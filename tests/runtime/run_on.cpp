// run_on: the mesh is chosen by the number of processes.
#include "../catch.hpp"

#include <meshtf/meshtf.hpp>

using namespace meshtf;

namespace {

struct one : axis<1> {};
struct two : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct alone : mesh<one> {};
struct pair : mesh<two> {};
struct line : mesh<rows> {};
struct quad : mesh<rows, cols> {};

static_assert(std::same_as<run_on_verdict<alone, pair, quad>, legal>);
static_assert(std::same_as<run_on_verdict<alone, pair, quad, line>, meshes_have_one_size<pair, line, 2>>);

}  // namespace

TEST_CASE("a program runs once, on the mesh of its number of processes") {
  int none       = 0;
  char** nothing = nullptr;
  environment const env{none, nothing, {.report_kernels = false, .report_waiting = false}};
  int runs           = 0;
  auto const program = [&runs]<class M>(process_mesh<M>& m) {
    ++runs;
    CHECK(m.world().size() == M::size);
  };
  if (env.world().size() != 4) {
    run_on<quad, alone, pair>(env, program);
    CHECK(runs == 1);
  } else {
    CHECK_THROWS_WITH(
        (run_on<alone, pair>(env, program)),
        "started with 4 processes, but compiled for 1 (alone one=1), 2 (pair two=2): mpirun -n N ... with "
        "one of these");
    run_on<quad, pair>(env, program);
    CHECK(runs == 1);
  }
}
