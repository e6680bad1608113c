// Adafactor compared with Mesh TensorFlow: the same weights after three steps, whatever the layout. See
// tests/golden/README.md.
// test: processes 1 3 4
#include "../golden.hpp"

#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct in : dim<6> {};
struct hidden : dim<16> {};
struct out : dim<8> {};

struct solo : axis<1> {};
struct third : axis<3> {};
struct rows : axis<2> {};
struct cols : axis<2> {};

struct alone : mesh<solo> {};
struct by_three : mesh<third> {};
struct by_four : mesh<rows, cols> {};

struct whole : layout<alone> {};
struct uneven : layout<by_three, padded<hidden, third>> {};
struct mixed : layout<by_four, split<in, rows>, split<out, cols>> {};

golden_arrays const& golden() {
  static golden_arrays const file{"adafactor"};
  return file;
}

/// `choose` sets the options.
template<Layout L>
void check(std::string const& name, void (*choose)(adafactor&)) {
  CAPTURE(name);
  process_mesh<typename L::mesh_type> m{boost::mpi::communicator{}};
  adafactor opt;
  choose(opt);
  parameter<float, L, in, out> w{m, zeros{}};
  parameter<float, L, hidden, in, out> deep{m, zeros{}};
  parameter<float, L, out> b{m, zeros{}};
  auto const with_each = [&](auto const& f) {
    f("w", w);
    f("deep", deep);
    f("b", b);
  };
  with_each([&]<class... D>(std::string const& which, parameter<float, L, D...>& p) {
    p = golden().tensor<float, L, D...>(m, which);
  });
  for (int t = 0; t < 3; ++t) {
    with_each([&]<class... D>(std::string const& which, parameter<float, L, D...>& p) {
      backward(sum(p * golden().tensor<float, L, D...>(m, which + ".gradient." + std::to_string(t))));
    });
    opt.step(parameters(w, deep, b));
  }
  with_each(
      [&](std::string const& which, auto& p) { CHECK(golden().distance(p, name + "." + which) <= 3e-6); });
}

template<Layout L>
void check_all() {
  check<L>("plain", [](adafactor& opt) { opt.least_factored = 2; });
  check<L>("some", [](adafactor& opt) { opt.least_factored = 7; });
  check<L>("constant", [](adafactor& opt) {
    opt.least_factored  = 2;
    opt.beta2           = 0.95;
    opt.bias_correction = false;
  });
  check<L>("averaged", [](adafactor& opt) {
    opt.least_factored    = 2;
    opt.rate              = 0.03;
    opt.beta1             = 0.9;
    opt.scaled_by_weights = false;
    opt.threshold         = 0.5;
  });
}

}  // namespace

TEST_CASE("Adafactor takes the steps of Mesh TensorFlow", "[1]") { check_all<whole>(); }
TEST_CASE("Adafactor takes the steps of Mesh TensorFlow on three processes, which hold unequally much",
          "[3]") {
  check_all<uneven>();
}
TEST_CASE("Adafactor takes the steps of Mesh TensorFlow on four processes", "[4]") { check_all<mixed>(); }

#endif
