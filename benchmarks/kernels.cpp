// The local kernels of one process compared with the plain loops that they stand for, built with the same
// flags.
//
// "large" is memory-bound: more than the caches hold. Its last column is the share of the bandwidth that a
// triad (a = b + s c) reaches in the same rounds; both count the arrays alone, each once.
#include "program.hpp"
#include "timing.hpp"

#include <meshtf/meshtf.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using meshtf::extent;
using meshtf::nest_steps;
using meshtf::reduction;
namespace function = meshtf::function;
namespace task     = meshtf::task;
namespace detail   = meshtf::detail;

struct solo : meshtf::axis<1> {};
struct line : meshtf::mesh<solo> {};
struct whole : meshtf::layout<line> {};
using machine = meshtf::process_mesh<line>;

// ---- what a person would write. Extents are arguments, nothing is inlined and nothing is compiled for the
// arguments it gets here, so that no loop knows more than a kernel does.

#ifdef __clang__
#define APART [[gnu::noinline]]
#else
#define APART \
  [[gnu::noipa]]  // not inlined, nor cloned for constants: g++ compiled dropout for its seed and 64 elements
#endif

namespace plain {

template<class F, class Z, class... X>
APART void map(extent n, F f, Z* z, X const*... x) {
  for (extent i = 0; i < n; ++i) z[i] = f(x[i]...);
}
template<class F>
APART void map_rows(extent rows, extent n, F f, float* z, float const* x, float const* b) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = f(x[r * n + i], b[i]);
}
template<class F>
APART void map_columns(extent rows, extent n, F f, float* z, float const* x, float const* b) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = f(x[r * n + i], b[r]);
}
APART void outer_sum(extent rows, extent n, float* z, float const* x, float const* y) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = x[r] + y[i];
}
APART void softmax_gradient(extent rows, extent n, float* z, float const* y, float const* dy,
                            float const* inner) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = y[r * n + i] * (dy[r * n + i] - inner[r]);
}
APART void add_transposed(extent rows, extent n, float* z, float const* x, float const* y) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = x[r * n + i] + y[i * rows + r];
}

/// z[...] = x of any order of three dimensions, `a`, `b`, `c` elements apart in x.
APART void transpose(extent n, extent m, extent k, extent a, extent b, extent c, float* z, float const* x) {
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < m; ++j)
      for (extent l = 0; l < k; ++l) *z++ = x[i * a + j * b + l * c];
}
APART void transpose(extent rows, extent n, float* z, float const* x) {
  for (extent i = 0; i < n; ++i)
    for (extent r = 0; r < rows; ++r) z[i * rows + r] = x[r * n + i];
}

APART void sum_inner(extent rows, extent n, float* z, float const* x) {
  for (extent r = 0; r < rows; ++r) {
    float sum = 0;
    for (extent i = 0; i < n; ++i) sum += x[r * n + i];
    z[r] = sum;
  }
}
APART void dot_inner(extent rows, extent n, float* z, float const* x, float const* y) {
  for (extent r = 0; r < rows; ++r) {
    float sum = 0;
    for (extent i = 0; i < n; ++i) sum += x[r * n + i] * y[r * n + i];
    z[r] = sum;
  }
}
APART void max_inner(extent rows, extent n, float* z, float const* x) {
  for (extent r = 0; r < rows; ++r) {
    float most = x[r * n];
    for (extent i = 1; i < n; ++i) most = std::max(most, x[r * n + i]);
    z[r] = most;
  }
}
/// Over the middle one of three dimensions.
APART void sum_middle(extent outer, extent n, extent inner, float* z, float const* x) {
  for (extent o = 0; o < outer; ++o, z += inner, x += n * inner) {
    for (extent i = 0; i < inner; ++i) z[i] = 0;
    for (extent k = 0; k < n; ++k)
      for (extent i = 0; i < inner; ++i) z[i] += x[k * inner + i];
  }
}

APART void gather(extent ids, extent n, float* z, float const* table, std::int32_t const* index) {
  for (extent i = 0; i < ids; ++i)
    for (extent k = 0; k < n; ++k) z[i * n + k] = table[index[i] * n + k];
}
APART void scatter(extent ids, extent n, float* table, float const* rows, std::int32_t const* index) {
  for (extent i = 0; i < ids; ++i)
    for (extent k = 0; k < n; ++k) table[index[i] * n + k] = rows[i * n + k];
}
APART void scatter_add(extent ids, extent n, float* table, float const* rows, std::int32_t const* index) {
  for (extent i = 0; i < ids; ++i)
    for (extent k = 0; k < n; ++k) table[index[i] * n + k] += rows[i * n + k];
}
APART void pick(extent rows, extent n, float* z, float const* x, std::int32_t const* index) {
  for (extent r = 0; r < rows; ++r) z[r] = x[r * n + index[r]];
}
APART void pick_gradient(extent rows, extent n, float scale, float* dx, float const* dz,
                         std::int32_t const* index) {
  for (extent r = 0; r < rows; ++r) dx[r * n + index[r]] += scale * dz[r];
}
APART void argmax(extent rows, extent n, float const* x, float* best, std::int32_t* where) {
  for (extent r = 0; r < rows; ++r) {
    extent at = 0;
    for (extent i = 1; i < n; ++i)
      if (x[r * n + i] > x[r * n + at]) at = i;
    best[r]  = x[r * n + at];
    where[r] = static_cast<std::int32_t>(at);
  }
}

