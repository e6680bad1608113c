// Writing to what the tape holds: found out, named, and survived. And no_gradient, which puts nothing there.
#include <array>
#include <source_location>
#include <string>

#include "../catch.hpp"
#include "mlp.hpp"

namespace accounting {

namespace {

using machine = meshtf::process_mesh<square_grid>;
using weight  = meshtf::parameter<double, mixed, in, hidden>;
using values  = meshtf::tensor<double, mixed, batch, in>;

constexpr auto line_of(std::source_location at = std::source_location::current()) { return at.line(); }

/// What `backward` says: it names the operation, its line and the dimensions of the operand that was written.
std::string stale(char const* operation, unsigned line, char const* dims) {
  return std::string{"backward of "} + operation +
         (line == 0 ? "" : " (stale.cpp:" + std::to_string(line) + ")") + " needs its operand " + dims +
         " as it was, but it was written after the forward pass";
}

/// The message of the stale_value that f() throws, as far as `stale` makes it.
template<class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (meshtf::stale_value const& e) {
    std::string const text = e.what();
    return text.substr(0, text.find(": write"));
  }
  return "nothing was thrown";
}

/// Two layers, of which both weights and x are parameters, so that every operand is needed.
struct two_layers {
  machine& m;
  meshtf::parameter<double, mixed, batch, in> x{m, meshtf::normal{1}};
  meshtf::parameter<double, mixed, in, hidden> w{m, meshtf::normal{2}};
  meshtf::parameter<double, mixed, hidden, inner> v{m, meshtf::normal{3}};
  unsigned line_of_v = 0;

  auto loss() {
    auto const h = tanh(meshtf::einsum<batch, hidden>(x, w));
    line_of_v    = line_of() + 1;
    auto const y = meshtf::einsum<batch, inner>(h, v);
    return sum(square(y));
  }
  auto parameters() { return meshtf::parameters(x, w, v); }

  /// Loss and gradients of this process, one after the other.
  std::vector<double> answer() {
    meshtf::zero_gradients(parameters());
    auto const l = loss();
    backward(l);
    std::vector<double> all{l.value()};
    parameters().for_each([&](auto const& p) {
      auto const g = finish(gradient(p));
      all.insert(all.end(), g.data(), g.data() + g.size);
    });
    meshtf::zero_gradients(parameters());
    return all;
  }
};

}  // namespace

TEST_CASE("an update before backward is found, and the machine goes on", "[4]") {
  machine m{MPI_COMM_WORLD};
  two_layers net{m};
  auto const expected = net.answer();
  auto const original = copy(net.v);
  auto const live     = m.live_bytes();
  {
    auto const l = net.loss();
    update(net.v, meshtf::tensor<double, mixed, hidden, inner>{m}, 0.1);
    CHECK(thrown_by([&] { backward(l); }) == stale("einsum", net.line_of_v, "[hidden, inner]"));
  }
  CHECK(m.tape_is_empty());
  meshtf::zero_gradients(net.parameters());
  CHECK(m.live_bytes() == live);
  net.v = original;
  CHECK(net.answer() == expected);
  CHECK(m.live_bytes() == live);
}

TEST_CASE("assigning to a parameter before backward is found", "[4]") {
  machine m{MPI_COMM_WORLD};
  two_layers net{m};
  meshtf::tensor<double, mixed, hidden, inner> const other{m};
  auto const l = net.loss();
  net.v        = other;
  CHECK(thrown_by([&] { backward(l); }) == stale("einsum", net.line_of_v, "[hidden, inner]"));
}

TEST_CASE("an optimizer's step between forward and backward is found", "[4]") {
  machine m{MPI_COMM_WORLD};
  two_layers net{m};
  {
    auto const first = net.loss();
    backward(first);
  }
  auto const l = net.loss();
  meshtf::sgd{0.1}.step(net.parameters());
  CHECK(thrown_by([&] { backward(l); }) == stale("einsum", net.line_of_v, "[hidden, inner]"));
  meshtf::adam optimizer{0.1};
  CHECK(m.tape_is_empty());
  {
    meshtf::zero_gradients(net.parameters());
    auto const again = net.loss();
    backward(again);
  }
  auto const l2 = net.loss();
  optimizer.step(net.parameters());
  CHECK(thrown_by([&] { backward(l2); }) == stale("einsum", net.line_of_v, "[hidden, inner]"));
}

