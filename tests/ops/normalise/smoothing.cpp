// Label smoothing and z-loss of softmax_cross_entropy, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

template<class Class, class L, class... D>
constexpr auto labels(machine<L>& m, std::uint64_t seed) {
  return argmax<Class>(random_normal<double, L, Class, D...>(m, {.seed = seed}));
}

}  // namespace

TEST_CASE("cross entropy of literal numbers, with label smoothing and with z-loss") {
  if (!on_one_process()) return;
  auto const x = literal<duo, key>({{0, std::log(3.0)}, {0, 0}});  // probabilities 1/4, 3/4; 1/2, 1/2
  auto const y = integers<duo>({1, 0});
  auto const z = softmax_cross_entropy<key>(x, y);
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{0.2877, 0.6931});
  CHECK(rounded(slopes_of(x)) == list{0.25, -0.25, -0.5, 0.5});
  CHECK(rounded(numbers_of(softmax_cross_entropy<key>(x, y, {.label_smoothing = 0.5}))) ==
        list{0.5623, 0.6931});
  CHECK(rounded(numbers_of(softmax_cross_entropy<key>(x, y, {.z_loss = 1}))) == list{2.2095, 1.1736});
}

TEST_CASE("cross entropy with label smoothing, with z-loss and with both") {
  check_operation<shape<batch, vocab>>([](auto const& x) {
    using L      = typename std::remove_cvref_t<decltype(x)>::layout_type;
    auto const y = labels<vocab, L, batch>(x.machine(), 5);
    return std::tuple{softmax_cross_entropy<vocab>(x, y, {.label_smoothing = 0.1}),
                      softmax_cross_entropy<vocab>(x, y, {.z_loss = 0.01}),
                      softmax_cross_entropy<vocab>(x, y, {.label_smoothing = 0.2, .z_loss = 0.1}),
                      softmax_cross_entropy<vocab>(x, y)};
  });
}

TEST_CASE(
    "label smoothing is the mean over the smoothed targets; z-loss adds the square of the log of the sum") {
  auto& m      = processes<single>();
  auto const x = random_normal<double, alone, batch, vocab>(m, {.seed = 1}, 0.3, 2);
  auto const y = labels<vocab, alone, batch>(m, 5);
  auto const z = softmax_cross_entropy<vocab>(x, y, {.label_smoothing = 0.1, .z_loss = 1e-2});
  for (extent i = 0; i < batch::size; ++i) {
    double const* const row = x.data() + i * vocab::size;
    double sum              = 0;
    for (extent j = 0; j < vocab::size; ++j) sum += std::exp(row[j]);
    double expected = 1e-2 * std::log(sum) * std::log(sum);
    for (extent j = 0; j < vocab::size; ++j)
      expected -= ((j == y.data()[i] ? 0.9 : 0.0) + 0.1 / static_cast<double>(vocab::size)) *
                  (row[j] - std::log(sum));
    CHECK(std::abs(z.data()[i] - expected) <= 1e-12 * std::abs(expected));
  }
}