/// The sums are kept in double, as the library's are: one goes over many elements.
APART void cumsum_rows(extent rows, extent n, float* z, float const* x) {
  for (extent r = 0; r < rows; ++r) {
    double sum = 0;
    for (extent i = 0; i < n; ++i)
      z[r * n + i] = static_cast<float>(sum += static_cast<double>(x[r * n + i]));
  }
}
APART void cumsum_columns(extent rows, extent n, float* z, float const* x) {
  std::vector<double> sums(static_cast<std::size_t>(n));
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i)
      z[r * n + i] =
          static_cast<float>(sums[static_cast<std::size_t>(i)] += static_cast<double>(x[r * n + i]));
}
APART void cumprod_rows(extent rows, extent n, float* z, float const* x) {
  for (extent r = 0; r < rows; ++r) {
    double product = 1;
    for (extent i = 0; i < n; ++i)
      z[r * n + i] = static_cast<float>(product *= static_cast<double>(x[r * n + i]));
  }
}
APART void cumprod_columns(extent rows, extent n, float* z, float const* x) {
  std::vector<double> products(static_cast<std::size_t>(n), 1.0);
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i)
      z[r * n + i] =
          static_cast<float>(products[static_cast<std::size_t>(i)] *= static_cast<double>(x[r * n + i]));
}
/// By the products before each element and a sum from the end, so that nothing is divided.
APART void cumprod_gradient_of_rows(extent rows, extent n, float* dx, float const* x, float const* dz) {
  for (extent r = 0; r < rows; ++r, x += n, dz += n, dx += n) {
    double product = 1;
    double later   = 0;
    for (extent i = 0; i < n; ++i) {
      dx[i] = static_cast<float>(product);
      product *= static_cast<double>(x[i]);
    }
    for (extent i = n; i-- > 0;) {
      double const with = static_cast<double>(dz[i]) + later;
      dx[i]             = static_cast<float>(static_cast<double>(dx[i]) * with);
      later             = static_cast<double>(x[i]) * with;
    }
  }
}
/// The k largest elements of each row and their indices, of equal ones the first.
APART void top_k(extent rows, extent n, extent k, float const* x, float* best, std::int32_t* where) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  for (extent r = 0; r < rows; ++r, x += n) {
    for (extent i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [x](int a, int b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
    for (extent i = 0; i < k; ++i) {
      *where  = order[static_cast<std::size_t>(i)];
      *best++ = x[*where++];
    }
  }
}
APART void sort(extent rows, extent n, float const* x, float* sorted, std::int32_t* where) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  for (extent r = 0; r < rows; ++r, x += n) {
    for (extent i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    std::stable_sort(order.begin(), order.end(), [x](int a, int b) { return x[a] < x[b]; });
    for (std::int32_t const i : order) {
      *where++  = i;
      *sorted++ = x[i];
    }
  }
}
APART void flip(extent rows, extent n, float* z, float const* x) {
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) z[r * n + i] = x[r * n + n - 1 - i];
}
/// z[row + by] = x[row], and zeros before them.
APART void shift(extent outer, extent n, extent inner, extent by, float* z, float const* x) {
  for (extent o = 0; o < outer; ++o, x += n * inner, z += n * inner) {
    for (extent i = 0; i < by * inner; ++i) z[i] = 0;
    for (extent i = 0; i < (n - by) * inner; ++i) z[by * inner + i] = x[i];
  }
}

/// z[o][at + j] = x[o][j] for parts of `m` rows of `inner` elements; z has `n` of them.
APART void write(extent outer, extent n, extent m, extent inner, extent at, float* z, float const* x) {
  for (extent o = 0; o < outer; ++o)
    for (extent i = 0; i < m * inner; ++i) z[(o * n + at) * inner + i] = x[o * m * inner + i];
}
/// The parts one after the other along the middle one of three dimensions, which has `m` of `inner` elements
/// in each.
APART void concat(extent outer, extent m, extent inner, float* z, float const* x, float const* y) {
  for (extent o = 0; o < outer; ++o, x += m * inner, y += m * inner) {
    for (extent i = 0; i < m * inner; ++i) *z++ = x[i];
    for (extent i = 0; i < m * inner; ++i) *z++ = y[i];
  }
}
APART void tile(extent outer, extent copies, extent inner, float* z, float const* x) {
  for (extent o = 0; o < outer; ++o, x += inner)
    for (extent c = 0; c < copies; ++c)
      for (extent i = 0; i < inner; ++i) *z++ = x[i];
}

APART void layer_norm(extent rows, extent n, float* z, float const* x, float const* scale, float const* bias,
                      float* mean, float* rstd) {
  for (extent r = 0; r < rows; ++r) {
    float const* const row = x + r * n;
    float sum              = 0;
    float squares{};
    for (extent i = 0; i < n; ++i) sum += row[i];
    float const middle = sum / static_cast<float>(n);
    for (extent i = 0; i < n; ++i) squares += (row[i] - middle) * (row[i] - middle);
    float const by = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5f);
    for (extent i = 0; i < n; ++i) z[r * n + i] = (row[i] - middle) * by * scale[i] + bias[i];
    mean[r] = middle;
    rstd[r] = by;
  }
}
APART void layer_norm_gradient(extent rows, extent n, meshtf::norm_gradient_arrays<float> const& a) {
  for (extent i = 0; i < n; ++i) a.dscale[i] = a.dbias[i] = 0;
  for (extent r = 0; r < rows; ++r) {
    float const* const x  = a.x + r * n;
    float const* const dz = a.dz + r * n;
    float const mean      = a.mean[r];
    float const rstd      = a.rstd[r];
    float of_g            = 0;
    float of_product      = 0;
    for (extent i = 0; i < n; ++i) {
      float const y = (x[i] - mean) * rstd;
      float const g = dz[i] * a.scale[i];
      of_g += g;
      of_product += g * y;
      a.dscale[i] += dz[i] * y;
      a.dbias[i] += dz[i];
    }
    of_g /= static_cast<float>(n);
    of_product /= static_cast<float>(n);
    for (extent i = 0; i < n; ++i) {
      float const y   = (x[i] - mean) * rstd;
      a.dx[r * n + i] = rstd * (dz[i] * a.scale[i] - of_g - y * of_product);
    }
  }
}
template<class F>
APART void rows_and_sum(extent rows, extent n, F f, float const* dz, float const* x, float const* b, float* z,
                        float* total) {
  for (extent i = 0; i < n; ++i) total[i] = 0;
  for (extent r = 0; r < rows; ++r)
    for (extent i = 0; i < n; ++i) total[i] += z[r * n + i] = f(dz[r * n + i], x[r * n + i], b[i]);
}
APART void drop(meshtf::philox const& random, extent n, std::uint64_t threshold, float scale, float const* x,
                float* z) {
  for (extent block = 0; block < n; block += 64)
    for (extent i = 0; i < 16; ++i) {
      auto const words = random(static_cast<std::uint64_t>(block / 4 + i));
      for (extent w = 0; w < 4; ++w) {
        extent const at = block + w * 16 + i;
        if (at < n) z[at] = words[static_cast<std::size_t>(w)] < threshold ? 0 : scale * x[at];
      }
    }
}

}  // namespace plain

