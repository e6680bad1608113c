// weights_in_file in micro-batches, on stages, padded, and in mixed precision: the bits of weights in memory,
// at the promised price and a lower peak.
// test: program pipeline
#include <cstddef>
#include <string_view>
#include <vector>

#include "on_stages.hpp"
#include "program.hpp"

namespace {

using namespace pipelines;
using quarter = part<4>;

struct in : dim<96> {};
struct uneven : dim<161> {};

/// The processes of a stage share each micro-batch, or have parts of `uneven` that are not equal.
template<int K, int R, int C = 1>
struct on_stages : layout<grid<K, R, C>, staged<stages<K>>, split<batch, rows<R>>, split<quarter, rows<R>>,
                          padded<uneven, cols<C>>> {};
template<int R, int C>
struct together
    : layout<grid<1, R, C>, split<batch, rows<R>>, split<quarter, rows<R>>, padded<uneven, cols<C>>> {};

template<Layout L, class T>
struct residual_block {
  nn::linear<T, L, in, uneven> up;
  nn::linear<T, L, uneven, in> down;

  constexpr residual_block(machine<L>& m, std::uint64_t seed)
      : up{m, normal{seed, 0.2}}, down{m, normal{seed + 1, 0.2}} {}
  template<class X>
  constexpr auto operator()(X const& x) const {
    return x + down(tanh(up(x)));
  }
  constexpr auto parameters() { return meshtf::parameters(up, down); }
};

enum class weights { in_memory, in_file, in_file_recomputed };

/// Steps of four micro-batches, the last of which updates the parameters in its backward pass. Weights have
/// elements T, activations E.
template<Layout L, class T, class E>
struct file_training {
  static constexpr int depth = 4;

  machine<L>* m;
  weights where;
  std::vector<residual_block<L, T>> net;
  adamw opt{0.05};
  weights_in_file<machine<L>> file;

  constexpr file_training(machine<L>& on, weights w) : m{&on}, where{w}, file{on} {
    on.spill_from(1);
    opt.spill_state = where != weights::in_memory;
    net.reserve(depth);
    for (int i = 0; i < depth; ++i) {
      at_stage<L> const here{on, nn::stage_of<L>(i, depth)};
      net.emplace_back(on, static_cast<std::uint64_t>(2 * i + 1));
      if (where != weights::in_memory) file.send_away(net.back());
    }
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto const x = random_normal<E, L, batch, in>(*m, {.seed = 21});
    return accumulate<4>(
        *m,
        [&](extent k) {
          auto h = micro_batch<batch, quarter>(x, k);
          for (int i = 0; i < depth; ++i) {
            h         = hand_on(h, nn::stage_of<L>(i, depth));
            auto next = called(net[static_cast<std::size_t>(i)], h);
            h         = std::move(next);
          }
          return mean(square(cast<T>(h))) / T{4};
        },
        opt, parameters(net));
  }

private:
  constexpr auto called(residual_block<L, T>& b, tensor<E, L, quarter, in> const& x) {
    using result         = tensor<E, L, quarter, in>;
    auto const from_file = [this, &b](auto const& y) { return file(b, y); };
    switch (where) {
      case weights::in_file: return result{from_file(x)};
      case weights::in_file_recomputed: return result{recompute(from_file, x)};
      case weights::in_memory: break;
    }
    return result{b(x)};
  }
};

template<class T, class E, weights Where, int Steps = 3>
struct steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    file_training<L, T, E> t{m, Where};
    for (int i = 0; i < Steps; ++i) auto const loss = t.step();
  }
};

// each micro-batch reads the weights forward and backward, the last one writes them; and the two arrays that
// adamw keeps of each are read and written
using one_process = together<1, 1>;
template<int Steps>
inline constexpr extent spilled =
    dry_run<one_process>(steps<double, double, weights::in_file, Steps>{}).bytes_spilled();
inline constexpr extent bytes_of_weights = file_training<one_process, double, double>::depth *
                                           extent{sizeof(double)} *
                                           (2 * in::size * uneven::size + in::size + uneven::size);
static_assert(spilled<3> - spilled<2> == (2 * 4 + 1 + 2 * 2) * bytes_of_weights);

template<class T, class E, Layout L>
auto outcome(process_mesh<typename L::mesh_type>& m, weights where) {
  file_training<L, T, E> t{m, where};
  std::vector<T> all;
  for (int i = 0; i < 3; ++i) {
    auto const loss = t.step();
    all.push_back(loss.value());
  }
  parameters(t.net).for_each([&all](auto& w) {
    if (w.handle()->is_absent()) return;
    auto const own = w.local();
    all.insert(all.end(), own.begin(), own.end());
  });
  return all;
}

// One stage takes as long as without stages, where it waits for the file and where it does not.
template<class L>
constexpr auto price = dry_run<L>(steps<double, double, weights::in_file>{});
constexpr bool is_near(double a, double b) { return a < 1.001 * b && b < 1.001 * a; }
constexpr machine_model slow_file{.file_bytes_per_second = 1e6};
static_assert(is_near(price<on_stages<1, 1>>.time().total(), price<one_process>.time().total()));
static_assert(is_near(price<on_stages<1, 1>>.time(slow_file).total(),
                      price<one_process>.time(slow_file).total()));
static_assert(price<on_stages<1, 1>>.time(slow_file).waited() > 0);
// ... and two stages wait for the one with most bytes
static_assert(is_near(price<on_stages<2, 1>>.time(slow_file).total(),
                      static_cast<double>(price<on_stages<2, 1>>.bytes_spilled()) / 1e6));

template<weights Where, Layout L, class T = double, class E = T>
void check(std::string_view name) {
  INFO(name);
  auto& m         = processes<typename L::mesh_type>();
  bool const same = outcome<T, E, L>(m, Where) == outcome<T, E, L>(m, weights::in_memory);
  CHECK(same);
  using in_file   = steps<T, E, Where>;
  using in_memory = steps<T, E, weights::in_memory>;
  if constexpr (is_staged<L>) {
    expect_price<L, in_file>(m);
    for (std::size_t k = 0; k < promised<L, in_file>.size(); ++k)
      CHECK(promised<L, in_file>[k].peak < promised<L, in_memory>[k].peak);
  } else {
    static constexpr auto own = dry_run<L>(in_file{});
    CHECK(recorded<L>(m, in_file{}) == own);
    static_assert(own.peak_bytes() < dry_run<L>(in_memory{}).peak_bytes());
  }
}

}  // namespace

TEST_CASE("weights in the file have the bits of weights in memory in micro-batches, padded and on stages") {
  switch (communicator{}.size()) {
    case 1:
      check<weights::in_file, one_process>("micro-batches");
      check<weights::in_file, on_stages<1, 1>, float, bfloat16>("one stage, mixed precision");
      break;
    case 2:
      check<weights::in_file, on_stages<2, 1>>("two stages");
      check<weights::in_file_recomputed, on_stages<2, 1>>("two stages, recomputed");
      break;
    case 4:
      check<weights::in_file, together<2, 2>>("padded");
      check<weights::in_file, on_stages<2, 2>>("two stages of two processes each");
      check<weights::in_file, on_stages<2, 1, 2>, float, bfloat16>("two stages, padded, mixed precision");
      break;
    default: break;
  }
}
