// If it compiles, it passes.
#include <meshtf/core/function.hpp>
#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/slice_plan.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<6> {};
struct out : dim<10> {};

struct rows : axis<2> {};
struct grid : mesh<rows> {};
struct by_batch : layout<grid, split<batch, rows>> {};

// under a layout the steps are planned; while it is undecided the loops are kept from which they will be
using sum = nest_plan<by_batch, shape<batch>, shape<batch, in>>;
static_assert(std::same_as<decltype(sum::local), nest_steps const> && sum::local.iterations == 4 * 6 &&
              sum::local.results == 4);
using later = nest_plan<undecided_layout<batch, out>, shape<batch>, shape<batch, in>>;
static_assert(std::same_as<decltype(later::local), undecided_steps<nest_steps> const> &&
              later::local.loops.rank == 2);
// batch may be split, in may not
static_assert(later::local.loops.dim[0].open + later::local.loops.dim[1].open == 1);

// loops have as many iterations as the local extent, and strides go by allocated extents
constexpr task_loops two = [] {
  task_loops l;
  l.add_dim({.size = 7, .parts = 2});
  l.add_dim({.size = 10, .parts = 4});
  dim_list both;
  both.push_back(0);
  both.push_back(1);
  l.add_array(both);
  l.add_array(both);
  return l;
}();
constexpr loop_extents full = full_extents(two);
static_assert(full.local[0] == 4 && full.local[1] == 3 && full.allocated[0] == 4 && full.allocated[1] == 3);
static_assert(nest_steps::plan(two, full).rank == 1 && nest_steps::plan(two, full).size[0] == 12);
constexpr nest_steps fewer = [] {
  loop_extents last = full;
  last.local[0]     = 3;
  last.local[1]     = 1;
  return nest_steps::plan(two, last);
}();
static_assert(fewer.iterations == 3 && fewer.rank == 1 && fewer.size[0] == 3 && fewer.stride[0][0] == 3 &&
              fewer.stride[1][0] == 3);

// a matrix product over fewer rows, columns and summed elements than are allocated: its leading
// dimensions are those of storage
constexpr contraction_steps product = [] {
  dim_list x;
  dim_list y;
  dim_list z;
  x.push_back(0);
  x.push_back(2);
  y.push_back(2);
  y.push_back(1);
  z.push_back(0);
  z.push_back(1);
  std::array<extent, 3> const held{60, 50, 30};
  std::array<extent, 3> const stored{64, 64, 32};
  return plan_contraction(held, stored, x, y, z);
}();
static_assert(product.by_gemm && product.scratch == 0 && product.m == 60 && product.n == 50 &&
              product.k == 30);
static_assert(product.lda == 32 && product.ldb == 64 && product.ldc == 64 &&
              product.flops == 2 * 60 * 50 * 30);

// a task is priced by its steps, and its options, known at run time, go with it
static_assert(Task<task::map<function::plus, float, float, float>> && Task<task::take_part<float>> &&
              !Task<nest_steps>);
static_assert(NeedsScratch<task::contract<float>> && !NeedsScratch<task::take_part<float>>);
static_assert(task::contract<float>::work(product).flops == product.flops);

}  // namespace