// ---- measuring

struct options {
  int rounds = 21;
  // part: "cache" or "memory" alone
  std::string json;
  std::string only;
  std::string part;
};

class table {
public:
  table(machine& m, options const& o) : m_{m}, options_{o} {
    std::printf("%-58s %12s %12s %7s  %-13s %s\n", "", "loop", "meshtf", "ratio", "quartiles", "of triad");
  }

  ~table() {
    if (b_)
      for (float* p : {a_, b_, c_}) m_.give(p, large);
  }

  using work = std::function<void()>;

  /// One comparison: both leave the same in `n` elements at `z`. `bytes`: of a memory-bound kernel, what it
  /// reads and writes.
  template<class T>
  void row(std::string const& what, extent n, T const* z, work const& by_hand, work const& ours,
           double bytes = 0) {
    if (what.find(options_.only) == what.npos) return;
    by_hand();
    std::vector<T> const expected(z, z + std::min(n, max_compared));
    ours();
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!(std::abs(static_cast<double>(z[i] - expected[i])) <=
            1e-4 * (1 + std::abs(static_cast<double>(expected[i])))))
        throw std::runtime_error{what + ": element " + std::to_string(i) + " is " + std::to_string(z[i]) +
                                 ", by hand " + std::to_string(expected[i])};
    measure(what, by_hand, ours, bytes);
  }

  /// One that changes its arrays as it goes.
  void row(std::string const& what, work const& by_hand, work const& ours, double bytes = 0) {
    if (what.find(options_.only) != what.npos) measure(what, by_hand, ours, bytes);
  }

  /// One JSON array of flat objects, a row a line.
  void write() const {
    if (options_.json.empty()) return;
    std::FILE* const file = std::fopen(options_.json.c_str(), "w");
    if (!file) throw std::runtime_error{"can't write " + options_.json};
    for (std::size_t i = 0; i < rows_.size(); ++i)
      std::fprintf(file, "%s\n  %s", i == 0 ? "[" : ",", rows_[i].c_str());
    bool const written = std::fprintf(file, "\n]\n") > 0;
    if (std::fclose(file) != 0 || !written) throw std::runtime_error{"can't write " + options_.json};
  }

  /// Summary of what stands in the table.
  void end() const {
    std::printf("%d kernels: %d above 1.2 times the loop, %d of %d memory-bound below 0.8 of the triad\n",
                kernels_, slow_, below_triad_, large_);
  }

  static constexpr extent large = extent{1} << 26;  // floats: 256 MiB

  /// Memory that lives as long as the table; both sides get the same.
  float* take(extent n, int seed) {
    auto* const p = m_.take<float>(n);
    // small numbers, and none that is 0
    for (extent i = 0; i < n; ++i)
      p[i] = static_cast<float>((i * 7 + seed * 5) % 23 - 11) * 0.125f + 0.03125f;
    return p;
  }

private:
  static constexpr extent max_compared = 1 << 20;

  static double seconds(work const& f, int repeat) {
    auto const start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeat; ++k) f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeat;
  }

  void measure(std::string const& what, work const& by_hand, work const& ours, double bytes) {
    bench::timing loop{"loop", true, {}};
    bench::timing kernel{"meshtf", false, {}};
    bench::timing triad{"triad", true, {}};
    int repeat = 1;
    if (bytes == 0)
      repeat = static_cast<int>(std::clamp(30e-6 / std::max(seconds(ours, 10), 1e-9), 1.0, 1e5));
    int const rounds = bytes == 0 ? options_.rounds : std::max(3, options_.rounds / 3);
    if (bytes != 0 && !b_) {
      a_ = take(large, 1);
      b_ = take(large, 2);
      c_ = take(large, 3);
    }
    for (int round = 0; round < rounds; ++round) {
      // each first warms what it needs; what is large can't be warm
      auto const sample = [&](work const& f, bench::timing& t) {
        if (bytes == 0) f();
        t.samples.push_back(seconds(f, repeat));
      };
      if (round % 2 == 0) {
        sample(by_hand, loop);
        sample(ours, kernel);
      } else {
        sample(ours, kernel);
        sample(by_hand, loop);
      }
      if (bytes != 0)
        sample([&] { plain::map(large, [](float b, float c) { return b + 3 * c; }, a_, b_, c_); }, triad);
    }
    auto const r = bench::compare(kernel, loop);
    ++kernels_;
    slow_ += r.of_medians > 1.2;
    std::printf("%-58s %9.3f us %9.3f us %7.3f  %.3f-%.3f", what.c_str(), 1e6 * bench::median(loop),
                1e6 * bench::median(kernel), r.of_medians, r.low, r.high);
    char text[400];
    int used = std::snprintf(
        text, sizeof text,
        "{\"what\": \"%s\", \"loop_s\": %.6g, \"median_s\": %.6g, \"ratio\": %.6g, \"ratio_q1\": %.6g, "
        "\"ratio_q3\": %.6g",
        what.c_str(), bench::median(loop), bench::median(kernel), r.of_medians, r.low, r.high);
    if (bytes != 0) {
      double const share =
          bytes / (3.0 * large * sizeof(float)) * bench::median(triad) / bench::median(kernel);
      ++large_;
      below_triad_ += share < 0.8;
      std::printf("   %.2f", share);
      used += std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used),
                            ", \"share_of_triad\": %.6g", share);
    }
    std::printf("%s\n", r.of_medians > 1.2 ? "  <" : "");
    std::fflush(stdout);
    rows_.push_back(std::string{text} + "}");
  }

  machine& m_;
  options const& options_;
  float* a_        = nullptr;
  float* b_        = nullptr;
  float* c_        = nullptr;
  int kernels_     = 0;
  int slow_        = 0;
  int large_       = 0;
  int below_triad_ = 0;
  std::vector<std::string> rows_;
};

