// One process of four does something else than the others: with MESHTF_CHECK=1 all end with one line that
// names both call sites, and status 70.
//
//   mismatch CASE      the case "none" ends well; the others are the mistakes below. "program" is found by
//                      m.agree(cost) without the check
//   mismatch CASE one  MESHTF_CHECK is set on process 1 alone, which is as good as on all
//
// The line: meshtf: the processes differ in collective number 3: process 0 calls all_reduce (sum) of ... ,
// process 3 calls ...
#include <cstdlib>
#include <string_view>

#include <meshtf/meshtf.hpp>

namespace {

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};
struct other : meshtf::dim<32> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct by_rows : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct by_columns : meshtf::layout<grid, meshtf::split<batch, cols>, meshtf::split<hidden, rows>> {};

using meshtf::tensor;

template<meshtf::Layout L>
struct step_under {
  meshtf::parameter<float, L, batch, hidden> w;
  constexpr explicit step_under(meshtf::machine<L>& m) : w{m} {}
  constexpr auto step() { return sum<batch>(w); }
};

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  meshtf::environment env{argc, argv, {.report_kernels = false}};
  // what `agree` finds needs no check
  if (which != "program" && (argc < 3 || env.world().rank() == 1)) setenv("MESHTF_CHECK", "1", 1);
  meshtf::process_mesh<grid> m{env.world()};
  bool const odd        = m.rank() == 3;
  auto const is         = [&](std::string_view mistake) { return odd && which == mistake; };
  auto const reduced_by = [&]<class T>(tensor<T, by_rows, batch, hidden> const& x) { return sum<batch>(x); };

  if (is("program")) m.agree(meshtf::dry_run<step_under, by_columns>());
  else m.agree(meshtf::dry_run<step_under, by_rows>());

  tensor<float, by_rows, batch, hidden> const x{m};
  auto const first = reduced_by(x);
  if (is("element")) auto const z = reduced_by(tensor<double, by_rows, batch, hidden>{m});
  else if (is("count")) auto const z = sum<batch>(tensor<float, by_rows, batch, other, hidden>{m});
  else if (is("operator")) auto const z = max<batch>(x);
  else if (is("axis")) auto const z = sum<batch>(tensor<float, by_columns, batch, hidden>{m});
  else if (is("kind")) auto const z = meshtf::reshard<by_columns>(x);
  else if (is("missing")) auto const z = tanh(x);
  else auto const z = reduced_by(x);

  if (is("order")) {
    auto const z = sum<hidden>(x);
    auto const y = sum<batch>(x);
  } else {
    auto const y = sum<batch>(x);
    auto const z = sum<hidden>(x);
  }
  tensor<int, by_rows> number{m};  // nothing is sent of an integer that all decide by, but it is compared
  *number.data() = is("number") ? 2 : 1;
  (void)same_on_all(number, 1);
  if (!is("last")) auto const z = sum(x);
  if (is("extra")) auto const z = sum(x);
}
