// Layer norm and RMS norm along dimensions split and whole, first and last, under every layout.
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

}  // namespace

TEST_CASE("layer_norm and rms_norm of literal numbers") {
  if (!on_one_process()) return;
  auto const x     = literal<duo, key>({{1, 3}, {10, 30}});
  auto const scale = literal<key>({1, 2});
  auto const bias  = literal<key>({0, 100});
  auto const z     = layer_norm<key>(x, scale, bias);
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{-1, 102, -1, 102});
  CHECK(rounded(slopes_of(scale)) == list{-2, 2});
  CHECK(slopes_of(bias) == list{2, 2});
  CHECK(rounded(numbers_of(rms_norm<key>(literal<key>({1, 7}), scale))) == list{0.2, 2.8});
}

TEST_CASE("layer_norm along the last dimension, the first, and the only one") {
  check_operation<drawn{0.5, 1}, shape<batch, hidden>, shape<hidden>, shape<hidden>, shape<batch>>(
      [](auto const& x, auto const& scale, auto const& bias, auto const& other) {
        return std::tuple{layer_norm<hidden>(x, scale, bias), layer_norm<batch>(x, other, other),
                          layer_norm<hidden>(scale, bias, scale)};
      });
}

TEST_CASE("layer_norm along the middle dimension") {
  check_operation<drawn{0.5, 1}, shape<batch, hidden, in>, shape<hidden>, shape<hidden>>(
      [](auto const& x, auto const& scale, auto const& bias) {
        return layer_norm<hidden>(x, scale, bias, 1e-3);
      });
}

TEST_CASE("rms_norm along the last dimension and the first") {
  check_operation<drawn{0.5, 1}, shape<batch, hidden>, shape<hidden>, shape<batch>>(
      [](auto const& x, auto const& scale, auto const& other) {
        return std::tuple{rms_norm<hidden>(x, scale), rms_norm<batch>(x, other)};
      });
}

TEST_CASE("layer_norm and rms_norm in single precision") {
  check_operation_in_float<shape<batch, hidden>, shape<hidden>, shape<hidden>>(
      [](auto const& x, auto const& scale, auto const& bias) {
        return std::tuple{layer_norm<hidden>(x, scale, bias), rms_norm<hidden>(x, scale)};
      });
}

TEST_CASE("float rows whose mean is ten thousand times their deviation, along a split dimension too") {
  auto const f = []<Layout L>(machine<L>& m) {
    no_gradient const guard{m};
    auto const x = random_normal<float, L, batch, hidden>(m, {.seed = 3}, 1e4, 1);
    tensor<float, L, hidden> scale{m};
    tensor<float, L, hidden> bias{m};
    m.fill(scale.size, 1.0f, scale.data());
    auto const z = layer_norm<hidden>(x, scale, bias);
    // the truth in double, of the same floats
    auto const truth = layer_norm<hidden>(cast<double>(x), cast<double>(scale), cast<double>(bias));
    for (extent i = 0; i < z.size; ++i)
      CHECK(std::abs(static_cast<double>(z.data()[i]) - truth.data()[i]) <= 2e-3);
  };
  run_under_one(f);
}
