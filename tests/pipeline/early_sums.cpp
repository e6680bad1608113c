// Sums of gradients that begin during the backward pass: their values, their bits when messages are late, and
// their price.
// test: program pipeline
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "whole_arrays.hpp"

extern long bytes_begun;  // late.cpp

namespace {

using namespace meshtf;
using namespace during_backward;
using boost::mpi::communicator;

struct batch : dim<24> {};
struct part : dim<12> {};
struct some : up_to<24> {};
struct in : dim<96> {};
struct hidden : dim<161> {};
struct classes : dim<47> {};

template<int R, int C = 1>
struct both : layout<grid<R, C>, split<batch, rows<R>>, split<part, rows<R>>, split<some, rows<R>>,
                     padded<hidden, cols<C>>> {};

/// The gradients of the matrices are long, so each is summed where it lies; the others share messages.
/// Neither have equal parts. `norm` is used twice, once in a function that is computed again.
template<Layout L>
struct net {
  nn::linear<double, L, in, hidden> up;
  nn::layer_norm<double, L, hidden> norm;
  nn::linear<double, L, hidden, classes> down;

  constexpr explicit net(machine<L>& m) : up{m, he_normal{1}}, norm{m}, down{m, he_normal{2}} {}

  constexpr auto operator()(auto const& x) const {
    auto const h = [this](auto const& v) { return gelu(norm(v)); };
    return mean(square(down(recompute(h, norm(up(x))))));
  }
  constexpr auto parameters() { return meshtf::parameters(up, norm, down); }
};

enum class sums { in_the_step, early, at_once };

/// Steps of AdamW on random data.
struct training {
  sums when      = sums::in_the_step;
  bool divided   = false;  // in micro-batches
  double clipped = 0;

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    net<L> model{m};
    auto const list = model.parameters();
    adamw opt{0.01};
    opt.max_norm = clipped;
    opt.prepare(list);
    run<L>(m, model, list, [&](auto const&) { opt.step(list); });
  }

  /// `step` after each backward pass.
  template<Layout L, class List>
  constexpr void run(machine<L>& m, net<L>& model, List const& list, auto const& step) const {
    if (when == sums::in_the_step) return steps<L>(m, model, step);
    early_sums const early{list, when == sums::early ? wait_for_sums::at_the_end : wait_for_sums::at_once};
    steps<L>(m, model, step);
  }
  template<Layout L>
  constexpr void steps(machine<L>& m, net<L>& model, auto const& step) const {
    auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
    for (int i = 0; i < 2; ++i) {
      if (divided) {
        accumulate<2>(m, [&](extent k) { return model(micro_batch<batch, part>(x, k)) / 2; });
      } else {
        backward(model(x));
      }
      step(model);
    }
  }
};

/// All weights after the steps, of this process.
template<Layout L>
std::vector<double> weights_after(training const& t) {
  auto& m = processes<typename L::mesh_type>();
  net<L> model{m};
  adamw opt{0.01};
  opt.max_norm    = t.clipped;
  auto const list = model.parameters();
  t.run<L>(m, model, list, [&](auto const&) { opt.step(list); });
  return global_elements(list);
}

template<Layout L>
void check_values() {
  for (bool const divided : {false, true})
    for (double const clipped : {0.0, 0.5}) {
      auto const step    = weights_after<L>({sums::in_the_step, divided, clipped});
      auto const early   = weights_after<L>({sums::early, divided, clipped});
      auto const at_once = weights_after<L>({sums::at_once, divided, clipped});
      CHECK(early == at_once);
      CHECK(difference(early, step) < 1e-12);
      if (communicator{}.size() == 2) CHECK(early == step);
    }
}

template<Layout L>
void check_threads() {
  auto const alone = weights_after<L>({sums::early});
  kernel::use_threads(3);
  auto const early   = weights_after<L>({sums::early});
  auto const at_once = weights_after<L>({sums::at_once});
  kernel::use_threads(1);
  CHECK(early == at_once);
  CHECK(difference(early, alone) < 1e-12);
}

