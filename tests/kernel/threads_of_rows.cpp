// Kernels of rows, lines and heads have the same bits on 1, 2, 3 and 4 threads, which are those of their
// parts where they were tested alone.
#include "same_bits.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/kernel/kernels.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/ops/pointwise.hpp>
#include <meshtf/optim/adam.hpp>

namespace {

place_in_mesh const alone{};

/// All arrays, one after the other.
template<class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> arrays) {
  std::vector<T> all;
  for (auto const& a : arrays) all.insert(all.end(), a.begin(), a.end());
  return all;
}

shard_steps whole_matrix(extent rows, extent columns) {
  shard_steps s{.rank = 2, .elements = rows * columns};
  s.dim[0]   = {.size = rows};
  s.dim[1]   = {.size = columns};
  s.local[0] = rows;
  s.local[1] = columns;
  return s;
}

}  // namespace

TEMPLATE_TEST_CASE("norms have the same bits on any number of threads", "", float, double) {
  using T = TestType;
  for (auto const& lines : {contiguous_lines(700, 131, 1), contiguous_lines(2000, 64, 1),
                            contiguous_lines(9, 500, 13), contiguous_lines(40, 3000, 1)})
    for (bool centred : {true, false})
      for (bool adds : {true, false}) {
        INFO(lines.outer << " x " << lines.along << " x " << lines.inner << (centred ? ", centred" : ""));
        extent const n    = lines.rows() * lines.along;
        auto const x      = drawn<T>(n, 1);
        auto const added  = drawn<T>(n, 2);
        auto const dz     = drawn<T>(n, 3);
        auto const before = drawn<T>(n, 4);
        auto const scale  = drawn<T>(lines.along, 5);
        auto const bias   = drawn<T>(lines.along, 6);
        on_all_threads([&] {
          std::vector<T> sum(x.size()), z(x.size()), mean(at(lines.rows())), rstd(mean), dx(x.size()),
              dscale(scale.size()), dbias(scale.size());
          norm_arrays<T> const arrays{x.data(),    adds ? added.data() : nullptr,
                                      sum.data(),  scale.data(),
                                      bias.data(), mean.data(),
                                      rstd.data(), z.data()};
          norm_gradient_arrays<T> const gradient{x.data(),     mean.data(),   rstd.data(),
                                                 scale.data(), dz.data(),     before.data(),
                                                 dx.data(),    dscale.data(), dbias.data()};
          task::normalise<T>{{centred, adds}, 1e-5}.compute(lines, alone, arrays);
          task::norm_gradient<T>{{centred, {true, true, true, true}}}.compute(lines, alone, gradient);
          auto const once = joined({sum, z, mean, rstd, dx, dscale, dbias});
          std::vector<double> moments(2 * mean.size());
          std::vector<T> sums(2 * mean.size()), only(scale.size());
          task::row_moments<T>{{centred, adds}}.compute(lines, alone, arrays, moments.data());
          task::normalise_by<T>{{centred, adds}, 1e-5}.compute(lines, alone, arrays,
                                                               static_cast<double const*>(moments.data()));
          task::norm_gradient_sums<T>{{centred, {true, true, true, true}}}.compute(lines, alone, gradient,
                                                                                   sums.data());
          task::norm_gradient_by<T>{{centred, {true, true, true, true}}}.compute(
              lines, alone, gradient, static_cast<T const*>(sums.data()));
          auto of_scale   = gradient;
          of_scale.dx     = nullptr;
          of_scale.dbias  = nullptr;
          of_scale.dscale = only.data();
          task::norm_gradient<T>{{centred, {false, true, false, false}}}.compute(lines, alone, of_scale);
          return joined({once, z, mean, rstd, dx, dscale, dbias, sums, only});
        });
      }
}

TEMPLATE_TEST_CASE("attention has the same bits on any number of threads", "", float, double) {
  using T = TestType;
  for (bool causal : {true, false}) {
    // batch 3, length 70, heads 5, depth 24
    task_loops loops;
    for (extent n : {3, 70, 5, 24}) loops.add_dim({.size = n});
    loops.add_dim({.size = 70});
    dim_list q;
    dim_list k;
    dim_list row;
    for (int d : {0, 1, 2, 3}) q.push_back(d);
    for (int d : {0, 4, 2, 3}) k.push_back(d);
    for (int d : {0, 1, 2}) row.push_back(d);
    for (auto const& of : {q, k, k, q, row}) loops.add_array(of);
    loops.along      = {1, 4, 3, 3, -1};  // values are as wide as keys, and nothing depends on distances
    auto const steps = attention_steps::plan(loops, full_extents(loops));
    extent const n   = 3 * 70 * 5 * 24;
    auto const x     = drawn<T>(n, 1);
    auto const y     = drawn<T>(n, 2);
    auto const v     = drawn<T>(n, 3);
    auto const dz    = drawn<T>(n, 4);
    on_all_threads([&] {
      extent const each = std::max(attention_scratch(steps), attention_gradient_scratch(steps));
      std::vector<T> z(x.size()), log_total(3 * 70 * 5), dq(x.size()), dk(x.size()), dv(x.size()),
          scratch(at(kernel::thread_count() * each));
      attention_view const view{.causal = causal};
      attention_arrays<T> const operands{x.data(),         y.data(), v.data(), z.data(),
                                         log_total.data(), nullptr,  nullptr,  nullptr};
      task::attend<T>{view, 0}.compute(steps, alone, operands, scratch.data());
      attention_gradient_arrays<T> const arrays{x.data(),  y.data(),  v.data(),  z.data(), log_total.data(),
                                                dz.data(), dq.data(), dk.data(), dv.data()};
      task::attention_gradient<T>{{true, true, true}, view, 0}.compute(steps, alone, arrays, scratch.data());
      return joined({z, log_total, dq, dk, dv});
    });
  }
}

