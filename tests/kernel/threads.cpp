// Every kernel has the same bits on 1, 2, 3 and 4 threads, and they are those of a plain loop as far as that
// can be.
#include "../catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include <meshtf/kernel/kernels.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/ops/pointwise.hpp>

#include "same_bits.hpp"

using namespace meshtf;

namespace {

/// x and y of these dimensions, joined to a z of those in `z`; a loop number in place of each dimension.
nest_steps nest(std::vector<extent> const& loops, std::initializer_list<dim_list> operands) {
  return plan_nest(loops, std::vector<dim_list>(operands));
}
dim_list dims(std::initializer_list<int> numbers) {
  dim_list list;
  for (int d : numbers) list.push_back(d);
  return list;
}

struct marked {
  static constexpr bool parallel = true;
  double operator()(double x) const { return x * x; }
};

/// The caller's thread does not go on before another one has come, or some seconds have passed.
struct marked_and_waiting : marked {
  std::atomic<bool>* others;
  pthread_t caller = pthread_self();
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);

  explicit marked_and_waiting(std::atomic<bool>& came) : others(&came) {}
  double operator()(double x) const {
    if (pthread_equal(caller, pthread_self()) == 0) *others = true;
    while (!*others && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return x * x;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("maps have the same bits on any number of threads", "", float, double, bfloat16) {
  using T        = TestType;
  auto const x   = drawn<T>(300 * 40 * 33, 1);
  auto const y   = drawn<T>(300 * 33, 2);
  auto const row = drawn<T>(33, 3);
  for (auto const& [steps, other] :
       {std::pair{nest({300 * 40 * 33}, {dims({0}), dims({0}), dims({0})}), &x},
        std::pair{nest({300, 40, 33}, {dims({0, 1, 2}), dims({0, 2}), dims({0, 1, 2})}), &y},
        std::pair{nest({300, 40, 33}, {dims({0, 1, 2}), dims({2}), dims({2, 1, 0})}), &row},
        std::pair{nest({3, 4000, 33}, {dims({0, 1, 2}), dims({2}), dims({1, 0, 2})}), &row}}) {
    auto const z      = on_all_threads([&] {
      std::vector<T> made(x.size());
      kernel::map_nest(steps, function::times{}, made.data(), x.data(), other->data());
      return made;
    });
    std::size_t wrong = 0;
    for_each_index<3>(steps.sizes(), steps.stride, {}, [&](auto const& i) {
      using wide = computed<T>;
      wrong += z[at(i[2])] ==
                       static_cast<T>(static_cast<wide>(x[at(i[0])]) * static_cast<wide>((*other)[at(i[1])]))
                   ? std::size_t{0}
                   : std::size_t{1};
    });
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("sums and maxima have the same bits on any number of threads", "", float, double,
                   std::int32_t) {
  using T = TestType;
  auto x  = drawn<T>(300 * 40 * 33, 1);
  if constexpr (std::same_as<T, std::int32_t>)
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 977);
  struct one {
    std::vector<extent> loops;
    dim_list result;
    extent results;
  };
  for (auto const& [loops, result, results] :
       {one{{396000}, dims({}), 1}, one{{396000 - 7}, dims({}), 1}, one{{300, 40, 33}, dims({0}), 300},
        one{{300, 40, 33}, dims({2}), 33}, one{{300, 40, 33}, dims({1, 2}), 40 * 33},
        one{{300, 40, 33}, dims({0, 2}), 300 * 33}, one{{3, 4000, 33}, dims({0}), 3},
        one{{4000, 99}, dims({0}), 4000}, one{{1000, 396}, dims({1}), 396}, one{{90, 4400}, dims({1}), 4400},
        one{{2, 198000}, dims({0}), 2}}) {
    dim_list all;
    for (int d = 0; d < static_cast<int>(loops.size()); ++d) all.push_back(d);
    auto const steps = nest(loops, {all, result});
    INFO(loops.size() << " loops, " << results << " results");
    std::vector<double> sums(at(results));
    std::vector<T> most(at(results), std::numeric_limits<T>::lowest());
    for_each_index<2>(steps.sizes(), steps.stride, {}, [&](auto const& i) {
      sums[at(i[1])] += static_cast<double>(x[at(i[0])]);
      most[at(i[1])] = std::max(most[at(i[1])], x[at(i[0])]);
    });
    auto const found = on_all_threads([&] {
      std::vector<T> z(at(results), T{99});
      kernel::reduce_nest<reduction::sum>(steps, function::identity{}, z.data(), x.data());
      return z;
    });
    double worst     = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
      worst = std::max(worst, std::abs(sums[i] - static_cast<double>(found[i])));
    CHECK(worst <= (std::same_as<T, float> ? 1e-2 : std::same_as<T, double> ? 1e-10 : 0));
    auto const more = on_all_threads([&] {
      std::vector<T> z(at(results), T{2});
      kernel::reduce_nest<reduction::sum, true>(steps, function::identity{}, z.data(), x.data());
      return z;
    });
    worst           = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
      worst = std::max(worst, std::abs(sums[i] + 2 - static_cast<double>(more[i])));
    CHECK(worst <= (std::same_as<T, float> ? 1e-2 : std::same_as<T, double> ? 1e-10 : 0));
    CHECK(on_all_threads([&] {
            std::vector<T> z(at(results));
            kernel::reduce_nest<reduction::max>(steps, function::identity{}, z.data(), x.data());
            return z;
          }) == most);
  }
}

TEST_CASE("a user's function runs on one thread, unless it is marked") {
  kernel::use_threads(4);
  auto const x = drawn<double>(1 << 18, 1);
  std::vector<double> z(x.size());
  auto const row    = nest({1 << 18}, {dims({0}), dims({0})});
  auto const square = nest({512, 512}, {dims({0, 1}), dims({1, 0})});
  for (auto const& steps : {row, square}) {
    int calls  = 0;  // not atomic
    bool alone = true;
    kernel::map_nest(
        steps,
        [&, me = pthread_self()](double v) {
          ++calls;
          alone &= pthread_equal(me, pthread_self()) != 0;
          return v;
        },
        z.data(), x.data());
    CHECK(calls == 1 << 18);
    CHECK(alone);
  }
  CHECK(ParallelFunction<marked>);
  kernel::map_nest(square, marked{}, z.data(), x.data());
  CHECK(z[1] == x[512] * x[512]);
  for (auto const& steps : {row, square}) {
    std::atomic<bool> others = false;
    kernel::map_nest(steps, marked_and_waiting{others}, z.data(), x.data());
    CHECK(others);
  }
  kernel::use_threads(1);
}

TEMPLATE_TEST_CASE("products have the same bits on any number of threads", "", float, double) {
  using T = TestType;
  struct shape_of_product {
    extent m;
    extent n;
    extent k;
  };
  for (auto const& [m, n, k] :
       {shape_of_product{2048, 96, 64}, shape_of_product{300, 203, 129}, shape_of_product{192, 1, 12000},
        shape_of_product{5000, 33, 47}, shape_of_product{64, 512, 512}, shape_of_product{96, 1, 5}})
    for (bool transpose_a : {false, true})
      for (bool transpose_b : {false, true}) {
        INFO(m << " x " << n << " x " << k << (transpose_a ? ", A transposed" : "")
               << (transpose_b ? ", B transposed" : ""));
        auto const a = drawn<T>(m * k, 1);
        auto const b = drawn<T>(k * n, 2);
        for (T beta : {T{0}, T{1}}) {
          auto const c = on_all_threads([&] {
            std::vector<T> made(at(m * n), T{1});
            kernel::gemm(transpose_a, transpose_b, m, n, k, a.data(), transpose_a ? m : k, b.data(),
                         transpose_b ? k : n, beta, made.data(), n);
            return made;
          });
          double worst = 0;
          for (extent i = 0; i < m; i += 37)
            for (extent j = 0; j < n; j += 11) {
              double sum = static_cast<double>(beta);
              for (extent p = 0; p < k; ++p)
                sum += static_cast<double>(a[at(transpose_a ? p * m + i : i * k + p)]) *
                       static_cast<double>(b[at(transpose_b ? j * k + p : p * n + j)]);
              worst = std::max(worst, std::abs(sum - static_cast<double>(c[at(i * n + j)])));
            }
          CHECK(worst <= (std::same_as<T, float> ? 1e-3 : 1e-10));
        }
      }
}

TEST_CASE("products of bfloat16 have the same bits on any number of threads") {
  bool& narrow      = kernel::multiplies_narrow();
  bool const before = narrow;
  for (bool by_library : {false, before}) {
    narrow = by_library;
    for (bool transpose : {false, true}) {
      auto const loops = std::vector<extent>{5, 400, 96, 128};
      auto const steps = transpose
                             ? plan_contraction(loops, dims({0, 3, 1}), dims({0, 2, 3}), dims({0, 1, 2}))
                             : plan_contraction(loops, dims({0, 1, 3}), dims({3, 2}), dims({0, 1, 2}));
      auto const x     = drawn<bfloat16>(5 * 400 * 128, 1);
      auto const y     = drawn<bfloat16>(5 * 96 * 128, 2);
      on_all_threads([&] {
        std::vector<bfloat16> z(5 * 400 * 96);
        std::vector<float> scratch(at(narrow_scratch_of(steps, 2, 4).all()));
        kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
        return z;
      });
    }
  }
  narrow = before;
}

TEST_CASE("many small products have the same bits on any number of threads") {
  std::vector<extent> const loops{60, 48, 40, 33};
  auto const steps = plan_contraction(loops, dims({0, 1, 3}), dims({0, 3, 2}), dims({0, 1, 2}));
  REQUIRE(steps.by_gemm);
  REQUIRE(steps.batch.iterations == 60);
  auto const x = drawn<float>(60 * 48 * 33, 1);
  auto const y = drawn<float>(60 * 40 * 33, 2);
  on_all_threads([&] {
    std::vector<float> z(60 * 48 * 40), scratch(at(steps.scratch));
    kernel::contract(steps, x.data(), y.data(), z.data(), scratch.data());
    return z;
  });
}