/// The nest over dimensions of these extents; operands name theirs: "20" is dimension 2, then 0.
nest_steps nest(std::vector<extent> const& loops, std::initializer_list<char const*> operands) {
  std::vector<meshtf::dim_list> lists;
  for (auto text : operands) {
    lists.emplace_back();
    for (; *text != 0; ++text) lists.back().push_back(*text - '0');
  }
  return meshtf::plan_nest(loops, lists);
}

std::string by(extent a, extent b) { return std::to_string(a) + " x " + std::to_string(b); }
std::string by(extent a, extent b, extent c) { return by(a, b) + " x " + std::to_string(c); }

constexpr double word = sizeof(float);

// ---- what is measured

struct descent {
  static constexpr bool vectorised = true;
  template<class V>
  void operator()(V& a, V const& g) const {
    a = a - V(0.1f) * g;
  }
};

struct scaled_sum {
  auto operator()(auto const& d, auto const& a, auto const& b) const { return d * (a + b); }
};

void elementwise(table& t, machine& m, extent n, std::string const& size) {
  bool const large = n == table::large;
  double const w   = large ? word * static_cast<double>(n) : 0;
  float* const x   = t.take(n, 1);
  float* const y   = t.take(n, 2);
  float* const z   = t.take(n, 3);
  auto const one   = nest({n}, {"0", "0"});
  auto const two   = nest({n}, {"0", "0", "0"});
  auto const unary = [&](char const* name, auto f, auto loop) {
    t.row(
        std::string{name} + ", " + size, n, z, [=] { plain::map(n, loop, z, x); },
        [=, &m] { detail::run_map(m, one, f, z, x); }, 2 * w);
  };
  t.row(
      "x + y, " + size, n, z, [=] { plain::map(n, [](float a, float b) { return a + b; }, z, x, y); },
      [=, &m] { detail::run_map(m, two, function::plus{}, z, x, y); }, 3 * w);
  unary("relu", function::relu{}, [](float a) { return a > 0 ? a : 0; });
  t.row(
      "relu's gradient, " + size, n, z,
      [=] { plain::map(n, [](float dz, float kept) { return kept > 0 ? dz : kept; }, z, y, x); },
      [=, &m] { detail::run_map(m, two, function::gradient<function::relu>{}, z, y, x); }, 3 * w);
  if (!large) {
    unary("exp", function::exp{}, [](float a) { return std::exp(a); });
    unary("tanh", function::tanh{}, [](float a) { return std::tanh(a); });
  }
  auto const own = [](float a) { return a * a + 1; };
  unary("a lambda, x * x + 1", own, own);
  t.row(
      "add up, " + size, n, z, [=] { plain::map(n, [](float a, float b) { return a + b; }, z, x, y); },
      [=, &m] { m.add_up(n, true, true, x, y, z); }, 3 * w);
  t.row(
      "copy, " + size, n, z, [=] { plain::map(n, [](float a) { return a; }, z, x); },
      [=, &m] { m.copy(n, x, z); }, 2 * w);
  t.row(
      "fill, " + size, n, z, [=] { plain::map(n, [] { return 2.5f; }, z); }, [=, &m] { m.fill(n, 2.5f, z); },
      w);
  t.row(
      "transform, w -= rate g, " + size,
      [=] { plain::map(n, [](float a, float g) { return a - 0.1f * g; }, z, z, y); },
      [=, &m] { m.transform(n, descent{}, z, static_cast<float const*>(y)); }, 3 * w);
  if (!large) {
    auto* const i = m.take<std::int32_t>(n);
    auto* const k = m.take<std::int32_t>(n);
    for (extent e = 0; e < n; ++e) i[e] = k[e] = static_cast<std::int32_t>(e);
    t.row(
        "x + y of int, " + size, n, k, [=] { plain::map(n, [](int a, int b) { return a + b; }, k, i, i); },
        [=, &m] { detail::run_map(m, two, function::plus{}, k, i, i); });
    m.give(i, n);
    m.give(k, n);
  }
  m.give(x, n);
  m.give(y, n);
  m.give(z, n);
}

