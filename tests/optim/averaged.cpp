// The moving average of weights: as its formula, exchanged and back, and the same under every layout.
#include <meshtf/io/checkpoint.hpp>

#include "../io/folder.hpp"
#include "model.hpp"

using namespace optim;

namespace {

template<class Optimizer, bool Sharded>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    model_of<double, L> net{m};
    averaged<Optimizer> opt{0.75, 0.02};
    if constexpr (requires { opt.shard_state; }) opt.shard_state = Sharded;
    if constexpr (requires { opt.treat(net.parameters(), {}); })
      opt.treat(parameters(net.b), {.frozen = true});
    auto const x = data_of<double, L>(m);
    for (int i = 0; i < 3; ++i) {
      auto const loss = net.loss(x);
      see(loss);
      backward(loss);
      opt.step(net.parameters());
    }
    opt.exchange(net.parameters());
    net.parameters().for_each([&see](auto& w) { see(w); });
    {
      no_gradient const evaluation{m};
      see(net.loss(x));
    }
    opt.exchange(net.parameters());
    net.parameters().for_each([&see](auto& w) { see(w); });
  }
};

template<class W>
std::vector<double> values(W const& w) {
  return {w.data(), w.data() + w.size};
}

template<Layout L, class Optimizer, bool Corrected = false>
void check_goes_on() {
  files::folder const folder;
  auto& m      = processes<typename L::mesh_type>();
  auto const x = data_of<double, L>(m);
  model_of<double, L> net{m};
  model_of<double, L> later{m};
  averaged<Optimizer> opt{0.5, 0.02};
  averaged<Optimizer> next{0.5, 0.02};
  opt.shard_state = next.shard_state = true;
  opt.start_correction = next.start_correction = Corrected;
  opt.treat(parameters(net.t), {.frozen = true});
  next.treat(parameters(later.t), {.frozen = true});
  auto const train = [&x](auto& of, auto& by) {
    backward(of.loss(x));
    by.step(of.parameters());
  };
  train(net, opt);
  train(net, opt);
  save(net.parameters(), opt, {2, 0}, folder / "run");
  train(net, opt);
  load(later.parameters(), next, folder / "run");
  train(later, next);
  opt.exchange(net.parameters());
  next.exchange(later.parameters());
  CHECK(xt::allclose(to_global(net.w), to_global(later.w), 1e-12, 1e-14));
  CHECK(xt::allclose(to_global(net.c), to_global(later.c), 1e-12, 1e-14));
}

template<Layout L, bool Sharded, bool Corrected = false>
void check_begins_as_loaded() {
  files::folder const folder;
  auto& m      = processes<typename L::mesh_type>();
  auto const x = data_of<double, L>(m);
  model_of<double, L> net{m};
  adamw plain{0.02};
  // nothing was stepped yet: the file has no arrays of the optimizer
  save(net.parameters(), plain, {1, 0}, folder / "run");
  auto const start = to_global(net.w);
  averaged<adamw> opt{0.5, 0.02};
  opt.shard_state      = Sharded;
  opt.start_correction = Corrected;
  backward(net.loss(x));
  opt.step(net.parameters());
  load(net.parameters(), opt, folder / "run");
  CHECK((to_global(net.w) == start));
  opt.exchange(net.parameters());
  CHECK((to_global(net.w) == start));
  if (!Corrected) return;
  // the correction begins anew: the average after a step is the weights after it
  opt.exchange(net.parameters());
  backward(net.loss(x));
  opt.step(net.parameters());
  auto const after = to_global(net.w);
  opt.exchange(net.parameters());
  CHECK((to_global(net.w) == after));
}

/// What is said by a call that is refused.
template<class F>
std::string refused(F const& f) {
  try {
    f();
  } catch (software_error const& e) {
    return e.what();
  }
  return "nothing";
}

// averaged<adamw>{1e-3} would keep 0.001 of the average
static_assert(!std::is_constructible_v<averaged<adamw>, double>);
static_assert(std::is_constructible_v<averaged<adamw>, double, double> &&
              std::is_default_constructible_v<averaged<adamw>>);

}  // namespace

TEST_CASE("the average is that of the weights after each step, and begins as those before the first") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  averaged<adamw> opt{0.75, 0.01};
  auto expected = values(w);
  for (int t = 0; t < 4; ++t) {
    backward(sum(square(w) * x));
    opt.step(parameters(w));
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 0.75 * expected[i] + 0.25 * w.data()[i];
  }
  auto const trained = values(w);
  opt.exchange(parameters(w));
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(w.data()[i] - expected[i]));
  CHECK(worst <= 1e-15);
  CHECK(values(w) != trained);
  backward(sum(square(w) * x));
  CHECK_THROWS_AS(opt.step(parameters(w)), software_error);
  opt.exchange(parameters(w));
  CHECK(values(w) == trained);
}

