// backward(loss, opt, list): parameters are updated during the backward pass, with the bits and the messages
// of the step after it, and a lower peak.
// test: program pipeline
#include <cstdint>
#include <string>
#include <vector>

#include "../io/said.hpp"
#include "../pipeline/whole_arrays.hpp"

namespace {

using namespace meshtf;
using namespace during_backward;
using boost::mpi::communicator;
using files::what_it_throws;

struct batch : dim<24> {};
struct part : dim<12> {};
struct in : dim<96> {};
struct hidden : dim<161> {};
struct classes : dim<47> {};
struct quarter : dim<6> {};
struct width : dim<72> {};

template<int R, int C = 1>
struct both : layout<grid<R, C>, split<batch, rows<R>>, split<part, rows<R>>, padded<hidden, cols<C>>> {};
struct in_parts : layout<grid<2, 1>, split<batch, rows<2>>, split<part, rows<2>>, kept_over<rows<2>>> {};

/// The gradients of the matrices are long; the others share messages. `up` and `norm` are captured by a
/// function that is computed again, after later uses have given them terms of their gradients. `E`: the
/// elements in which is computed.
template<Layout L, class T, class E>
struct net {
  nn::linear<T, L, in, hidden> up;
  nn::layer_norm<T, L, hidden> norm;
  nn::linear<T, L, hidden, classes> down;

  constexpr explicit net(machine<L>& m) : up{m, he_normal{1}}, norm{m}, down{m, he_normal{2}} {}

  constexpr auto operator()(auto const& data) const {
    auto const x      = cast<E>(data);
    auto const first  = recompute([this](auto const& v) { return gelu(norm(up(v))); }, x);
    auto const second = recompute([this](auto const& v) { return tanh(norm(v)); }, first);
    auto const wide   = mean(square(cast<T>(up(x))));  // an operand each: compilers choose which comes first
    auto const narrow = mean(square(cast<T>(down(second))));
    return wide + narrow;
  }
  constexpr auto parameters() { return meshtf::parameters(up, norm, down); }
};

enum class updates { in_the_step, in_backward };

/// Three steps on random data, with a rate that falls.
template<class Optimizer, class T = double, class E = T>
struct training {
  updates when = updates::in_the_step;
  bool divided = false;  // in micro-batches
  bool sharded = false;

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    net<L, T, E> model{m};
    Optimizer opt;
    run<L>(m, model, opt);
  }
  template<Layout L>
  constexpr void run(machine<L>& m, net<L, T, E>& model, Optimizer& opt) const {
    auto const list = model.parameters();
    if constexpr (requires { opt.shard_state; }) {
      opt.shard_state = sharded;
      opt.treat(parameters(model.norm), {.rate = 0.5});
      opt.treat(parameters(model.up.bias), {.frozen = true});
      opt.prepare(list);
    }
    auto const x = random_normal<T, L, batch, in>(m, {.seed = 3});
    for (int i = 1; i <= 3; ++i) {
      opt.rate = 0.01 / i;
      step<L>(m, x, model, opt, list);
    }
  }

private:
  template<Layout L>
  constexpr void step(machine<L>& m, auto const& x, auto const& model, Optimizer& opt,
                      auto const& list) const {
    auto const of_part = [&](extent k) { return model(micro_batch<batch, part>(x, k)) / 2; };
    if (when == updates::in_backward) {
      if (divided) accumulate<2>(m, of_part, opt, list);
      else backward(model(x), opt, list);
    } else {
      if (divided) accumulate<2>(m, of_part);
      else backward(model(x));
      opt.step(list);
    }
  }
};

/// All weights after the steps, and the numbers that the optimizer counts by.
template<Layout L, class Optimizer, class T, class E>
std::vector<double> outcome(training<Optimizer, T, E> const& t) {
  auto& m = processes<typename L::mesh_type>();
  net<L, T, E> model{m};
  Optimizer opt;
  t.template run<L>(m, model, opt);
  auto all = global_elements(model.parameters());
  Optimizer::for_each_number(opt, [&all](char const*, double x) { all.push_back(x); });
  model.parameters().for_each([](auto const& w) { CHECK_FALSE(w.slot().sum); });
  return all;
}