void broadcasts(table& t, machine& m, extent rows, extent n) {
  bool const large       = rows * n == table::large;
  double const w         = large ? word * static_cast<double>(rows * n) : 0;
  std::string const size = (large ? "large, " : "") + by(rows, n);
  float* const x         = t.take(rows * n, 1);
  float* const y         = t.take(rows * n, 2);
  float* const z         = t.take(rows * n, 3);
  float* const b         = t.take(std::max(rows, n), 4);
  auto const add         = [](float a, float c) { return a + c; };
  auto const along       = nest({rows, n}, {"01", "1", "01"});
  auto const across      = nest({rows, n}, {"01", "0", "01"});
  auto const both        = nest({rows, n}, {"0", "1", "01"});
  auto const three       = nest({rows, n}, {"01", "01", "0", "01"});
  t.row(
      "x + b[column], " + size, rows * n, z, [=] { plain::map_rows(rows, n, add, z, x, b); },
      [=, &m] { detail::run_map(m, along, function::plus{}, z, x, b); }, 2 * w);
  t.row(
      "x + b[row], " + size, rows * n, z, [=] { plain::map_columns(rows, n, add, z, x, b); },
      [=, &m] { detail::run_map(m, across, function::plus{}, z, x, b); }, 2 * w);
  t.row(
      "a[row] + b[column], " + size, rows * n, z, [=] { plain::outer_sum(rows, n, z, y, b); },
      [=, &m] { detail::run_map(m, both, function::plus{}, z, y, b); }, w);
  t.row(
      "softmax's gradient, y (dy - s[row]), " + size, rows * n, z,
      [=] { plain::softmax_gradient(rows, n, z, x, y, b); },
      [=, &m] { detail::run_map(m, three, function::softmax_gradient{}, z, x, y, b); }, 3 * w);
  t.row(
      "exp(x - b[row]), " + size, rows * n, z,
      [=] { plain::map_columns(rows, n, [](float a, float c) { return std::exp(a - c); }, z, x, b); },
      [=, &m] { detail::run_map(m, across, function::exp_of_difference{}, z, x, b); }, 2 * w);
  auto const own = [](float a, float c) { return a * c + 1; };
  t.row(
      "a lambda, x b[column] + 1, " + size, rows * n, z, [=] { plain::map_rows(rows, n, own, z, x, b); },
      [=, &m] { detail::run_map(m, along, own, z, x, b); }, 2 * w);
  m.give(x, rows * n);
  m.give(y, rows * n);
  m.give(z, rows * n);
  m.give(b, std::max(rows, n));
}

void reductions(table& t, machine& m, extent rows, extent n) {
  bool const large       = rows * n == table::large;
  double const w         = large ? word * static_cast<double>(rows * n) : 0;
  std::string const size = (large ? "large, " : "") + by(rows, n);
  float* const x         = t.take(rows * n, 1);
  float* const y         = t.take(rows * n, 2);
  float* const z         = t.take(std::max(rows, n), 4);
  auto const inner       = nest({rows, n}, {"01", "0"});
  auto const outer       = nest({rows, n}, {"01", "1"});
  auto const two         = nest({rows, n}, {"01", "01", "0"});
  t.row(
      "sum of rows, " + size, rows, z, [=] { plain::sum_inner(rows, n, z, x); },
      [=, &m] { detail::run_reduce<reduction::sum>(m, inner, function::identity{}, z, x); }, w);
  t.row(
      "maximum of rows, " + size, rows, z, [=] { plain::max_inner(rows, n, z, x); },
      [=, &m] { detail::run_reduce<reduction::max>(m, inner, function::identity{}, z, x); }, w);
  t.row(
      "sum of rows of x y, " + size, rows, z, [=] { plain::dot_inner(rows, n, z, x, y); },
      [=, &m] { detail::run_reduce<reduction::sum>(m, two, function::times{}, z, x, y); }, 2 * w);
  t.row(
      "sum of columns, " + size, n, z, [=] { plain::sum_middle(1, rows, n, z, x); },
      [=, &m] { detail::run_reduce<reduction::sum>(m, outer, function::identity{}, z, x); }, w);
  auto const own = [](float a) { return a * a; };
  t.row(
      "sum of rows of a lambda, x x, " + size, rows, z, [=] { plain::dot_inner(rows, n, z, x, x); },
      [=, &m] { detail::run_reduce<reduction::sum>(m, inner, own, z, x); }, w);
  m.give(x, rows * n);
  m.give(y, rows * n);
  m.give(z, std::max(rows, n));
}

void middle_sums(table& t, machine& m, extent a, extent b, extent c) {
  bool const large = a * b * c == table::large;
  float* const x   = t.take(a * b * c, 1);
  float* const z   = t.take(a * c, 2);
  auto const steps = nest({a, b, c}, {"012", "02"});
  t.row((large ? "sum of the middle, large, " : "sum of the middle, ") + by(a, b, c), a * c, z,
        [=] { plain::sum_middle(a, b, c, z, x); },
        [=, &m] { detail::run_reduce<reduction::sum>(m, steps, function::identity{}, z, x); },
        large ? word * static_cast<double>(a * b * c) : 0);
  m.give(x, a * b * c);
  m.give(z, a * c);
}

void transposes(table& t, machine& m, extent rows, extent n) {
  bool const large       = rows * n == table::large;
  double const w         = large ? word * static_cast<double>(rows * n) : 0;
  std::string const size = (large ? "large, " : "") + by(rows, n);
  float* const x         = t.take(rows * n, 1);
  float* const y         = t.take(rows * n, 2);
  float* const z         = t.take(rows * n, 3);
  auto const steps       = nest({rows, n}, {"01", "10"});
  auto const sum         = nest({rows, n}, {"01", "10", "01"});
  t.row(
      "transpose, " + size, rows * n, z, [=] { plain::transpose(rows, n, z, x); },
      [=, &m] { detail::run_map(m, steps, function::identity{}, z, x); }, 2 * w);
  t.row(
      "x + y transposed, " + size, rows * n, z, [=] { plain::add_transposed(rows, n, z, x, y); },
      [=, &m] { detail::run_map(m, sum, function::plus{}, z, x, y); }, 3 * w);
  m.give(x, rows * n);
  m.give(y, rows * n);
  m.give(z, rows * n);
}

