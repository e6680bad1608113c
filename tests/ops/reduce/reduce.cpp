// Sums, maxima, softmax and cross entropy along dimensions that are split and that are whole, under every
// layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// Class numbers that are the same under every layout.
template<class Class, class L, class... D>
constexpr auto labels(machine<L>& m, std::uint64_t seed) {
  return argmax<Class>(random_normal<double, L, Class, D...>(m, {.seed = seed}));
}

}  // namespace

TEST_CASE("sum, mean, max, argmax and softmax of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 6}, {4, 9, 5}});
  backward(sum(max<trio>(x)));
  CHECK(numbers_of(sum<trio>(x)) == list{9, 18});
  CHECK(numbers_of(sum<duo>(x)) == list{5, 11, 11});
  CHECK(numbers_of(mean<trio>(x)) == list{3, 6});
  CHECK(numbers_of(max<trio>(x)) == list{6, 9});
  CHECK(slopes_of(x) == list{0, 0, 1, 0, 1, 0});
  CHECK(numbers_of(argmax<trio>(x)) == list{2, 1});
  CHECK(rounded(numbers_of(softmax<duo>(literal<duo>({0, std::log(3.0)})))) == list{0.25, 0.75});
}

TEST_CASE("sum over one, several and all dimensions: nothing to reduce") {
  check_operation<shape<batch, in, hidden>>([](auto const& x) {
    return std::tuple{sum<hidden>(x),     sum<batch>(x),         sum<in>(x),
                      sum<in, hidden>(x), sum<hidden, batch>(x), sum(x)};
  });
}

TEST_CASE("mean over one, several and all dimensions") {
  check_operation<shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{mean<hidden>(x), mean<batch>(x), mean(x)}; });
}

TEST_CASE("max over one and all dimensions") {
  check_operation<shape<batch, in, hidden>>(
      [](auto const& x) { return std::tuple{max<hidden>(x), max<batch, in>(x), max(x)}; });
}

TEST_CASE("max and softmax of negative numbers, of which a process may hold none") {
  check_operation<drawn{.mean = -100}, shape<batch, hidden>>([](auto const& x) {
    return std::tuple{max<hidden>(x), max<batch>(x), max(x), softmax<hidden>(x * 10)};
  });
}

TEST_CASE("max gives its gradient to all elements that have it") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, constant{3}};
    auto const of_rows = max<hidden>(x);
    auto const of_all  = max(x);
    auto const total   = sum(of_rows);
    auto const loss    = total + of_all;
    backward(loss);
    see(of_rows);
    see(finish(gradient(x)));  // 1 + 1 everywhere
  });
}

TEST_CASE("softmax and log_softmax along dimensions split and whole") {
  check_operation<shape<batch, hidden>>([](auto const& x) {
    return std::tuple{softmax<hidden>(x), softmax<batch>(x), softmax<batch, hidden>(x),
                      log_softmax<hidden>(x), log_softmax<batch>(x)};
  });
}

TEST_CASE("softmax of huge logits") {
  auto const f = [](auto const& x) {
    return std::tuple{softmax<hidden>(x), log_softmax<hidden>(x), max<hidden>(x)};
  };
  check_program(operation<double, decltype(f), drawn{100, 700}, shape<batch, hidden>>{});
}

TEST_CASE("softmax cross entropy, the classes the last dimension, the first and alone") {
  check_operation<shape<batch, vocab>, shape<vocab, length>, shape<vocab>>(
      [](auto const& x, auto const& y, auto const& z) {
        using L = typename std::remove_cvref_t<decltype(x)>::layout_type;
        auto& m = x.machine();
        return std::tuple{softmax_cross_entropy<vocab>(x, labels<vocab, L, batch>(m, 5)),
                          softmax_cross_entropy<vocab>(y, labels<vocab, L, length>(m, 6)),
                          softmax_cross_entropy<vocab>(z, labels<vocab, L>(m, 7))};
      });
}

TEST_CASE("softmax cross entropy of huge logits") {
  auto const f = [](auto const& x) {
    using L = typename std::remove_cvref_t<decltype(x)>::layout_type;
    return softmax_cross_entropy<vocab>(x, labels<vocab, L, batch>(x.machine(), 5));
  };
  check_program(operation<double, decltype(f), drawn{-100, 700}, shape<batch, vocab>>{});
}

TEST_CASE("argmax: the index in the whole, and the first of several") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, hidden>(m, {.seed = 3});
    see(argmax<hidden>(x));
    see(argmax<batch>(x));
    auto const few = cast<double>(cast<int>(x));  // -2 to 2: many are equal
    see(few);
    see(argmax<hidden>(few));
    see(argmax<batch>(few));
    see(argmax<hidden>(few * 0));
  });
}

TEST_CASE("reductions in single precision") {
  check_operation_in_float<shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{mean<batch>(x), softmax<hidden>(x), log_softmax<hidden>(x)}; });
}
