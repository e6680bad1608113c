// Rows of every length, elements side by side and apart: norms, rows with a bias, and dropout against plain
// loops.
#include <cmath>
#include <random>
#include <vector>

#include <meshtf/kernel/bias.hpp>
#include <meshtf/kernel/norm.hpp>
#include <meshtf/kernel/random.hpp>

#include "catch.hpp"

using namespace meshtf;

namespace {

template<class T>
std::vector<T> drawn(extent n, unsigned seed, double mean = 0) {
  std::mt19937 bits{seed};
  std::normal_distribution<double> normal{mean, 1};
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = static_cast<T>(normal(bits));
  return v;
}

template<class T>
void near(std::vector<T> const& found, std::vector<double> const& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  double scale = 1;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  CHECK(worst <= (NarrowElement<T> ? 0x1p-8 : std::is_same_v<T, float> ? 1e-5 : 1e-13) * scale);
}

/// The truth, in double.
struct norm_by_loops {
  std::vector<double> sum;
  std::vector<double> mean;
  std::vector<double> rstd;
  std::vector<double> z;
  std::vector<double> dx;
  std::vector<double> dscale;
  std::vector<double> dbias;

  template<class T>
  norm_by_loops(norm_steps const& s, double epsilon, std::vector<T> const& x, std::vector<T> const& added,
                std::vector<computed<T>> const& scale, std::vector<computed<T>> const& bias,
                std::vector<T> const& dz, std::vector<T> const& before)
      : sum(x.size()),
        mean(static_cast<std::size_t>(s.rows())),
        rstd(mean),
        z(x.size()),
        dx(x.size()),
        dscale(scale.size()),
        dbias(scale.size()) {
    extent const n     = s.lines.along;
    extent const inner = s.lines.inner;
    auto const size    = static_cast<double>(n);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum[i] = static_cast<double>(added.empty() ? x[i] : x[i] + added[i]);
    for (extent r = 0; r < s.rows(); ++r) {
      auto const row = static_cast<std::size_t>(r);
      auto const at  = [&](extent i) {
        return static_cast<std::size_t>((r / inner * n + i) * inner + r % inner);
      };
      double m = 0;
      double v = 0;
      double g = 0;
      double p = 0;
      for (extent i = 0; i < n; ++i) m += s.centred ? sum[at(i)] / size : 0;
      for (extent i = 0; i < n; ++i) v += (sum[at(i)] - m) * (sum[at(i)] - m) / size;
      double const k = 1 / std::sqrt(v + epsilon);
      mean[row]      = m;
      rstd[row]      = k;
      for (extent i = 0; i < n; ++i) {
        auto const j   = static_cast<std::size_t>(i);
        double const y = (sum[at(i)] - m) * k;
        double const d = static_cast<double>(dz[at(i)]);
        double const c = static_cast<double>(scale[j]);
        z[at(i)]       = y * c + (s.centred ? static_cast<double>(bias[j]) : 0);
        g += s.centred ? d * c / size : 0;
        p += d * c * y / size;
        dscale[j] += d * y;
        dbias[j] += d;
      }
      for (extent i = 0; i < n; ++i) {
        double const y = (sum[at(i)] - m) * k;
        double const d =
            static_cast<double>(dz[at(i)]) * static_cast<double>(scale[static_cast<std::size_t>(i)]);
        dx[at(i)] = k * (d - g - y * p) + static_cast<double>(before[at(i)]);
      }
    }
  }
};

template<class T>
void check_norm(norm_steps const& s, bool adds) {
  INFO("rows " << s.lines.outer << " x " << s.lines.inner << ", length " << s.lines.along
               << (s.centred ? ", centred" : "") << (adds ? ", adds" : ""));
  using C           = computed<T>;
  extent const n    = s.lines.along;
  auto const x      = drawn<T>(s.elements(), 1, 3);
  auto const added  = drawn<T>(adds ? s.elements() : 0, 2);
  auto const scale  = drawn<C>(n, 3, 1);
  auto const bias   = drawn<C>(n, 4);
  auto const dz     = drawn<T>(s.elements(), 5);
  auto const before = drawn<T>(s.elements(), 6);
  norm_by_loops const truth{s, 1e-5, x, added, scale, bias, dz, before};

  std::vector<T> sum(x);
  std::vector<T> z(x.size());
  std::vector<T> dx(before);
  std::vector<C> mean(static_cast<std::size_t>(s.rows()));
  std::vector<C> rstd(mean);
  std::vector<C> dscale(scale.size());
  std::vector<C> dbias(scale.size());
  norm_arrays<T> arrays{.x     = x.data(),
                        .scale = scale.data(),
                        .bias  = bias.data(),
                        .mean  = mean.data(),
                        .rstd  = rstd.data(),
                        .z     = z.data()};
  if (adds) {
    arrays.added = added.data();
    arrays.sum   = sum.data();
  }
  norm_gradient_arrays<T> gradient{.x      = sum.data(),
                                   .mean   = mean.data(),
                                   .rstd   = rstd.data(),
                                   .scale  = scale.data(),
                                   .dz     = dz.data(),
                                   .before = dx.data(),
                                   .dx     = dx.data(),
                                   .dscale = dscale.data(),
                                   .dbias  = dbias.data()};
  norm_wishes const wants{true, true, true, true};
  std::vector<C> const none(scale.size());
  auto const check = [&] {
    near(sum, truth.sum), near(z, truth.z), near(rstd, truth.rstd), near(dx, truth.dx),
        near(dscale, truth.dscale), near(dbias, truth.dbias);
    if (s.centred) near(mean, truth.mean);
  };

  kernel::normalise(s, 1e-5, arrays);
  kernel::norm_gradient(s, wants, gradient);
  check();

  // the same in the two steps between which parts of rows are added up
  dx     = before;
  dscale = dbias = none;
  std::vector<double> moments(static_cast<std::size_t>(s.numbers()));
  std::vector<C> sums(moments.size());
  kernel::row_moments(s, arrays, moments.data());
  kernel::normalise_by(s, 1e-5, moments.data(), arrays);
  kernel::norm_gradient_sums(s, wants, gradient, sums.data());
  kernel::norm_gradient_by(s, sums.data(), gradient);
  check();
}

}  // namespace