/// [a][b][c] in another order.
void transposes(table& t, machine& m, extent a, extent b, extent c) {
  bool const large       = a * b * c == table::large;
  float* const x         = t.take(a * b * c, 1);
  float* const z         = t.take(a * b * c, 3);
  double const w         = large ? 2 * word * static_cast<double>(a * b * c) : 0;
  std::string const size = (large ? "large, " : "") + by(a, b, c);
  auto const s102        = nest({a, b, c}, {"012", "102"});
  auto const s021        = nest({a, b, c}, {"012", "021"});
  auto const s210        = nest({a, b, c}, {"012", "210"});
  auto const s201        = nest({a, b, c}, {"012", "201"});
  t.row(
      "transpose to 1 0 2, " + size, a * b * c, z, [=] { plain::transpose(b, a, c, c, b * c, 1, z, x); },
      [=, &m] { detail::run_map(m, s102, function::identity{}, z, x); }, w);
  if (large) return m.give(x, a * b * c), m.give(z, a * b * c);
  t.row(
      "transpose to 0 2 1, " + size, a * b * c, z, [=] { plain::transpose(a, c, b, b * c, 1, c, z, x); },
      [=, &m] { detail::run_map(m, s021, function::identity{}, z, x); }, w);
  t.row(
      "transpose to 2 1 0, " + size, a * b * c, z, [=] { plain::transpose(c, b, a, 1, c, b * c, z, x); },
      [=, &m] { detail::run_map(m, s210, function::identity{}, z, x); }, w);
  t.row(
      "transpose to 2 0 1, " + size, a * b * c, z, [=] { plain::transpose(c, a, b, 1, b * c, c, z, x); },
      [=, &m] { detail::run_map(m, s201, function::identity{}, z, x); }, w);
  m.give(x, a * b * c);
  m.give(z, a * b * c);
}

void indexed(table& t, machine& m, extent ids, extent along, extent n) {
  auto const steps  = meshtf::contiguous_gather(ids, 1, along, n);
  float* const rows = t.take(ids * n, 1);
  float* const from = t.take(along * n, 2);
  auto* const index = m.take<std::int32_t>(ids);
  for (extent i = 0; i < ids; ++i) index[i] = static_cast<std::int32_t>(i * i * 7 % along);
  std::string const size = std::to_string(ids) + " of " + by(along, n);
  t.row(
      "gather, " + size, ids * n, rows, [=] { plain::gather(ids, n, rows, from, index); },
      [=, &m] {
        m.run(task::gather_rows<float>{}, steps, static_cast<float const*>(from),
              static_cast<std::int32_t const*>(index), rows);
      });
  t.row(
      "scatter_add and gather's gradient, " + size, [=] { plain::scatter_add(ids, n, from, rows, index); },
      [=, &m] {
        m.run(task::scatter_rows<float>{}, steps, from, static_cast<std::int32_t const*>(index),
              static_cast<float const*>(rows));
      });
  t.row(
      "scatter, " + size, along * n, from, [=] { plain::scatter(ids, n, from, rows, index); },
      [=, &m] {
        m.run(task::set_rows<float>{}, steps, from, static_cast<std::int32_t const*>(index),
              static_cast<float const*>(rows));
      });
  m.give(rows, ids * n);
  m.give(from, along * n);
  m.give(index, ids);
}

void classes(table& t, machine& m, extent rows, extent n) {
  auto const lines  = meshtf::contiguous_lines(rows, n, 1);
  float* const x    = t.take(rows * n, 1);
  float* const z    = t.take(rows, 2);
  auto* const index = m.take<std::int32_t>(rows);
  for (extent i = 0; i < rows; ++i) index[i] = static_cast<std::int32_t>(i * i * 7 % n);
  std::string const size = by(rows, n);
  t.row(
      "pick, " + size, rows, z, [=] { plain::pick(rows, n, z, x, index); },
      [=, &m] {
        m.run(task::pick<float>{}, lines, static_cast<float const*>(x),
              static_cast<std::int32_t const*>(index), z);
      });
  t.row(
      "pick's gradient, " + size, [=] { plain::pick_gradient(rows, n, 0.5f, x, z, index); },
      [=, &m] {
        m.run(task::pick_gradient<float>{0.5f}, lines, static_cast<float const*>(z),
              static_cast<std::int32_t const*>(index), x);
      });
  t.row(
      "argmax, " + size, rows, index, [=] { plain::argmax(rows, n, x, z, index); },
      [=, &m] { m.run(task::argmax<float>{}, lines, static_cast<float const*>(x), z, index); });
  m.give(x, rows * n);
  m.give(z, rows);
  m.give(index, rows);
}

