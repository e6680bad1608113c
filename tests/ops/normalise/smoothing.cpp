// Label smoothing and z-loss of softmax_cross_entropy, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

template<class Class, class L, class... D>
constexpr auto labels(machine<L>& m, std::uint64_t seed) {
  return argmax<Class>(random_normal<double, L, Class, D...>(m, {.seed = seed}));
}

}  // namespace

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