TEST_CASE("local() of a tensor that is not const counts as writing", "[4]") {
  machine m{MPI_COMM_WORLD};
  weight w{m, meshtf::normal{1}};
  values x           = meshtf::random_normal<double, mixed, batch, in>(m, {.seed = 2});
  unsigned line      = 0;
  auto const forward = [&] {
    line = line_of() + 1;
    return sum(meshtf::einsum<batch, hidden>(x, w));
  };
  auto const l    = forward();
  x.local()(0, 0) = 1;
  CHECK(thrown_by([&] { backward(l); }) == stale("einsum", line, "[batch, in]"));

  auto const l2 = forward();
  static_cast<void>(std::as_const(x).local()(0, 0));  // reading is not
  CHECK_NOTHROW(backward(l2));

  auto const l3 = forward();
  x             = values{m};  // neither is giving the handle another shard
  CHECK_NOTHROW(backward(l3));
}

TEST_CASE("an operand that no gradient needs may be written", "[4]") {
  machine m{MPI_COMM_WORLD};
  weight w{m, meshtf::normal{1}};
  values const x           = meshtf::random_normal<double, mixed, batch, in>(m, {.seed = 2});
  auto const gradient_of_w = [&](bool writes) {
    auto const l = sum(meshtf::einsum<batch, hidden>(x, w));  // x is data: only its value is kept
    if (writes) update(w, meshtf::tensor<double, mixed, in, hidden>{m}, 0.1);
    backward(l);
    auto const g = finish(gradient(w));
    w.zero_gradient();
    return std::vector<double>(g.data(), g.data() + g.size);
  };
  auto const expected = gradient_of_w(false);
  std::vector<double> found;
  CHECK_NOTHROW(found = gradient_of_w(true));
  CHECK(found == expected);

  // nor does a sum need its local terms, nor a scaling what is scaled
  auto const l    = sum(w * 3.0 + w);
  w.local()(0, 0) = 5;
  CHECK_NOTHROW(backward(l));
}

TEST_CASE("operations that keep something else than a matrix product find it too", "[4]") {
  machine m{MPI_COMM_WORLD};
  meshtf::parameter<double, mixed, batch, classes> logits{m, meshtf::normal{1}};
  meshtf::tensor<int, mixed, batch> labels{m};
  unsigned line            = 0;
  auto const cross_entropy = [&] {
    line = line_of() + 1;
    return mean(meshtf::softmax_cross_entropy<classes>(logits, labels));
  };
  auto l               = cross_entropy();
  logits.local()(0, 0) = 0;
  CHECK(thrown_by([&] { backward(l); }) == stale("softmax_cross_entropy", line, "[batch, classes]"));
  l                 = cross_entropy();
  labels.local()(0) = 1;
  CHECK(thrown_by([&] { backward(l); }) == stale("softmax_cross_entropy", line, "[batch]"));

  unsigned const square_line = line_of() + 1;
  l                          = sum(square(logits));
  logits.local()(0, 0)       = 0;
  CHECK(thrown_by([&] { backward(l); }) == stale("square", square_line, "[batch, classes]"));

  l                    = sum(logits * logits);  // an operator has no line
  logits.local()(0, 0) = 0;
  CHECK(thrown_by([&] { backward(l); }) == stale("operator*", 0, "[batch, classes]"));

  // what an operation has made is kept like what it was given
  unsigned const exp_line = line_of() + 1;
  auto z                  = exp(logits);
  l                       = sum(z);
  z.local()(0, 0)         = 0;
  CHECK(thrown_by([&] { backward(l); }) == stale("exp", exp_line, "[batch, classes]"));
}

TEST_CASE("under no_gradient nothing is put on the tape", "[4]") {
  machine m{MPI_COMM_WORLD};
  two_layers net{m};
  auto const live = m.live_bytes();
  {
    meshtf::no_gradient const guard{m};
    {
      meshtf::no_gradient const nested{m};
    }
    auto const l = net.loss();
    CHECK(m.tape_is_empty());
    CHECK_FALSE(l.needs_gradient());
    CHECK(m.live_bytes() == live + l.size * meshtf::extent{sizeof(double)});
    CHECK_THROWS_AS(backward(l), meshtf::software_error);
  }
  auto const l = net.loss();
  CHECK_FALSE(m.tape_is_empty());
  CHECK(l.needs_gradient());
  backward(l);
  CHECK(m.tape_is_empty());
}

}  // namespace accounting
