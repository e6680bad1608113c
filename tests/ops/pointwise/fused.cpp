// Operations fused into single passes: the same results as their parts, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// f.operator()<L>(machine) under one layout for each number of processes, in processes only.
template<class F>
void run_under_one(F const& f) {
  switch (boost::mpi::communicator{}.size()) {
    case 1: f.template operator()<alone>(processes<single>()); break;
    case 2: f.template operator()<model>(processes<pair>()); break;
    case 4: f.template operator()<mixed>(processes<two_by_two>()); break;
    default: break;
  }
}

/// Equal to 1e-12 of the larger of 1 and the element.
void near(auto const& a, auto const& b) {
  REQUIRE(a.size == b.size);
  for (extent i = 0; i < a.size; ++i)
    CHECK(std::abs(a.data()[i] - b.data()[i]) <= 1e-12 * std::max(1.0, std::abs(a.data()[i])));
}

/// The gradients of sum(f(w...) * probes) for w..., finished.
template<class F, class... W>
auto gradients_of(F const& f, W&... w) {
  (w.zero_gradient(), ...);
  auto const loss = probe_sum(f(), 0);
  backward(loss);
  return std::tuple{finish(gradient(w))...};
}

}  // namespace

TEST_CASE("bias_gelu of literal numbers: gelu of the sum") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{0, 0, 0}, {0, 1, 1}});
  auto const b = literal<trio>({0, 1, -1});
  auto const z = bias_gelu(x, b);  // gelu of 0, 1, -1, 0, 2, 0
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{0, 0.8412, -0.1588, 0, 1.9546, 0});
  CHECK(rounded(slopes_of(x)) == list{0.5, 1.083, -0.083, 0.5, 1.0861, 0.5});
  CHECK(rounded(slopes_of(b)) == list{1, 2.1691, 0.417});
}

TEST_CASE("bias_gelu: the bias last and first") {
  check_operation<shape<batch, hidden>, shape<hidden>, shape<batch>>(
      [](auto const& x, auto const& b, auto const& first) {
        return std::tuple{bias_gelu(x, b), bias_gelu(x, first)};
      });
}

TEST_CASE("bias_gelu in single precision: the bias of two dimensions, in the middle and without dimensions") {
  check_operation_in_float<shape<batch, in, hidden>, shape<in, hidden>, shape<in>, shape<>>(
      [](auto const& x, auto const& b, auto const& c, auto const& d) {
        return std::tuple{bias_gelu(x, b), bias_gelu(x, c), bias_gelu(x, d)};
      });
}

TEST_CASE("bias_gelu is gelu of the sum") {
  run_under_one([]<Layout L>(machine<L>& m) {
    parameter<double, L, batch, in, hidden> x{m, normal{1}};
    parameter<double, L, hidden> b{m, normal{2}};
    auto const fused = [&] { return bias_gelu(x, b); };
    auto const parts = [&] { return gelu(x + b); };
    near(fused(), parts());
    auto const [dx, db] = gradients_of(fused, x, b);
    auto const [ex, eb] = gradients_of(parts, x, b);
    near(dx, ex);
    near(db, eb);
  });
}

TEST_CASE(
    "residual_layer_norm is the sum and its layer norm, and that is the composition of other operations") {
  run_under_one([]<Layout L>(machine<L>& m) {
    parameter<double, L, batch, hidden> x{m, normal{1, 3, 0.5}};
    parameter<double, L, batch, hidden> y{m, normal{2}};
    parameter<double, L, hidden> scale{m, normal{3}};
    parameter<double, L, hidden> bias{m, normal{4}};
    auto const fused = [&] {
      auto const [h, n] = residual_layer_norm<hidden>(x, y, scale, bias);
      return std::tuple{h, n};
    };
    auto const parts = [&] {
      auto const h = x + y;
      return std::tuple{h, layer_norm<hidden>(h, scale, bias)};
    };
    auto const composed = [&] {
      auto const h       = x + y;
      auto const centred = h - mean<hidden>(h);
      auto const rstd    = rsqrt(mean<hidden>(square(centred)) + 1e-5);
      return std::tuple{h, centred * rstd * scale + bias};
    };
    auto const [dx, dy, ds, db] = gradients_of(fused, x, y, scale, bias);
    auto const same             = [&](auto const& f) {
      near(std::get<0>(fused()), std::get<0>(f()));
      near(std::get<1>(fused()), std::get<1>(f()));
      auto const [ex, ey, es, eb] = gradients_of(f, x, y, scale, bias);
      near(dx, ex);
      near(dy, ey);
      near(ds, es);
      near(db, eb);
    };
    same(parts);
    same(composed);
  });
}