TEMPLATE_TEST_CASE("norms of rows of every length", "", float, double, bfloat16) {
  for (extent const n : {6, 7, 16, 33, 64, 100, 271})
    for (extent const inner : {1, 3})
      for (bool const centred : {true, false})
        check_norm<TestType>({contiguous_lines(5, n, inner), centred}, n % 2 == 0);
}

TEMPLATE_TEST_CASE("rows that share a bias, and their sum", "", float, double, bfloat16) {
  auto const f = [](auto const& dz, auto const& x, auto const& b) { return dz * (x + b); };
  for (extent const rows : {1, 4, 6, 9})
    for (extent const n : {1, 8, 37}) {
      auto const dz = drawn<TestType>(rows * n, 1);
      auto const x  = drawn<TestType>(rows * n, 2);
      auto const b  = drawn<TestType>(n, 3);
      std::vector<TestType> z(x.size());
      std::vector<computed<TestType>> total(b.size());
      kernel::map_rows_and_sum(rows, n, n, f, dz.data(), x.data(), b.data(), z.data(), total.data());
      std::vector<double> all(x.size());
      std::vector<double> sum(b.size());
      auto const wide = [](TestType v) { return static_cast<computed<TestType>>(v); };
      for (std::size_t i = 0; i < x.size(); ++i)
        sum[i % b.size()] += all[i] = static_cast<double>(f(wide(dz[i]), wide(x[i]), wide(b[i % b.size()])));
      near(z, all);
      near(total, sum);
    }
}

TEST_CASE("an element is dropped or kept by its index, wherever a run begins and ends") {
  philox const random{1, 2};
  extent const n = 300;
  std::vector<double> const x(static_cast<std::size_t>(n), 1.0);
  std::vector<double> whole(x.size());
  std::vector<double> parts(x.size());
  kernel::drop(random, 0, n, std::uint64_t{1} << 31, 2.0, x.data(), whole.data());
  for (extent first = 0, length = 1; first < n; first += length, length = length * 2 % 101)
    kernel::drop(random, first, std::min(length, n - first), std::uint64_t{1} << 31, 2.0, x.data(),
                 parts.data() + first);
  CHECK(parts == whole);
}
