// A loss, or a norm of gradients, that is not finite is said once, without any option.
#include <cmath>
#include <limits>
#include <string>

#include <meshtf/core/mesh.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/optim/adamw.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/tape.hpp>

#include "../catch.hpp"
#include "../io/said.hpp"

namespace {

struct batch : meshtf::dim<8> {};

template<int N>
struct rows : meshtf::axis<N> {};
template<int N>
struct line : meshtf::mesh<rows<N>> {};
template<int N>
struct data : meshtf::layout<line<N>, meshtf::split<batch, rows<N>>> {};

/// What one step after another says; the loss of step `bad` is not finite, or, if `in_gradient`, the
/// gradient.
template<int N>
std::string said_by_steps(int bad, bool in_gradient) {
  using L = data<N>;
  files::folder const here;
  meshtf::process_mesh<line<N>> m{boost::mpi::communicator{}};
  meshtf::parameter<float, L, batch> w{m, meshtf::constant{1.0}};
  meshtf::adamw opt{0.1};
  opt.max_norm = 1;
  return files::said(here, [&] {
    for (int step = 1; step <= 4; ++step) {
      float const factor = step != bad ? 1 : std::numeric_limits<float>::infinity();
      auto const loss    = sum(square(w) * (in_gradient ? 1.0F : factor));
      backward(loss);
      if (in_gradient && step == bad) w.slot().sum->data()[0] = std::nanf("");
      opt.step(parameters(w));
    }
  });
}

template<int N>
void check() {
  bool const is_first = boost::mpi::communicator{}.rank() == 0;
  CHECK(said_by_steps<N>(9, false).empty());
  auto const loss = said_by_steps<N>(2, false);
  auto const norm = said_by_steps<N>(3, true);
  if (!is_first) {
    CHECK((loss.empty() && norm.empty()));
    return;
  }
  CHECK(loss.starts_with("meshtf: the loss of step 2 is inf (sum, "));
  CHECK(norm.starts_with("meshtf: the norm of the gradients of step 3 is nan (adamw::step, "));
  std::string const rest =
      "): the gradients and the next weights are not finite either; later ones are not reported\n";
  for (auto const& said : {loss, norm}) {
    CHECK(said.find("not_finite.cpp:") != std::string::npos);
    CHECK(said.find(rest) == said.size() - rest.size());
  }
}

}  // namespace

TEST_CASE("a loss or a norm that is not finite is said once") {
  switch (boost::mpi::communicator{}.size()) {
    case 1: check<1>(); break;
    case 2: check<2>(); break;
    case 4: check<4>(); break;
    default: break;
  }
}
