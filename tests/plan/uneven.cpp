// If it compiles, it passes: the steps of processes that hold unequally much.
#include <meshtf/core/function.hpp>
#include <meshtf/plan/einsum_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<10> {};
struct in : dim<6> {};
struct few : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct uneven : layout<grid, padded<batch, cols>, split<in, rows>> {};
struct both : layout<grid, padded<batch, cols>, padded<few, rows>> {};

// plans differ between processes only if their loops do; a plan has the steps of the fullest
using over_batch = nest_plan<uneven, shape<in>, shape<batch, in>>;
static_assert(std::same_as<decltype(over_batch::local), uneven_steps<nest_steps> const>);
static_assert(over_batch::local.fullest.iterations == 3 * 3 && over_batch::local.fullest.results == 3);
using over_in = nest_plan<uneven, shape<>, shape<in>>;
static_assert(std::same_as<decltype(over_in::local), nest_steps const> && over_in::local.iterations == 3);

// each process plans from its place: part 3 of 10 over 4 holds one element, and part 1 of 3 over 2 too
constexpr task_loops const& loops = *nest_plan<both, shape<few>, shape<batch, few>>::local.loops;
constexpr loop_extents at(extent row, extent col) {
  std::array<extent, 2> const coordinates{row, col};
  return extents_at(loops, {coordinates, {axis_sizes<grid>.data(), 2}}, {});
}
constexpr int batch_loop = loops.dim[0].size == 10 ? 0 : 1;
constexpr int small_loop = 1 - batch_loop;
static_assert(at(0, 0).local[batch_loop] == 3 && at(0, 0).local[small_loop] == 2);
static_assert(at(1, 3).local[batch_loop] == 1 && at(1, 3).local[small_loop] == 1);
static_assert(at(1, 3).allocated[batch_loop] == 3 && at(1, 3).allocated[small_loop] == 2);
static_assert(nest_steps::plan(loops, at(0, 3)).iterations == 2 &&
              nest_steps::plan(loops, at(1, 0)).iterations == 3);

// a process without elements has nothing to do, and still all of its storage
constexpr task_loops three_over_four = [] {
  task_loops l;
  l.add_dim({.size = 3, .parts = 4, .over = {{1}, 1}, .pads = true});
  dim_list all;
  all.push_back(0);
  l.add_array(all);
  return l;
}();
constexpr std::array<extent, 2> last{0, 3};
constexpr loop_extents nothing = extents_at(three_over_four, {last, {axis_sizes<grid>.data(), 2}}, {});
static_assert(nothing.local[0] == 0 && nothing.allocated[0] == 1 &&
              nest_steps::plan(three_over_four, nothing).iterations == 0);

// Two summed loops are one where both are full. With fewer iterations than allocated elements they are not,
// so a smaller part goes through a buffer that the fullest does not need: the plan allocates it, at the work
// of the fullest.
constexpr task_loops product = [] {
  task_loops l;
  l.add_dim({.size = 40});
  l.add_dim({.size = 250, .parts = 4, .pads = true});
  l.add_dim({.size = 64});
  l.add_dim({.size = 48});
  dim_list x;
  dim_list y;
  dim_list z;
  for (int d : {2, 0, 1}) x.push_back(d);
  for (int d : {3, 0, 1}) y.push_back(d);
  for (int d : {2, 3}) z.push_back(d);
  l.add_array(x);
  l.add_array(y);
  l.add_array(z);
  return l;
}();
constexpr contraction_steps full    = contraction_steps::plan(product, full_extents(product));
constexpr contraction_steps fullest = plan_fullest<contraction_steps>(product);
constexpr contraction_steps smaller = [] {
  loop_extents e = full_extents(product);
  e.local[1]     = product.dim[1].local_extent(3);
  return contraction_steps::plan(product, e);
}();
static_assert(full.by_gemm && full.scratch == 0 && smaller.scratch > 0);
static_assert(fullest.scratch == smaller.scratch && fullest.flops == full.flops && fullest.k == full.k);

// no process works or needs more than is promised, wherever it is and however many elements are counted
template<class K, class Plan>
constexpr bool all_within(Plan const& plan, dim_identity counted, extent most) {
  using steps_type = typename K::steps_type;
  for (extent n = 0; n <= most; ++n) {
    counts const now            = counts{}.with(counted, n);
    auto const priced           = plan_fullest<steps_type>(*plan.loops, now);
    meshtf::work const of       = K::work(priced);
    meshtf::work const promised = K::work(plan.fullest);
    if (of.flops > promised.flops || of.elementwise > promised.elementwise) return false;
    for (extent row = 0; row < 2; ++row)
      for (extent col = 0; col < 4; ++col) {
        std::array<extent, 2> const coordinates{row, col};
        auto const own = steps_type::plan(
            *plan.loops, extents_at(*plan.loops, {coordinates, {axis_sizes<grid>.data(), 2}}, now));
        meshtf::work const does = K::work(own);
        if (does.flops > of.flops || does.elementwise > of.elementwise || does.bytes > of.bytes) return false;
        if constexpr (NeedsScratch<K>)
          if (K::scratch(own) > K::scratch(priced)) return false;
      }
  }
  return true;
}
struct lines : up_to<10> {};
struct mixed : layout<grid, padded<lines, cols>, padded<few, rows>> {};
constexpr dim_identity counted_lines = detail::identity_of<lines>;
static_assert(all_within<task::contract<float>>(
    einsum_plan<mixed, shape<lines, few>, shape<lines, in>, shape<in, few>>::local, counted_lines, 10));
static_assert(all_within<task::contract<float>>(
    einsum_plan<mixed, shape<in, few>, shape<in, lines>, shape<few, lines>>::local, counted_lines, 10));
static_assert(all_within<task::reduce<reduction::sum, function::identity, float, float>>(
    nest_plan<mixed, shape<few>, shape<few, lines>>::local, counted_lines, 10));

// scratch is allocated for the largest that any process needs, whichever comes first
constexpr extent most_of(contraction_steps a, contraction_steps const& b) {
  a.enlarge_scratch_for(b);
  return a.scratch;
}
static_assert(most_of(full, smaller) == smaller.scratch && most_of(smaller, full) == smaller.scratch);

}  // namespace