/// Running sums, the order of elements, and elements that move along a dimension.
void along_lines(table& t, machine& m, extent rows, extent n) {
  bool const large       = rows * n == table::large;
  double const w         = large ? 2 * word * static_cast<double>(rows * n) : 0;
  std::string const size = (large ? "large, " : "") + by(rows, n);
  float* const x         = t.take(rows * n, 1);
  float* const z         = t.take(rows * n, 2);
  meshtf::cumsum_steps const down{meshtf::contiguous_lines(1, rows, n)};
  meshtf::cumsum_steps const across{meshtf::contiguous_lines(rows, n, 1)};
  t.row(
      "cumsum of rows, " + size, rows * n, z, [=] { plain::cumsum_rows(rows, n, z, x); },
      [=, &m] { m.run(task::cumsum<float>{}, across, static_cast<float const*>(x), z); }, w);
  t.row(
      "cumsum of columns, " + size, rows * n, z, [=] { plain::cumsum_columns(rows, n, z, x); },
      [=, &m] { m.run(task::cumsum<float>{}, down, static_cast<float const*>(x), z); }, w);
  // near 1, so that no product runs out of range
  float* const near = t.take(rows * n, 1);
  for (extent i = 0; i < rows * n; ++i) near[i] = 1 + 0x1p-10F * near[i];
  t.row(
      "cumprod of rows, " + size, rows * n, z, [=] { plain::cumprod_rows(rows, n, z, near); },
      [=, &m] { m.run(task::cumprod<float>{}, across, static_cast<float const*>(near), z); }, w);
  t.row(
      "cumprod of columns, " + size, rows * n, z, [=] { plain::cumprod_columns(rows, n, z, near); },
      [=, &m] { m.run(task::cumprod<float>{}, down, static_cast<float const*>(near), z); }, w);
  t.row(
      "cumprod's gradient, rows, " + size, rows * n, z,
      [=] { plain::cumprod_gradient_of_rows(rows, n, z, near, x); },
      [=, &m] {
        m.run(task::cumprod_gradient<float>{}, across, static_cast<float const*>(near),
              static_cast<float const*>(x), z);
      },
      1.5 * w);
  m.give(near, rows * n);
  meshtf::displace_steps const row{.outer = rows, .from = n, .from_allocated = n, .to = n, .to_allocated = n};
  t.row(
      "flip, " + size, rows * n, z, [=] { plain::flip(rows, n, z, x); },
      [=, &m] {
        m.run(task::displace<float>{{.offset = n - 1, .reversed = true}}, row, static_cast<float const*>(x),
              z);
      },
      w);
  t.row(
      "shift by 1, " + size, rows * n, z, [=] { plain::shift(rows, n, 1, 1, z, x); },
      [=, &m] { m.run(task::displace<float>{{.offset = -1}}, row, static_cast<float const*>(x), z); }, w);
  auto* const where = m.take<std::int32_t>(rows * n);
  for (extent k : {1, 8, 40}) {
    meshtf::rank_steps steps{
        .lines = meshtf::contiguous_lines(rows, n, 1), .kept = k, .allocated_kept = k, .step = 1};
    steps.lines.line_stride = k;
    if (k < n)
      t.row(
          "top " + std::to_string(k) + ", " + size, rows * k, z,
          [=] { plain::top_k(rows, n, k, x, z, where); },
          [=, &m] {
            m.run(task::rank<float>{.descending = true}, steps, static_cast<float const*>(x), z, where);
          },
          w / 2);
  }
  meshtf::rank_steps steps{
      .lines = meshtf::contiguous_lines(rows, n, 1), .kept = n, .allocated_kept = n, .step = 1};
  steps.lines.line_stride = n;
  t.row(
      "sort, " + size, rows * n, where, [=] { plain::sort(rows, n, x, z, where); },
      [=, &m] { m.run(task::rank<float>{}, steps, static_cast<float const*>(x), z, where); }, 1.5 * w);
  m.give(where, rows * n);
  m.give(x, rows * n);
  m.give(z, rows * n);
}

/// Parts of an array, `m` of the `n` along the middle one of three dimensions: written, joined, repeated.
void parts(table& t, machine& m, extent outer, extent n, extent inner) {
  bool const large       = outer * n * inner == table::large;
  double const w         = large ? word * static_cast<double>(outer * n * inner) : 0;
  std::string const size = (large ? "large, " : "") + by(outer, n, inner);
  extent const half      = n / 2;
  extent const at        = n / 4;
  float* const x         = t.take(outer * half * inner, 1);
  float* const y         = t.take(outer * half * inner, 2);
  float* const z         = t.take(outer * n * inner, 3);
  // an array of whole size, then the part
  meshtf::nest_steps copy{.rank = 3, .operands = 2};
  copy.size[0]      = outer;
  copy.size[1]      = half;
  copy.size[2]      = inner;
  copy.stride[0][0] = n * inner;
  copy.stride[0][1] = inner;
  copy.stride[0][2] = 1;
  copy.stride[1][0] = half * inner;
  copy.stride[1][1] = inner;
  copy.stride[1][2] = 1;
  meshtf::write_steps const place{.copy = copy, .own = 1, .local = n, .allocated = n};
  t.row(
      "write of a half, " + size, outer * n * inner, z,
      [=] { plain::write(outer, n, half, inner, at, z, x); },
      [=, &m] { m.run(task::write_part<float>{at}, place, z, static_cast<float const*>(x)); }, w);
  meshtf::part_steps const part{meshtf::collapsed(copy), inner};
  t.row(
      "concat or stack of two, " + size, outer * n * inner, z,
      [=] { plain::concat(outer, half, inner, z, x, y); },
      [=, &m] {
        m.run(task::put_part<float>{0}, part, z, static_cast<float const*>(x));
        m.run(task::put_part<float>{half}, part, z, static_cast<float const*>(y));
      },
      2 * w);
  auto const repeated = nest({outer, n, inner}, {"02", "012"});
  t.row(
      "tile, " + size, outer * n * inner, z, [=] { plain::tile(outer, n, inner, z, x); },
      [=, &m] { detail::run_map(m, repeated, function::identity{}, z, x); }, w);
  m.give(x, outer * half * inner);
  m.give(y, outer * half * inner);
  m.give(z, outer * n * inner);
}