TEST_CASE("with the start corrected, the average is that of the weights after each step alone") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  averaged<adamw> opt{0.75, 0.01};
  opt.start_correction = true;
  std::vector<double> sums(static_cast<std::size_t>(w.size));
  double factors = 0;
  for (int t = 1; t <= 4; ++t) {
    backward(sum(square(w) * x));
    opt.step(parameters(w));
    factors = 0.75 * factors + 1;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 0.75 * sums[i] + w.data()[i];
    auto const trained = values(w);
    opt.exchange(parameters(w));
    double worst = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
      worst = std::max(worst, std::abs(w.data()[i] - sums[i] / factors));
    CHECK(worst <= 1e-15);
    if (t == 1) CHECK(values(w) == trained);
    opt.exchange(parameters(w));
  }
}

TEST_CASE("averages that were saved without a correction go on without one") {
  files::folder const folder;
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  parameter<double, alone, in, hidden> v{m, zeros{}};
  averaged<sgd> opt{0.5, 0.1};
  averaged<sgd> next{0.5, 0.1};
  next.start_correction = true;
  auto const train      = [](auto& p, auto& by) {
    backward(sum(square(p)));
    by.step(parameters(p));
  };
  train(w, opt);
  save(parameters(named("w", w)), opt, {1, 0}, folder / "run");
  load(parameters(named("w", v)), next, folder / "run");
  train(w, opt);
  train(v, next);
  opt.exchange(parameters(w));
  next.exchange(parameters(v));
  CHECK(values(w) == values(v));
}

TEST_CASE("averages are the same under every layout, sharded too, and the weights come back") {
  check_program(three_steps<adamw, false>{});
  check_program(three_steps<adamw, true>{});
  check_program(three_steps<sgd, false>{});
}

TEST_CASE("averages go on from a checkpoint") {
  under_each_layout([]<Layout L> {
    check_goes_on<L, adamw>();
    check_goes_on<L, adamw, true>();
  });
}

TEST_CASE("an average begins as the weights that a file without averages brings") {
  under_each_layout([]<Layout L> {
    check_begins_as_loaded<L, false>();
    check_begins_as_loaded<L, true>();
    check_begins_as_loaded<L, false, true>();
  });
}

TEST_CASE(
    "a parameter that is listed twice is exchanged once, and two lists are exchanged one after the other") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  parameter<double, alone, hidden> b{m, normal{2}};
  averaged<sgd> opt{0.75, 0.1f};
  auto const train = [&] {
    backward(sum(square(w + b)));
    opt.step(parameters(w, b));
  };
  train();
  auto const trained = values(w);
  auto const of_b    = values(b);
  opt.exchange(parameters(w, w));
  CHECK(values(w) != trained);
  opt.exchange(parameters(b));
  CHECK(refused(train).find("call exchange once more") != std::string::npos);
  zero_gradients(parameters(w, b));
  opt.exchange(parameters(w));
  CHECK(values(w) == trained);
  CHECK(refused(train).find("call exchange once more") != std::string::npos);
  zero_gradients(parameters(w, b));
  opt.exchange(parameters(b, w, b));
  opt.exchange(parameters(w));
  CHECK(values(w) == trained);
  CHECK(values(b) == of_b);
  train();
}

TEST_CASE("while the weights are the averages, saving and loading are refused alike on all processes") {
  under_each_layout([]<Layout L> {
    files::folder const folder;
    auto& m = processes<typename L::mesh_type>();
    model_of<double, L> net{m};
    averaged<adamw> opt{0.5, 0.02};
    backward(net.loss(data_of<double, L>(m)));
    opt.step(net.parameters());
    save(net.parameters(), opt, {1, 0}, folder / "run");
    opt.exchange(net.parameters());
    CHECK(refused([&] { save(net.parameters(), opt, {2, 0}, folder / "run"); }).find("call exchange first") !=
          std::string::npos);
    CHECK(refused([&] { load(net.parameters(), opt, folder / "run"); }).find("call exchange first") !=
          std::string::npos);
    opt.exchange(net.parameters());
    CHECK(load(net.parameters(), opt, folder / "run").step == 1);
  });
}