template<Layout L, training T>
void check_price() {
  static constexpr auto promised = dry_run<L>(T);
  auto const before              = bytes_begun;
  auto const counted             = recorded<L>(processes<typename L::mesh_type>(), T);
  CHECK(counted == promised);
  // what MPI is asked to send, by all processes: the last part of a sum is shorter than the others
  long begun        = bytes_begun - before;
  long of_all_calls = 0;
  for (collective_call const& call : promised.collectives()) {
    if (std::string_view{call.site.operation} != "early_sums") continue;
    extent const n = processes_along(axis_sizes<typename L::mesh_type>, call.over);
    of_all_calls += 2 * (n - 1) * call.payload * communicator{}.size() / n;
  }
  MPI_Allreduce(MPI_IN_PLACE, &begun, 1, MPI_LONG, MPI_SUM, communicator{});
  CHECK(begun == of_all_calls);
  // where a call begins, and what is computed while it goes on
  bool same = counted.collectives().size() == promised.collectives().size();
  for (std::size_t i = 0; same && i < promised.collectives().size(); ++i)
    same = counted.collectives()[i].since == promised.collectives()[i].since &&
           counted.collectives()[i].until == promised.collectives()[i].until;
  CHECK(same);
}

/// The sums begin in the backward pass, and what is computed meanwhile hides time of them.
template<Layout L>
constexpr void check_overlap() {
  constexpr auto early   = dry_run<L>(training{sums::early});
  constexpr auto at_once = dry_run<L>(training{sums::at_once});
  constexpr auto step    = dry_run<L>(training{sums::in_the_step});
  constexpr auto begun   = [](auto const& c) {
    int n = 0;
    for (collective_call const& call : c.collectives()) n += call.until.flops() > 0 ? 1 : 0;
    return n;
  };
  constexpr bool joins = joining_axes<typename L::mesh_type> != 0;
  static_assert(!joins || begun(early) >= 2);
  static_assert(begun(at_once) == 0 && begun(step) == 0);
  constexpr modelled_time t = early.time();
  static_assert(!joins || (t.overlapped() < t.total() && t.overlapped() > t.products + t.passes));
  static_assert(at_once.time().hidden < 1e-12 && step.time().hidden == 0);
  static_assert(early.flops() == step.flops() && early.template payload<>() == step.template payload<>() &&
                early.template bytes_sent<>() == step.template bytes_sent<>());
}

/// The finished gradients, which are cleared.
std::vector<double> take_gradients(auto const& list) {
  auto all = global_elements(list, [](auto const& w) { return finish(gradient(w)); });
  zero_gradients(list);
  return all;
}

/// Two at once each sum their own parameters. What both list is left to the step.
template<Layout L>
void check_two() {
  auto& m      = processes<typename L::mesh_type>();
  auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
  net<L> model{m};
  auto const list     = model.parameters();
  auto const unsummed = [&list] {
    int n = 0;
    list.for_each([&n](auto const& w) { n += w.slot().unreduced == 0 ? 0 : 1; });
    return n;
  };
  backward(model(x));
  int const of_backward = unsummed();
  auto const expected   = take_gradients(list);
  {
    early_sums const of_first{parameters(model.up)};
    early_sums const of_others{parameters(model.norm, model.down)};
    backward(model(x));
    CHECK(unsummed() == 0);
    CHECK(difference(take_gradients(list), expected) < 1e-12);
  }
  early_sums const once{list};
  early_sums const again{list};
  backward(model(x));
  CHECK(unsummed() == of_backward);
  CHECK(take_gradients(list) == expected);
}

/// With fewer rows than the batch has, of which a process may have none.
template<Layout L>
void check_counted() {
  auto& m      = processes<typename L::mesh_type>();
  auto const x = random_normal<double, L, some, in>(m, {.seed = 3});
  net<L> model{m};
  auto const list = model.parameters();
  counted<some> const guard{m, 17};
  backward(model(x));
  auto const expected = take_gradients(list);
  for (auto const wait : {wait_for_sums::at_the_end, wait_for_sums::at_once}) {
    early_sums const early{list, wait};
    backward(model(x));
    list.for_each([](auto const& w) { CHECK(w.slot().unreduced == 0); });
    CHECK(difference(take_gradients(list), expected) < 1e-12);
  }
}

/// A `backward` that comes before the step adds to what was summed. One that fails leaves sums on their way,
/// which the next discards.
template<Layout L>
void check_further_terms() {
  auto& m      = processes<typename L::mesh_type>();
  auto const x = random_normal<double, L, batch, in>(m, {.seed = 3});
  net<L> model{m};
  parameter<double, L, classes> unused{m};
  auto const list      = parameters(model, unused);
  auto const gradients = [&list] { return take_gradients(list); };
  backward(model(x));
  auto const once = gradients();
  backward(model(x));
  backward(model(2.0 * x));
  auto const twice = gradients();

  early_sums const early{list};
  backward(model(x));
  list.for_each([](auto const& w) { CHECK(w.slot().unreduced == 0); });
  CHECK(difference(gradients(), once) < 1e-12);
  backward(model(x));
  backward(model(2.0 * x));
  CHECK(difference(gradients(), twice) < 1e-12);
  auto changed    = copy(x);
  auto const loss = model(changed);
  *changed.data_to_write() += 1;
  CHECK_THROWS_AS(backward(loss), software_error);
  zero_gradients(list);
  backward(model(x));
  CHECK(difference(gradients(), once) < 1e-12);
}