TEMPLATE_TEST_CASE("updates, copies and rows with a bias have the same bits on any number of threads", "",
                   float, double) {
  using T = TestType;
  for (extent n : {40000, 100003}) {
    auto const w = drawn<T>(n, 1);
    auto const g = drawn<T>(n, 2);
    on_all_threads([&] {
      auto weights = w;
      std::vector<T> mean(w.size(), T(0.1)), squares(w.size(), T(0.2)), ones(w.size()), copied(w.size());
      kernel::transform(n, function::adam_update<T>{0.01, 0.01, 0.9, 0.99, 1e-8, 1.1}, weights.data(),
                        mean.data(), squares.data(), g.data());
      kernel::fill(n, T{1}, ones.data());
      kernel::copy(n, w.data(), copied.data());
      CHECK(copied == w);
      CHECK(ones == std::vector<T>(w.size(), T{1}));
      return joined({weights, mean, squares});
    });
  }
  for (auto const& [rows, n] : {std::pair<extent, extent>{501, 333}, {70, 1000}, {2000, 64}}) {
    auto const dz = drawn<T>(rows * n, 1);
    auto const x  = drawn<T>(rows * n, 2);
    auto const b  = drawn<T>(n, 3);
    on_all_threads([&] {
      std::vector<T> z(x.size()), total(b.size());
      task::map_rows_and_sum<function::gelu_of_sum_gradient, T>{}.compute(
          contiguous_rows(rows, n), alone, dz.data(), x.data(), b.data(), z.data(), total.data());
      return joined({z, total});
    });
  }
}

TEST_CASE("rows by index have the same bits on any number of threads") {
  for (auto const& steps : {contiguous_gather(3000, 1, 50, 100), contiguous_gather(200, 70, 50, 20),
                            contiguous_gather(70000, 1, 50, 1), contiguous_gather(300, 3, 50, 129)}) {
    auto const table = drawn<float>(steps.lines.outer * 50 * steps.lines.inner, 1);
    auto const more  = drawn<float>(steps.elements(), 2);
    std::vector<std::int32_t> ids(at(steps.ids));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 50);
    on_all_threads([&] {
      std::vector<float> rows(more.size());
      std::vector<float> sums = table;
      task::gather_rows<float>{}.compute(steps, alone, table.data(), ids.data(), rows.data());
      task::scatter_rows<float>{}.compute(steps, alone, sums.data(), ids.data(), more.data());
      return joined({rows, sums});
    });
    // an index that names no row is found before anything is copied
    kernel::use_threads(3);
    ids[at(steps.ids - 5)] = 50;
    std::vector<float> rows(more.size(), 7);
    CHECK_THROWS_AS(task::gather_rows<float>{}.compute(steps, alone, table.data(), ids.data(), rows.data()),
                    data_error);
    CHECK(rows == std::vector<float>(more.size(), 7));
    kernel::use_threads(1);
  }
}

TEST_CASE("random values have the same bits on any number of threads") {
  auto const steps = whole_matrix(301, 333);
  auto const x     = drawn<float>(steps.elements, 1);
  on_all_threads([&] {
    std::vector<float> uniform(x.size()), normal(x.size()), dropped(x.size());
    task::draw<float, uniform_distribution>{{.key = {.seed = 1}, .low = 0, .high = 1}}.compute(
        steps, alone, uniform.data());
    task::draw<float, normal_distribution>{{.key = {.seed = 1}, .mean = 0, .stddev = 1}}.compute(
        steps, alone, normal.data());
    task::drop<float>{.key = {.seed = 2}, .rate = 0.3}.compute(steps, alone, x.data(), dropped.data());
    CHECK(uniform[70001] == static_cast<float>(uniform_at({1, 0}, 70001)));
    CHECK(normal[70001] == static_cast<float>(normal_at({1, 0}, 70001)));
    return joined({uniform, normal, dropped});
  });
}

TEST_CASE("running sums and largest elements have the same bits on any number of threads") {
  for (auto const& lines : {contiguous_lines(700, 131, 1), contiguous_lines(1, 400, 205),
                            contiguous_lines(9, 500, 13), contiguous_lines(1, 100000, 1)}) {
    auto const x = drawn<float>(lines.rows() * lines.along, 1);
    for (bool reverse : {false, true})
      on_all_threads([&] {
        std::vector<float> sums(x.size()), best(at(lines.rows())), places(best.size());
        std::vector<std::int32_t> where(best.size());
        task::cumsum<float>{reverse}.compute(cumsum_steps{lines}, alone, x.data(), sums.data());
        task::argmax<float>{}.compute(lines, alone, x.data(), best.data(), where.data());
        std::copy(where.begin(), where.end(), places.begin());
        std::vector<float> products(x.size()), gradient(x.size());
        task::cumprod<float>{reverse}.compute(cumsum_steps{lines}, alone, x.data(), products.data());
        task::cumprod_gradient<float>{reverse}.compute(cumsum_steps{lines}, alone, x.data(), sums.data(),
                                                       gradient.data());
        return joined({sums, best, places, products, gradient});
      });
  }
}