template<Layout L, class Optimizer, class T = double, class E = T>
void check_bits(bool sharded = false) {
  using steps = training<Optimizer, T, E>;
  for (bool const divided : {false, true}) {
    INFO(Optimizer::kind << (divided ? ", in micro-batches" : "") << (sharded ? ", sharded" : ""));
    bool const same = outcome<L>(steps{updates::in_backward, divided, sharded}) ==
                      outcome<L>(steps{updates::in_the_step, divided, sharded});
    CHECK(same);
  }
}

template<Layout L, bool Divided, bool Sharded>
void check_price() {
  using steps                   = training<adamw>;
  static constexpr auto step    = dry_run<L>(steps{updates::in_the_step, Divided, Sharded});
  static constexpr auto updated = dry_run<L>(steps{updates::in_backward, Divided, Sharded});
  // with micro-batches, all gradients are there before the last one begins
  static_assert(!Divided ? updated.peak_bytes() < step.peak_bytes()
                         : updated.peak_bytes() <= step.peak_bytes());
  static_assert(updated.flops() == step.flops() &&
                updated.template payload<>() == step.template payload<>() &&
                updated.template bytes_sent<>() == step.template bytes_sent<>() &&
                updated.collectives().size() == step.collectives().size());
  CHECK(recorded<L>(processes<typename L::mesh_type>(), steps{updates::in_backward, Divided, Sharded}) ==
        updated);
}

template<Layout L, bool Divided, bool Sharded>
void check_all() {
  check_bits<L, adamw>();
  check_bits<L, adamw>(true);
  check_price<L, Divided, Sharded>();
}

/// Together with `early_sums`, whose sums end with the backward pass, the updates come after it.
template<Layout L>
void check_with_early_sums() {
  auto const weights = [](updates when) {
    auto& m = processes<typename L::mesh_type>();
    net<L, double, double> model{m};
    adamw opt;
    early_sums const early{model.parameters()};
    training<adamw>{when}.template run<L>(m, model, opt);
    return global_elements(model.parameters());
  };
  bool const same = weights(updates::in_backward) == weights(updates::in_the_step);
  CHECK(same);
}

// ---- stages, each of two processes that share the batch

template<int K>
struct stages : axis<K> {};
template<int K, int R>
struct line : mesh<stages<K>, rows<R>> {};
struct piped : layout<line<2, 2>, staged<stages<2>>, split<batch, rows<2>>, split<quarter, rows<2>>> {};

template<Layout L>
struct block {
  nn::linear<double, L, width, in> up;
  nn::linear<double, L, in, width> down;
  constexpr explicit block(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}} {}
  constexpr auto operator()(auto const& x) const {
    return x + down(recompute([this](auto const& v) { return tanh(up(v)); }, x));
  }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

/// A stage updates its parameters in the backward pass of its last micro-batch.
struct pipeline_training {
  updates when;

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::stack<block<L>, 4> model{m};
    static_cast<void>(run<L>(m, model));
  }
  template<Layout L>
  constexpr auto run(machine<L>& m, auto& model) const {
    auto const list    = parameters(model);
    auto const x       = random_normal<double, L, batch, width>(m, {.seed = 3});
    auto const of_part = [&](extent k) { return mean(square(model(micro_batch<batch, quarter>(x, k)))) / 4; };
    adam opt;
    opt.prepare(list);
    auto const step = [&] {
      if (when == updates::in_backward) return accumulate<4>(m, of_part, opt, list);
      auto loss = accumulate<4>(m, of_part);
      opt.step(list);
      return loss;
    };
    static_cast<void>(step());
    return step();
  }
};

