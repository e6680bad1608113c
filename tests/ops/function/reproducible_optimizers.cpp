// reproducible with optimizers that average, measure norms, or keep factors, on several threads a process:
// weights and state have the bits of one process with one thread, on 2, 4 and 8; or the step is refused.
// test: program reproducible
#include <cstring>
#include <string>
#include <vector>

#include "../../io/said.hpp"
#include "../../pipeline/on_stages.hpp"

#include <meshtf/kernel/parallel.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/ops/function/reproducible.hpp>
#include <meshtf/optim/adafactor.hpp>
#include <meshtf/optim/averaged.hpp>
#include <meshtf/optim/lamb.hpp>
#include <meshtf/optim/lars.hpp>
#include <meshtf/optim/lion.hpp>
#include <meshtf/optim/momentum.hpp>
#include <meshtf/optim/sgd.hpp>

namespace {

using namespace meshtf;
using boost::mpi::communicator;
using pipelines::alone;
using pipelines::elements;
using pipelines::processes;

struct batch : dim<16> {};
struct block : dim<2> {};
inline constexpr int blocks = 8;
struct pixels : dim<150> {};
struct units : dim<241> {};  // the matrix is worth several threads, and its parts have ends of their own

template<int N>
struct line : axis<N> {};
template<int N>
struct on_line : mesh<line<N>> {};
template<int N>
struct data : layout<on_line<N>, split<batch, line<N>>> {};

struct outer : axis<2> {};
struct inner : axis<2> {};
struct grid : mesh<outer, inner> {};
/// The parts do not lie in the order of the processes.
struct turned : layout<grid, split<batch, inner, outer>> {};

template<Layout L>
struct learner {
  machine<L>& m;
  nn::linear<float, L, pixels, units> net{m, he_normal{1}};
  tensor<float, L, batch, pixels> x = random_normal<float, L, batch, pixels>(m, {3});

  auto list() { return net.parameters(); }
  float find_gradients() {
    auto const loss = reproducible<batch, block>(list(), [this](extent i) {
      return mean(square(relu(net(block_of<batch, block>(x, i))))) / float{blocks};
    });
    return loss.value();
  }
};

/// What a process has of an array: its elements, and the number of the first.
struct piece {
  std::vector<float> elements;
  extent first = 0;
};

template<Layout L, class Make>
std::vector<piece> trained(machine<L>& m, Make const& make) {
  auto opt = make();
  learner<L> s{m};
  std::vector<piece> seen{{{}, 0}};
  for (int i = 0; i < 10; ++i) {
    seen[0].elements.push_back(s.find_gradients());
    clip_by_global_norm(s.list(), 0.5);
    opt.step(s.list());
  }
  s.list().for_each([&](auto const& w) {
    seen.push_back({elements(w), 0});
    opt.for_each_array(w, [&](char const*, auto const& handle, replica_parts const& parts, auto...) {
      extent const rank    = parts.count == 1 ? 0 : m.rank_along(parts.over);
      float const* const x = handle->data();
      seen.push_back({{x, x + parts.local_extent(rank)}, parts.first(rank)});
    });
  });
  return seen;
}

template<Layout L, class Make>
void check_on(Make const& make) {
  auto const truth = trained<data<1>>(processes<on_line<1>>(alone()), make);
  kernel::use_threads(1 + (communicator{}.rank() + 1) % 3);  // not as many as the neighbours
  auto const own = trained<L>(processes<typename L::mesh_type>(), make);
  kernel::use_threads(1);
  REQUIRE(own.size() == truth.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    auto const& part = own[i].elements;
    CHECK(std::memcmp(part.data(), truth[i].elements.data() + own[i].first, part.size() * sizeof(float)) ==
          0);
  }
  CHECK(truth[0].elements.back() < truth[0].elements.front());
}

/// `make` returns an optimizer as it is before the first step.
template<class Make>
void check(Make const& make) {
  switch (communicator{}.size()) {
    case 2: return check_on<data<2>>(make);
    case 4: return check_on<data<4>>(make);
    case 8: return check_on<data<8>>(make);
    default: return check_on<data<1>>(make);
  }
}

}  // namespace

TEST_CASE("an average of weights and sharded momentum have the same bits on 1, 2, 4 and 8 processes") {
  check([] {
    averaged<momentum> opt{0.9, 0.01, 0.9, true};
    opt.shard_state        = true;
    opt.max_norm           = 0.25;
    opt.skip_if_not_finite = 2;
    return opt;
  });
}
TEST_CASE("so has sharded lion") {
  check([] {
    lion opt{1e-3};
    opt.shard_state = true;
    return opt;
  });
}
TEST_CASE("so have the factors of adafactor, and a mean of its steps") {
  check([] {
    adafactor opt{0.05};
    opt.beta1 = 0.9;
    return opt;
  });
}
TEST_CASE("so have sgd, and lamb and lars, which scale steps by norms") {
  check([] { return sgd{0.1}; });
  check([] { return lamb{1e-2}; });
  check([] { return lars{1e-1, 1e-4, 0.9, 1e-1}; });
}

TEST_CASE("so has a step where the batch is split over two axes, in another order than the processes",
          "[4]") {
  check_on<turned>([] {
    lion opt{1e-3};
    opt.shard_state = true;
    return opt;
  });
}

TEST_CASE("norms of parts, and blocks that do not use the same parameters, are refused") {
  using L = data<1>;
  learner<L> s{processes<on_line<1>>(alone())};
  auto const says = [](auto const& f, char const* words) {
    std::string const text = files::what_it_throws(f);
    INFO(text);
    return text.find(words) != std::string::npos;
  };
  lamb opt;
  opt.shard_state = true;
  s.find_gradients();
  CHECK(says([&] { opt.step(s.list()); }, "expected shard_state = false with gradients of reproducible"));
  CHECK(!s.net.weight.slot().sum);

  parameter<float, L, pixels> other{s.m, normal{5}};
  auto const sometimes = [&](extent i) {
    auto const loss = mean(square(s.net(block_of<batch, block>(s.x, i))));
    return i == 5 ? loss + sum(square(other)) : loss;
  };
  CHECK(says([&] { (void)reproducible<batch, block>(parameters(s.net, other), sometimes); },
             "got one of parameter 3 of the list from some blocks alone"));
  CHECK(!s.net.weight.slot().sum);
}