template<Layout L>
void check_all() {
  check_overlap<L>();
  check_further_terms<L>();
  check_two<L>();
  check_values<L>();
  check_counted<L>();
  check_threads<L>();
  check_price<L, training{sums::early}>();
  check_price<L, training{sums::early, true, 0.5}>();
  check_price<L, training{sums::at_once}>();
}

}  // namespace

namespace {

template<int K>
struct stages : axis<K> {};
template<int K, int R>
struct line : mesh<stages<K>, rows<R>> {};
struct quarter : dim<6> {};
struct width : dim<72> {};
struct inner : dim<96> {};
/// Stages, each of two processes that share the batch.
struct piped : layout<line<2, 2>, staged<stages<2>>, split<batch, rows<2>>, split<quarter, rows<2>>> {};

template<Layout L>
struct block {
  nn::linear<double, L, width, inner> up;
  nn::linear<double, L, inner, width> down;
  constexpr explicit block(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}} {}
  constexpr auto operator()(auto const& x) const { return x + down(tanh(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

/// A stage's sums begin in the backward pass of its last micro-batch.
struct pipeline_training {
  sums when = sums::in_the_step;

  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    static_cast<void>(run<L>(m));
  }
  template<Layout L>
  constexpr auto run(machine<L>& m) const {
    nn::stack<block<L>, 4> net{m};
    auto const list = parameters(net);
    if (when == sums::in_the_step) return steps<L>(m, net, list);
    early_sums const early{list, when == sums::early ? wait_for_sums::at_the_end : wait_for_sums::at_once};
    return steps<L>(m, net, list);
  }
  template<Layout L>
  constexpr auto steps(machine<L>& m, auto& net, auto const& list) const {
    auto const x    = random_normal<double, L, batch, width>(m, {.seed = 3});
    auto const step = [&] {
      auto const loss = accumulate<4>(
          m, [&](extent k) { return mean(square(net(micro_batch<batch, quarter>(x, k)))) / 4; });
      sgd{0.1}.step(list);
      return loss;
    };
    static_cast<void>(step());
    return step();
  }
};

void check_pipeline() {
  auto& m            = processes<line<2, 2>>();
  auto const loss    = [&m](sums when) { return pipeline_training{when}.run<piped>(m).value(); };
  double const early = loss(sums::early);
  CHECK(early == loss(sums::at_once));
  CHECK(std::abs(early - loss(sums::in_the_step)) < 1e-12);
  static constexpr auto promised = dry_run<piped>(pipeline_training{sums::early});
  // the first stage ends last. It hides what its own calls say, and the last one sends it the gradient before
  // its sums have ended
  static constexpr auto at_once = dry_run<piped>(pipeline_training{sums::at_once});
  constexpr double gain         = at_once.time().total() - promised.time().total();
  constexpr double expected     = promised.stage(0).time().hidden + [] {
    double seconds = 0;
    for (collective_call const& call : promised.stage(1).collectives())
      if (!call.until.is_nothing()) seconds += cost<line<2, 2>>::seconds_of(call, machine_model{});
    return seconds;
  }();
  static_assert(gain > 0.99 * expected && gain < 1.01 * expected);  // copies from a shared message
  auto const counted = recorded<piped>(m, pipeline_training{sums::early});
  auto const stage   = static_cast<int>(m.coordinate<stages<2>>());
  CHECK(counted == promised.stage(stage));
  // each step the sums of a stage, and the loss, which the last stage computes from those of micro-batches
  CHECK(counted.calls<collective::all_reduce>() == (stage == 0 ? 12 : 20));
}

}  // namespace

TEST_CASE("sums that begin in the backward pass give the gradients of the step") {
  switch (communicator{}.size()) {
    case 1: check_all<both<1>>(); break;
    case 2: check_all<both<2>>(); break;
    case 3: check_all<both<3>>(); break;
    case 4:
      check_all<both<4>>();
      check_all<both<2, 2>>();
      check_pipeline();
      break;
    default: break;
  }
}
