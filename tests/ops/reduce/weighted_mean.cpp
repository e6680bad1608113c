// The weighted mean under every layout: over one, several and all dimensions, with weights of fewer
// dimensions, counts and bools.
// test: program ops2
#include <cmath>
#include <limits>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

bool alone_here() { return boost::mpi::communicator{}.size() == 1; }

struct four : dim<4> {};

}  // namespace

TEST_CASE("weighted_mean of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 3}, {4, 5, 6}});
  auto const w = literal<trio>({1, 0, 3});
  auto const z = weighted_mean<trio>(x, w);
  backward(sum(z));
  CHECK(numbers_of(z) == list{2.5, 5.5});
  CHECK(slopes_of(x) == list{0.25, 0, 0.75, 0.25, 0, 0.75});
}

TEST_CASE("weighted_mean over one, several and all dimensions, with its gradients") {
  check_operation<drawn{2, 0.3}, shape<batch, in, hidden>, shape<batch, in, hidden>>(
      [](auto const& x, auto const& w) {
        return std::tuple{weighted_mean<hidden>(x, w), weighted_mean<batch, in>(x, w), weighted_mean(x, w)};
      });
}

TEST_CASE("weights are broadcast: each counts for all elements along the dimensions that it lacks") {
  check_operation<drawn{2, 0.3}, shape<batch, hidden>, shape<batch>>([](auto const& x, auto const& w) {
    return std::tuple{weighted_mean(x, w), weighted_mean<batch>(x, w), weighted_mean<hidden>(x, w),
                      weighted_mean(w, w)};
  });
  check_operation<drawn{2, 0.3}, shape<batch>, shape<batch, hidden>>(
      [](auto const& x, auto const& w) { return weighted_mean<batch>(x, w); });  // x has no hidden
  check_operation_in_float<shape<batch, hidden>, shape<hidden>>(
      [](auto const& x, auto const& w) { return weighted_mean<hidden>(x, exp(w)); });
}

TEST_CASE("weights are counts, bools or numbers; bfloat16 is added up in float") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1}};
    auto const counts = cast<int>(iota<double, L, batch>(m));
    auto const mask   = less(iota<double, L, hidden>(m), 5);
    see(weighted_mean<batch>(x, counts));
    see(weighted_mean<hidden>(x, cast<bool>(mask)));
    see(cast<double>(
        weighted_mean(cast<bfloat16>(random_normal<float, L, batch, hidden>(m, {.seed = 2})), mask)));
    backward(weighted_mean(x, cast<bool>(mask)));
    see(finish(gradient(x)));
  });
}

TEST_CASE("where the weights add up to 0 the mean is 0, and no gradient is NaN") {
  if (!alone_here()) return;
  auto& m = processes<single>();
  parameter<double, alone, four> x{m, constant{3}};
  parameter<double, alone, four> w{m, zeros{}};
  auto const z = weighted_mean(x, w);
  backward(z);
  CHECK(z.value() == 0);
  auto const dx = finish(gradient(x));
  auto const dw = finish(gradient(w));
  for (extent i = 0; i < 4; ++i) CHECK((dx.data()[i] == 0 && std::isfinite(dw.data()[i])));
  x.data()[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(weighted_mean(x, w).value()));
  w.data()[0] = 2;
  w.data()[3] = 6;
  x.data()[0] = 5;
  x.data()[3] = 1;
  CHECK(weighted_mean(where(w, x, 0), w).value() == 2);
}