void check_pipeline() {
  auto& m            = processes<line<2, 2>>();
  auto const outcome = [&m](updates when) {
    nn::stack<block<piped>, 4> model{m};
    double const loss = pipeline_training{when}.run<piped>(m, model).value();
    std::vector<double> all{loss};
    parameters(model).for_each([&all](auto const& w) {
      if (!w.handle()->is_absent()) all.insert(all.end(), w.data(), w.data() + w.size);
    });
    return all;
  };
  bool const same = outcome(updates::in_backward) == outcome(updates::in_the_step);
  CHECK(same);
  static constexpr auto step    = dry_run<piped>(pipeline_training{updates::in_the_step});
  static constexpr auto updated = dry_run<piped>(pipeline_training{updates::in_backward});
  static_assert(updated.peak_bytes() <= step.peak_bytes() && updated.flops() == step.flops());
  auto const stage = static_cast<int>(m.coordinate<stages<2>>());
  CHECK(recorded<piped>(m, pipeline_training{updates::in_backward}) == updated.stage(stage));
}

// ---- on one process: what a parameter's update must wait for, and what goes wrong

using one = both<1>;

struct pair {
  parameter<double, one, in, hidden> w;
  parameter<double, one, in> p;
  explicit pair(process_mesh<grid<1, 1>>& m) : w{m, normal{1, 0.1}}, p{m, normal{2}} {}
  auto parameters() { return meshtf::parameters(w, p); }
};

/// f(x, pair): tanh(...) of dimensions batch and hidden. The loss uses w after it, so its gradient is there
/// before f's backward pass.
template<class F>
std::vector<double> after_uses(updates when, F const& f) {
  auto& m = processes<grid<1, 1>>();
  pair both{m};
  sgd opt{0.5};
  auto const x = random_normal<double, one, batch, in>(m, {.seed = 3});
  for (int i = 0; i < 2; ++i) {
    auto const h    = f(x, both);
    auto const loss = sum(square(einsum<batch, in>(h, both.w)));
    if (when == updates::in_backward) backward(loss, opt, parameters(both));
    else {
      backward(loss);
      opt.step(parameters(both));
    }
  }
  return global_elements(both.parameters());
}
template<class F>
void check_uses(F const& f) {
  bool const same = after_uses(updates::in_backward, f) == after_uses(updates::in_the_step, f);
  CHECK(same);
}

/// An optimizer that needs all gradients is refused before the backward pass, which then can be run without.
template<class Optimizer>
void check_refused(Optimizer& opt, std::string const& named) {
  auto& m = processes<grid<1, 1>>();
  pair both{m};
  auto const list = both.parameters();
  auto const x    = random_normal<double, one, batch, in>(m, {.seed = 3});
  auto const loss = sum(square(einsum<batch, hidden>(x + both.p, both.w)));
  std::string const says =
      "64 " + named + " needs all gradients: call backward(loss), then opt.step(list), instead of ";
  CHECK(what_it_throws([&] { backward(loss, opt, list); }).starts_with(says));
  CHECK(what_it_throws([&] {
          accumulate<1>([&](extent) { return sum(both.w) * 2.0; }, opt, list);
        }).starts_with(says));
  backward(loss);
  opt.step(list);
}

/// An exception leaves what came before it updated, no gradient, and an optimizer that has not counted it.
void check_exception() {
  auto& m = processes<grid<1, 1>>();
  pair both{m};
  auto const list = both.parameters();
  adam opt;
  auto const numbers = [&opt] {
    std::vector<double> all;
    adam::for_each_number(opt, [&all](char const*, double x) { all.push_back(x); });
    return all;
  };
  auto const weights = [](auto const& w) { return std::vector<double>{w.data(), w.data() + w.size}; };
  auto const w       = weights(both.w);
  auto const p       = weights(both.p);
  auto const before  = numbers();

  auto x          = random_normal<double, one, batch, in>(m, {.seed = 3});
  auto const h    = tanh(x * both.p);
  auto const loss = sum(square(einsum<batch, hidden>(h, both.w)));
  *x.data_to_write() += 1;
  CHECK(what_it_throws([&] { backward(loss, opt, list); }).starts_with("70 "));
  CHECK(numbers() == before);
  bool const updated = weights(both.w) != w;
  bool const kept    = weights(both.p) == p;
  CHECK(updated);
  CHECK(kept);
  list.for_each([](auto const& v) { CHECK_FALSE(v.slot().sum); });
  backward(sum(both.w * 2.0), opt, list);
  CHECK(numbers() != before);
}

