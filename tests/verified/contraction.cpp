// einsum under every placement, against its definition in integers: values, both gradients, and local terms.
#include "processes.hpp"

#include <stdexcept>

#include <meshtf/plan/einsum_plan.hpp>

namespace {

using namespace verified;
using meshtf::shape;

/// The steps of each process, run by the kernel. x and y are what the processes hold.
std::vector<shard> contracted(setting const& s, rule const& r, std::vector<shard> const& x,
                              std::vector<shard> const& y) {
  task_loops const loops = r.sized(s);
  auto const fullest     = meshtf::plan_fullest<meshtf::contraction_steps>(loops);
  auto z                 = unwritten_shards(s, r.array[2]);
  shard scratch(static_cast<std::size_t>(fullest.scratch));
  for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
    auto const own = meshtf::contraction_steps::plan(loops, meshtf::extents_at(loops, here, {}));
    if (own.scratch > fullest.scratch)
      throw std::logic_error("expected the scratch memory of the fullest process to be enough");
    std::fill(scratch.begin(), scratch.end(), unwritten);
    meshtf::task::contract<double>{}.compute(own, here, x[p].data(), y[p].data(), z[p].data(),
                                             scratch.data());
  });
  return z;
}

whole definition(setting const& s, dim_list const& out, whole const& x, whole const& y) {
  whole z = zeros(s, out);
  for_each_index(s, united(out, x.letters, y.letters),
                 [&](position const& at) { z(s, at) += x(s, at) * y(s, at); });
  return z;
}

template<class L, class Out, class X, class Y>
rule contraction() {
  using plan = meshtf::einsum_plan<L, Out, X, Y>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return rule_of<L, meshtf::contraction_steps, typename plan::loops>(meshtf::arrays_of<X, Y, Out>{},
                                                                     plan::finished_over);
}

/// One setting with sizes: z, dx and dy of whole operands, and where x is a sum over `pending`.
struct rules {
  rule z;
  rule dx;
  rule dy;
};
void check(counter& count, setting const& s, rules const& r) {
  whole const x  = integers(s, r.z.array[0], 1);
  whole const y  = integers(s, r.z.array[1], 2);
  whole const z  = definition(s, r.z.array[2], x, y);
  whole const dz = integers(s, z.letters, 3);
  auto const ys  = shards_of(s, y);
  auto const dzs = shards_of(s, dz);
  whole const dx = definition(s, x.letters, dz, y);
  whole const dy = definition(s, y.letters, dz, x);
  for_each_pending(s, [&](axis_set pending) {
    auto const xs = terms_of(s, x, pending);
    count.expect(equal(s, joined(s, contracted(s, r.z, xs, ys), r.z.finished_over | pending), z), "value", s);
    count.expect(equal(s, joined(s, contracted(s, r.dy, dzs, xs), r.dy.finished_over | pending), dy), "dy",
                 s);
  });
  count.expect(equal(s, joined(s, contracted(s, r.dx, dzs, ys), r.dx.finished_over), dx), "dx", s);
}

template<class Out, class X, class Y>
void check_everywhere(counter& count, std::vector<extent> const& sizes) {
  using dims = meshtf::united<X, Y>;
  for_each_layout<dims>([&]<class L>(setting const& s) {
    rules const r{contraction<L, Out, X, Y>(), contraction<L, X, Out, Y>(), contraction<L, Y, Out, X>()};
    ++count.placements;
    for_each_size(s, letters_of<dims>, [&](setting const& with) { check(count, with, r); }, sizes);
  });
}

// rule contraction: einsum_plan.hpp contraction.hpp
// checks: z, dx, dy, and z and dy of an x that is a pending sum over each set of free axes
// sizes: 1 to 5; 1, 4 and 5 with four dimensions
// operations: product/einsum.hpp product/einsum_of_many.hpp product/matmul.hpp product/outer_product.hpp
TEST_CASE("einsum is its definition under every placement", "[verified]") {
  counter count{"contraction"};
  std::vector<extent> const all{1, 2, 3, 4, 5};
  check_everywhere<shape<>, shape<a>, shape<a>>(count, all);
  check_everywhere<shape<a>, shape<b>, shape<a, b>>(count, all);
  check_everywhere<shape<b, a>, shape<a>, shape<b>>(count, all);
  check_everywhere<shape<a, c>, shape<a, b>, shape<b, c>>(count, all);
  check_everywhere<shape<c, a>, shape<b, a>, shape<b, c>>(count, all);
  check_everywhere<shape<a, c>, shape<a, b, c>, shape<c, b>>(count, all);
  check_everywhere<shape<a, b, d>, shape<a, b, c>, shape<a, c, d>>(count, {1, 4, 5});
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
