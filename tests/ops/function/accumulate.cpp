// accumulate: micro-batches have the loss and the gradients of the whole batch, for less memory, and each
// gradient is sent once. Also of bools and padded dimensions.
// test: processes 1 2 4
#include <string_view>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct half : dim<4> {};
struct quarter : dim<2> {};
struct one_process : layout<single> {};
struct by_batch : layout<pair, split<batch, line>, split<half, line>, split<quarter, line>> {};
struct by_both
    : layout<two_by_two, split<batch, rows>, split<half, rows>, split<quarter, rows>, split<hidden, cols>> {};

/// A step over N micro-batches.
template<int N, class Micro>
struct training {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    parameter<double, L, in, hidden> w{m, normal{1}};
    parameter<double, L, hidden, out> v{m, normal{2}};
    sgd opt{0.1};
    auto const x      = random_normal<double, L, batch, in>(m, {3});
    auto const labels = argmax<out>(random_normal<double, L, batch, out>(m, {4}));
    auto const loss   = accumulate<N>([&](extent i) {
      auto const inputs = micro_batch<batch, Micro>(x, i);
      auto const logits = einsum<Micro, out>(square(gelu(einsum<Micro, hidden>(inputs, w))), v);
      return mean(softmax_cross_entropy<out>(logits, micro_batch<batch, Micro>(labels, i))) / N;
    });
    see(loss);
    opt.step(parameters(w, v));
    see(w);
    see(v);
  }
};

template<Layout L>
void check_layout() {
  auto const truth = run<one_process>(training<1, batch>{});
  check_under<L>(training<1, batch>{}, truth, 1e-12);
  check_under<L>(training<2, half>{}, truth, 1e-12);
  check_under<L>(training<4, quarter>{}, truth, 1e-12);
}

/// What the optimizer sends, and the peak.
template<int N, class Micro, class L>
constexpr auto figures() {
  constexpr auto cost = dry_run<L>(shown_to<training<N, Micro>>{});
  extent sent         = 0;
  for (auto const& c : cost.collectives())
    sent += std::string_view{c.site.operation} == "sgd::step" ? c.sent : 0;
  return std::pair{sent, cost.peak_bytes()};
}
static_assert(figures<4, quarter, by_batch>().first == figures<1, batch, by_batch>().first &&
              figures<1, batch, by_batch>().first > 0);
static_assert(figures<4, quarter, by_both>().first == figures<1, batch, by_both>().first);
static_assert(figures<4, quarter, by_both>().second < figures<1, batch, by_both>().second);
static_assert(figures<2, half, one_process>().second < figures<1, batch, one_process>().second);

// ---- bools, integers, and a batch that is not cut evenly

struct many : dim<14> {};
struct seven : dim<7> {};
struct padded_batch : layout<two_by_two, padded<many, rows, cols>, padded<seven, rows, cols>> {};
struct even_batch : layout<pair, split<many, line>, padded<seven, line>> {};
struct by_turn : layout<two_by_two, split<hidden, rows, cols>> {};

template<int N, class Micro>
struct masked {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    parameter<double, L, in, hidden> w{m, normal{1}};
    auto const x      = random_normal<double, L, many, in>(m, {3});
    auto const chosen = less(sum<in>(x), 0.3);
    auto const times  = iota<int, L, many>(m);
    auto const loss   = accumulate<N>([&](extent i) {
      auto const h   = square(einsum<Micro, hidden>(micro_batch<many, Micro>(x, i), w));
      auto const old = cast<double>(micro_batch<many, Micro>(times, i));
      return sum(where(micro_batch<many, Micro>(chosen, i), h, tanh(h)) * old);
    });
    see(loss);
    see(finish(gradient(w)));
    if constexpr (N == 2) {
      see(cast<int>(micro_batch<many, Micro>(chosen, 1)));
      see(micro_batch<many, Micro>(times, 0));
      see(micro_batch<many, Micro>(x, 1));
    }
  }
};

// 14 in 2 parts are 7 and 7, of which no part has 4 and 3 pairs
static_assert(!accepted<reshape_plan<even_batch, shape<seven, detail::turn<2>>, many,
                                     shape<seven, detail::turn<2>>>::verdict>);
static_assert(accepted<reshape_plan<padded_batch, shape<seven, detail::turn<2>>, many,
                                    shape<seven, detail::turn<2>>>::verdict>);

template<Layout L>
void check_masked() {
  check_under<L>(masked<1, many>{}, run<one_process>(masked<1, many>{}), 1e-12);
  check_under<L>(masked<2, seven>{}, run<one_process>(masked<2, seven>{}), 1e-12);
  compare(
      run<one_process>(masked<1, many>{}),
      [] {
        auto all = run<one_process>(masked<2, seven>{});
        all.all.resize(2);
        return all;
      }(),
      1e-12, "two micro-batches");
}

}  // namespace

TEST_CASE("accumulate of literal numbers: two micro-batches") {
  if (!on_one_process()) return;
  auto const x    = literal<quartet>({1, 2, 3, 4});
  auto const w    = literal<>({3});
  auto const loss = accumulate<2>([&](extent i) { return sum(micro_batch<quartet, duo>(x, i) * w); });
  CHECK(loss.value() == 30);
  CHECK(slopes_of(w) == list{10});
  CHECK(slopes_of(x) == list{3, 3, 3, 3});
  CHECK(numbers_of(micro_batch<quartet, duo>(x, 0)) == list{1, 3});
}

TEST_CASE("micro-batches of bools and integers, and of a padded batch", "[4]") {
  check_masked<padded_batch>(), check_masked<by_turn>();
}
TEST_CASE("micro-batches in one process", "[1]") { check_layout<one_process>(); }
TEST_CASE("micro-batches of a split batch", "[2]") { check_layout<by_batch>(); }
TEST_CASE("micro-batches of a split batch and split layers", "[4]") { check_layout<by_both>(); }

TEST_CASE("where no gradients are wanted, accumulate adds up losses", "[1]") {
  auto& m = processes<single>();
  parameter<double, one_process, out> w{m, constant{2}};
  no_gradient const guard{m};
  CHECK(accumulate<3>([&](extent i) { return sum(w) * static_cast<double>(i); }).value() == 16 * 3);
  CHECK(finish(gradient(w)).local()(0) == 0);
}

namespace {

struct seen : up_to<8> {};

/// Micro-batches of `first` and `second` elements: means, or sums that are weighted.
template<bool Weighted>
double loss_of_lengths(extent first, extent second) {
  auto& m      = processes<single>();
  auto const x = iota<double, one_process, seen>(m);
  parameter<double, one_process, seen> const w{m, constant{1}};
  auto const n = [&](extent i) { return i == 0 ? first : second; };
  if constexpr (Weighted)
    return accumulate<2>(
               m,
               [&](extent i) {
                 counted<seen> const guard{m, n(i)};
                 return sum(x * w);
               },
               [&](extent i) {
                 counted<seen> const guard{m, n(i)};
                 return sum(x * 0.0 + 1.0);
               })
        .value();
  else
    return accumulate<2>(m,
                         [&](extent i) {
                           counted<seen> const guard{m, n(i)};
                           return mean(x * w) / 2.0;
                         })
        .value();
}

}  // namespace

TEST_CASE("micro-batches that count differently: refused without weights", "[1]") {
  CHECK(loss_of_lengths<false>(4, 4) == 1.5);
  CHECK_THROWS_AS(loss_of_lengths<false>(2, 6), software_error);
  CHECK(loss_of_lengths<true>(2, 6) == 2.0);  // (0 + 1 + 0 + ... + 5) / 8; the mean of means is 1.5
}