/// Micro-batches of which each counts by its weight, and those of a function without the machine.
void check_weights() {
  auto& m            = processes<grid<1, 1>>();
  auto const x       = random_normal<double, one, batch, in>(m, {.seed = 3});
  auto const outcome = [&m, &x](updates when, auto const& train) {
    pair both{m};
    auto const list = both.parameters();
    momentum opt{0.1};
    auto const f = [&](extent i) { return sum(square(micro_batch<batch, part>(x, i) * both.p)); };
    train(when, f, opt, list);
    train(when, f, opt, list);
    return global_elements(list);
  };
  auto const weighted = [&m](updates when, auto const& f, auto& opt, auto const& list) {
    auto const weight = [&m](extent i) {
      return sum(random_uniform<double, one, part>(m, {.seed = static_cast<std::uint64_t>(i)}, 1, 2));
    };
    if (when == updates::in_backward) {
      accumulate<2>(m, f, weight, opt, list);
    } else {
      accumulate<2>(m, f, weight);
      opt.step(list);
    }
  };
  auto const without_machine = [](updates when, auto const& f, auto& opt, auto const& list) {
    if (when == updates::in_backward) {
      accumulate<2>(f, opt, list);
    } else {
      accumulate<2>(f);
      opt.step(list);
    }
  };
  bool const same =
      outcome(updates::in_backward, weighted) == outcome(updates::in_the_step, weighted) &&
      outcome(updates::in_backward, without_machine) == outcome(updates::in_the_step, without_machine);
  CHECK(same);
}

void check_on_one_process() {
  check_uses([](auto const& x, pair const& of) { return tanh(einsum<batch, hidden>(x + of.p, of.w)); });
  // data of w, which the tape holds, without a handle to its slot
  check_uses([](auto const& x, pair const& of) {
    return tanh(einsum<batch, hidden>(x + of.p, stop_gradient(of.w)));
  });
  // ... and which nothing holds until it is read again
  check_uses([](auto const& x, pair const& of) {
    return recompute([&of](auto const& v) { return tanh(einsum<batch, hidden>(v, stop_gradient(of.w))); },
                     x + of.p);
  });
  check_uses([](auto const& x, pair const& of) {
    return recompute(
        [&of](auto const& v) {
          return recompute([&of](auto const& u) { return tanh(einsum<batch, hidden>(u, of.w)); }, v);
        },
        x + of.p);
  });
  sgd skips;
  skips.skip_if_not_finite = 2;
  check_refused(skips, "skip_if_not_finite");
  adam clips;
  clips.max_norm = 0.5;
  check_refused(clips, "clipping (max_norm)");
  lion careful;
  careful.skip_if_not_finite = 1;
  check_refused(careful, "skip_if_not_finite");
  check_exception();
  check_weights();
}

}  // namespace

TEST_CASE("updates during the backward pass are those of the step") {
  switch (communicator{}.size()) {
    case 1:
      check_all<both<1>, false, false>();
      check_bits<both<1>, sgd>();
      check_on_one_process();
      break;
    case 2:
      check_all<both<2>, true, true>();
      check_all<in_parts, false, false>();
      check_bits<both<2>, adamw, float, bfloat16>();
      check_with_early_sums<both<2>>();
      break;
    case 4:
      check_all<both<2, 2>, false, true>();
      check_bits<both<2, 2>, sgd>();
      check_bits<both<2, 2>, momentum>();
      check_bits<both<2, 2>, adam>();
      check_bits<both<2, 2>, lion>(true);
      check_pipeline();
      break;
    default: break;
  }
}
