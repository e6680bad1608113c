// A model of the Llama family compared with PyTorch: the same loss and gradients from the same weights. See
// tests/golden/README.md. Then its attention with a cache, token by token.
// test: processes 1 4
#include <cmath>
#include <string>
#include <vector>

#include "../layout_fixture.hpp"

#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/nn/llama.hpp>

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct sequences : dim<3> {};  // two and one
struct length : dim<16> {};
struct step : dim<1> {};
struct prompt : dim<5> {};
struct vocab : dim<32> {};
struct model : dim<16> {};
struct groups : dim<2> {};
struct each : dim<2> {};
struct key : dim<4> {};
struct hidden : dim<24> {};

struct whole : layout<fixture::single> {};
struct by_groups
    : layout<fixture::two_by_two, split<batch, fixture::rows>, padded<sequences, fixture::rows>,
             split<groups, fixture::cols>, split<hidden, fixture::cols>, split<vocab, fixture::cols>> {};
struct by_each
    : layout<fixture::two_by_two, split<batch, fixture::rows>, padded<sequences, fixture::rows>,
             split<each, fixture::cols>, split<hidden, fixture::cols>, split<vocab, fixture::cols>> {};

struct small : nn::llama_dims<length, vocab, model, groups, each, key, hidden> {
  static constexpr int layers = 2;
};

safetensors_reader const& golden() {
  static safetensors_reader const file{MESHTF_TESTS_FOLDER "/golden/llama.safetensors"};
  return file;
}

template<class T, Layout L, class... D>
void take(tensor<T, L, D...>& x, std::string const& name) {
  INFO(name);
  REQUIRE(golden().header().arrays.at(name).extents == std::vector<extent>{D::size...});
  auto const values = golden().read<T>(name);
  xt::xarray<T> all = xt::zeros<T>(std::vector<std::size_t>{static_cast<std::size_t>(D::size)...});
  std::copy(values.begin(), values.end(), all.begin());
  auto const part = from_global<T, L, D...>(x.machine(), all);
  std::copy_n(part.data(), part.size, x.data());
}

template<class X>
double distance(X const& x, std::vector<double> const& expected) {
  auto const all = to_global(x);
  REQUIRE(all.size() == expected.size());
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const difference = std::abs(static_cast<double>(all.flat(i)) - expected[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

template<Layout L>
void check_golden() {
  INFO(name_of<L>());
  auto& m = fixture::processes<typename L::mesh_type>();
  nn::llama<double, L, small> net{m, 1};
  tensor<int, L, batch, length> ids{m};
  tensor<int, L, batch, length> targets{m};
  take(ids, "ids");
  take(targets, "targets");
  net.parameters().for_each_named([](std::string const& name, auto& w) { take(w, "w." + name); });
  auto const scores      = net(ids);
  auto const loss        = mean(softmax_cross_entropy<vocab>(scores, targets));
  double const true_loss = golden().read<double>("loss").at(0);
  CHECK(std::abs(loss.value() - true_loss) <= 1e-12 * true_loss);
  backward(loss);
  int count = 0;
  net.parameters().for_each_named([&](std::string const& name, auto& w) {
    INFO(name);
    ++count;
    CHECK(distance(finish(gradient(w)), golden().read<double>("g." + name)) < 1e-12);
  });
  CHECK(count == 21);
}

/// A prompt at once, then one position after the other: what a cache gives is what the whole sequence gives.
template<Layout L>
void check_cache(extent window) {
  INFO(name_of<L>() << ", window " << window);
  auto& m = fixture::processes<typename L::mesh_type>();
  no_gradient const guard{m};
  nn::streams seeds{3};
  nn::grouped_attention<double, L, length, model, groups, each, key> attends{m, seeds, 0.4, 0.4};
  attends.window   = window;
  auto const x     = random_normal<double, L, sequences, length, model>(m, {.seed = 7});
  auto const all   = to_global(attends(x));
  auto const check = [&](auto const& z, extent first, extent n) {
    auto const part = to_global(z);
    int wrong       = 0;
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        for (std::size_t e = 0; e < 16; ++e)
          wrong += !(std::abs(part(b, i, e) - all(b, static_cast<std::size_t>(first) + i, e)) < 1e-12);
    INFO("positions from " << first << " on");
    CHECK(wrong == 0);
  };
  tensor<double, L, sequences, length, groups, key> keys{m};
  tensor<double, L, sequences, length, groups, key> values{m};
  check(attends.template extend<prompt>(slice<length, prompt>(x, 0), keys, values, 0), 0, prompt::size);
  for (extent i = prompt::size; i < length::size; ++i)
    check(attends.template extend<step>(slice<length, step>(x, i), keys, values, i), i, 1);
  auto const last = slice<length, step>(x, 0);
  CHECK_THROWS_AS(attends.template extend<step>(last, keys, values, length::size), software_error);
}

}  // namespace

TEST_CASE("a Llama's loss and gradients are PyTorch's", "[1]") { check_golden<whole>(); }
TEST_CASE("so they are on a mesh of 2 x 2, with split groups, and with split heads that share keys", "[4]") {
  check_golden<by_groups>();
  check_golden<by_each>();
}

TEST_CASE("attention with a cache is attention of the whole sequence", "[1]") {
  check_cache<whole>(0), check_cache<whole>(6);
}
TEST_CASE("a cache under split groups, split heads that share keys, and a padded batch", "[4]") {
  check_cache<by_groups>(0), check_cache<by_groups>(6);
  check_cache<by_each>(0);
}

#endif
