// A value of another stage is found in the dry run: throw_of_another_stage stands in what compilers say.
// (Their notes show the evaluation, in more lines than tests/must_not_compile/ allows.)
#include <meshtf/planning.hpp>

struct width : meshtf::dim<4> {};

struct stages : meshtf::axis<2> {};
struct line : meshtf::mesh<stages> {};
struct piped : meshtf::layout<line, meshtf::staged<stages>> {};
using dry_piped = meshtf::dry<piped>;

constexpr bool works_on_stage_1() {
  meshtf::ledger<line> m;
  m.stand_at<stages>(1);
  auto const w = [&] {
#ifdef FIXED
    meshtf::at_stage<dry_piped> const here{m, 1};
#else
    meshtf::at_stage<dry_piped> const here{m, 0};
#endif
    return meshtf::tensor<float, dry_piped, width>{m};
  }();
  meshtf::at_stage<dry_piped> const here{m, 1};
  return copy(w).size > 0;
}
static_assert(works_on_stage_1());