void norms(table& t, machine& m, extent rows, extent n) {
  bool const large       = rows * n == table::large;
  double const w         = large ? word * static_cast<double>(rows * n) : 0;
  std::string const size = (large ? "large, " : "") + by(rows, n);
  auto const steps       = meshtf::contiguous_lines(rows, n, 1);
  float* const x         = t.take(rows * n, 1);
  float* const dz        = t.take(rows * n, 2);
  float* const z         = t.take(rows * n, 3);
  float* const scale     = t.take(n, 4);
  float* const bias      = t.take(n, 5);
  float* const mean      = t.take(rows, 6);
  float* const rstd      = t.take(rows, 7);
  float* const total     = t.take(n, 8);
  t.row(
      "layer norm, " + size, rows * n, z, [=] { plain::layer_norm(rows, n, z, x, scale, bias, mean, rstd); },
      [=, &m] {
        m.run(task::normalise<float>{{}, 1e-5}, steps,
              meshtf::norm_arrays<float>{
                  .x = x, .scale = scale, .bias = bias, .mean = mean, .rstd = rstd, .z = z});
      },
      2 * w);
  meshtf::norm_gradient_arrays<float> const arrays{
      .x = x, .mean = mean, .rstd = rstd, .scale = scale, .dz = dz, .dx = z, .dscale = bias, .dbias = total};
  t.row(
      "layer norm's gradient, " + size, rows * n, z, [=] { plain::layer_norm_gradient(rows, n, arrays); },
      [=, &m] {
        m.run(task::norm_gradient<float>{{true, {.x = true, .scale = true, .bias = true}}}, steps, arrays);
      },
      3 * w);
  scaled_sum const f;
  t.row(
      "rows that share a bias and their sum, " + size, rows * n, z,
      [=] { plain::rows_and_sum(rows, n, f, dz, x, scale, z, total); },
      [=, &m] {
        m.run(task::map_rows_and_sum<scaled_sum, float>{f}, meshtf::contiguous_rows(rows, n),
              static_cast<float const*>(dz), static_cast<float const*>(x), static_cast<float const*>(scale),
              z, total);
      },
      3 * w);
  m.give(x, rows * n);
  m.give(dz, rows * n);
  m.give(z, rows * n);
  m.give(scale, n);
  m.give(bias, n);
  m.give(mean, rows);
  m.give(rstd, rows);
  m.give(total, n);
}

struct batch : meshtf::dim<4096> {};
struct wide : meshtf::dim<16384> {};
template<int N>
struct tiny : meshtf::dim<N> {};

template<class... D>
void dropout(table& t, machine& m, std::string const& size) {
  extent const n       = meshtf::shape<D...>::size;
  float* const x       = t.take(n, 1);
  float* const z       = t.take(n, 3);
  auto const threshold = static_cast<std::uint64_t>(0.1 * 0x1p32);
  t.row(
      "dropout, " + size, n, z,
      [=] { plain::drop(meshtf::philox{1, 2}, n, threshold, static_cast<float>(1 / 0.9), x, z); },
      [=, &m] {
        m.run(task::drop<float>{{.seed = 1, .stream = 2}, 0.1},
              meshtf::shard_plan<whole, meshtf::shape<D...>>, static_cast<float const*>(x), z);
      });
  m.give(x, n);
  m.give(z, n);
}

void run(options const& o) {
  machine m{MPI_COMM_WORLD};
  table t{m, o};
  if (o.part != "memory") {
    elementwise(t, m, 16, "16");
    elementwise(t, m, 64 * 64, "64 x 64");
    for (extent n : {3, 10, 16, 40, 100, 1000}) broadcasts(t, m, std::max<extent>(8, 8192 / n), n);
    for (extent n : {3, 10, 16, 40, 100, 1000}) reductions(t, m, std::max<extent>(8, 8192 / n), n);
    reductions(t, m, 8, 8);
    reductions(t, m, 1, 4096);
    middle_sums(t, m, 16, 16, 16);
    middle_sums(t, m, 40, 20, 10);
    middle_sums(t, m, 20, 10, 40);
    middle_sums(t, m, 10, 3, 300);
    transposes(t, m, 8, 8);
    transposes(t, m, 16, 16);
    transposes(t, m, 64, 64);
    transposes(t, m, 10, 40);
    transposes(t, m, 40, 100);
    transposes(t, m, 256, 256);
    transposes(t, m, 1000, 10);
    transposes(t, m, 10, 1000);
    for (extent c : {2, 4, 10, 64}) transposes(t, m, 16, 24, c);
    for (extent n : {1, 4, 10, 64, 1000}) indexed(t, m, 512, 300, n);
    classes(t, m, 256, 10), classes(t, m, 256, 40), classes(t, m, 64, 1000);
    for (extent n : {16, 64, 1000}) along_lines(t, m, 16384 / n, n);
    along_lines(t, m, 256, 1000);
    parts(t, m, 64, 4, 16);
    parts(t, m, 16, 16, 64);
    parts(t, m, 8, 2, 1000);
    parts(t, m, 512, 2, 1);
    for (extent n : {10, 16, 64, 1000}) norms(t, m, std::max<extent>(8, 8192 / n), n);
    dropout<tiny<64>>(t, m, "64"), dropout<tiny<4096>>(t, m, "4096");
  }
  if (o.part != "cache") {
    elementwise(t, m, table::large, "large");
    broadcasts(t, m, 65536, 1024);
    broadcasts(t, m, table::large / 16, 16);
    reductions(t, m, 65536, 1024);
    reductions(t, m, table::large / 16, 16);
    middle_sums(t, m, 1024, 64, 1024);
    transposes(t, m, 8192, 8192);
    transposes(t, m, 256, 4096, 64);
    norms(t, m, 65536, 1024);
    along_lines(t, m, 65536, 1024);
    parts(t, m, 256, 256, 1024);
  }
  t.end();
  t.write();
}

/// `--part cache` or `memory`, `--rounds N`, `--json FILE` and `--only TEXT`.
options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; i += 2) {
    std::string const name  = argv[i];
    std::string const value = i + 1 < argc ? argv[i + 1] : "";
    auto const end          = value.data() + value.size();
    bool understood         = false;
    if (name == "--json") understood = !(o.json = value).empty();
    else if (name == "--only") understood = !(o.only = value).empty();
    else if (name == "--part") understood = (o.part = value) == "cache" || value == "memory";
    else if (name == "--rounds")
      understood = std::from_chars(value.data(), end, o.rounds).ptr == end && o.rounds > 0;
    if (!understood || value.empty())
      throw meshtf::usage_error{
          "expected [--part cache|memory] [--rounds N] [--json FILE] [--only TEXT], got '" + name + " " +
          value + "'"};
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] { run(read(argc, argv)); });
}
