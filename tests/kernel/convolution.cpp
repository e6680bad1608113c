// Convolutions and their gradients against plain loops: by oneDNN and by products of windows, of many shapes,
// on any number of threads.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <meshtf/kernel/convolution.hpp>

#include "same_bits.hpp"

namespace {

using kernel::convolution_way;

struct image_shape {
  extent batch  = 2;
  extent groups = 1;
  extent in     = 4;
  extent out    = 6;
  std::array<extent, 3> size{1, 7, 9};
  std::array<extent, 3> taps{1, 3, 3};
  std::array<extent, 3> step{1, 1, 1};
  std::array<extent, 3> dilation{1, 1, 1};
  int dims  = 2;
  bool same = true;
};

convolution_steps steps_of(image_shape const& a) {
  convolution_steps s{.dims = a.dims, .batch = a.batch, .groups = a.groups, .in = a.in, .out = a.out};
  for (std::size_t i = 0; i < 3; ++i) {
    window_rule const rule{.step = a.step[i], .dilation = a.dilation[i], .same = a.same};
    s.from[i]     = a.size[i];
    s.taps[i]     = a.taps[i];
    s.step[i]     = a.step[i];
    s.dilation[i] = a.dilation[i];
    s.to[i]       = rule.windows(a.size[i], a.taps[i]);
    s.before[i]   = rule.before(a.size[i], a.taps[i]);
    s.after[i] =
        std::max<extent>(0, (s.to[i] - 1) * a.step[i] + rule.reach(a.taps[i]) - s.before[i] - s.from[i]);
  }
  // [taps, in, group, out], which no library likes
  s.filter_out   = 1;
  s.filter_group = a.out;
  s.filter_in    = a.out * a.groups;
  extent run     = s.filter_in * a.in;
  for (std::size_t i = 3; i-- > 0; run *= a.taps[i]) s.filter_tap[i] = run;
  s.x.iterations = a.batch * a.size[0] * a.size[1] * a.size[2] * a.groups * a.in;
  s.z.iterations = a.batch * s.pixels() * a.groups * a.out;
  s.x_allocated  = s.x.iterations;
  return s;
}

/// f(at_x, at_filter, at_z) for each product.
template<class F>
void for_each_product(convolution_steps const& s, F const& f) {
  extent z = 0;
  for (extent n = 0; n < s.batch; ++n)
    for (extent i = 0; i < s.to[0]; ++i)
      for (extent j = 0; j < s.to[1]; ++j)
        for (extent k = 0; k < s.to[2]; ++k)
          for (extent g = 0; g < s.groups; ++g)
            for (extent o = 0; o < s.out; ++o, ++z)
              for (extent a = 0; a < s.taps[0]; ++a)
                for (extent b = 0; b < s.taps[1]; ++b)
                  for (extent c = 0; c < s.taps[2]; ++c) {
                    extent const d = i * s.step[0] + a * s.dilation[0] - s.before[0];
                    extent const h = j * s.step[1] + b * s.dilation[1] - s.before[1];
                    extent const w = k * s.step[2] + c * s.dilation[2] - s.before[2];
                    if (d < 0 || h < 0 || w < 0 || d >= s.from[0] || h >= s.from[1] || w >= s.from[2])
                      continue;
                    for (extent q = 0; q < s.in; ++q) {
                      extent const x =
                          (((n * s.from[0] + d) * s.from[1] + h) * s.from[2] + w) * s.groups * s.in +
                          g * s.in + q;
                      extent const filter = g * s.filter_group + o * s.filter_out + q * s.filter_in +
                                            a * s.filter_tap[0] + b * s.filter_tap[1] + c * s.filter_tap[2];
                      f(x, filter, z);
                    }
                  }
}

template<class T>
struct arrays {
  std::vector<T> x;
  std::vector<T> filter;
  std::vector<T> z;
};

template<class T>
void run(convolution_way way, convolution_steps const& s, arrays<T>& a) {
  std::vector<T> scratch(at(s.scratch(way == convolution_way::to_filter)),
                         std::numeric_limits<T>::quiet_NaN());
  kernel::convolve(way, s, a.x.data(), a.filter.data(), a.z.data(), scratch.data());
}

// A sum of n products in single precision is off by about sqrt(n) roundings: OpenBLAS adds 6,300 in a row on
// some CPUs.
template<class T>
void compare(std::vector<T> const& found, std::vector<double> const& truth, double products,
             char const* what) {
  INFO(what);
  double worst = 0;
  double most  = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    double const d = std::abs(static_cast<double>(found[i]) - truth[i]);
    most           = std::max(most, std::abs(truth[i]));
    if (!(d <= worst)) worst = std::isfinite(d) ? d : 1e300;
  }
  double const terms = products / static_cast<double>(truth.size());
  CHECK(worst <= (std::is_same_v<T, float> ? 2e-6 : 1e-14) * std::sqrt(1 + terms / 2048) * (most + 1));
}

template<class T>
void check(image_shape const& shape) {
  auto const s = steps_of(shape);
  INFO("batch " << s.batch << ", groups " << s.groups << ", channels " << s.in << " to " << s.out << ", "
                << s.from[0] << "x" << s.from[1] << "x" << s.from[2] << " to " << s.to[0] << "x" << s.to[1]
                << "x" << s.to[2] << ", taps " << s.taps[0] << "x" << s.taps[1] << "x" << s.taps[2]);
  auto const x      = drawn<T>(s.x.iterations, 1);
  auto const filter = drawn<T>(s.filter_elements(), 2);
  auto const z      = drawn<T>(s.z.iterations, 3);
  std::vector<double> true_x(x.size());
  std::vector<double> true_filter(filter.size());
  std::vector<double> true_z(z.size());
  double products = 0;
  for_each_product(s, [&](extent i, extent f, extent o) {
    ++products;
    auto const v = [](T n) { return static_cast<double>(n); };
    true_z[at(o)] += v(x[at(i)]) * v(filter[at(f)]);
    true_x[at(i)] += v(z[at(o)]) * v(filter[at(f)]);
    true_filter[at(f)] += v(z[at(o)]) * v(x[at(i)]);
  });
  T const nan = std::numeric_limits<T>::quiet_NaN();
  arrays<T> forward{x, filter, std::vector<T>(z.size(), nan)};
  arrays<T> back{std::vector<T>(x.size(), nan), filter, z};
  arrays<T> learn{x, std::vector<T>(filter.size(), nan), z};
  run(convolution_way::forward, s, forward);
  run(convolution_way::to_input, s, back);
  run(convolution_way::to_filter, s, learn);
  compare(forward.z, true_z, products, "forward");
  compare(back.x, true_x, products, "to the input");
  compare(learn.filter, true_filter, products, "to the filter");
}

std::vector<image_shape> const shapes{
    {},
    {.in = 16, .out = 32},
    {.in = 1, .out = 16},
    {.in = 3, .out = 64, .size = {1, 20, 20}, .taps = {1, 7, 7}, .step = {1, 2, 2}},
    {.in = 16, .out = 16, .size = {1, 8, 8}, .step = {1, 2, 2}},
    {.in = 16, .out = 16, .step = {1, 2, 3}, .same = false},
    {.in = 16, .out = 16, .dilation = {1, 2, 2}},
    {.in = 32, .out = 17, .taps = {1, 1, 1}},
    {.in = 17, .out = 5, .taps = {1, 2, 4}},
    {.groups = 4, .in = 8, .out = 8},
    {.groups = 2, .in = 16, .out = 16, .step = {1, 2, 2}},
    {.groups = 3, .in = 2, .out = 5},
    {.groups = 32, .in = 1, .out = 1},
    {.groups = 5, .in = 1, .out = 1, .step = {1, 2, 2}},
    {.in = 8, .out = 8, .size = {1, 1, 50}, .taps = {1, 1, 3}, .dims = 1},
    {.groups = 16, .in = 1, .out = 1, .size = {1, 1, 50}, .taps = {1, 1, 3}, .dims = 1},
    {.in = 8, .out = 8, .size = {5, 6, 7}, .taps = {3, 2, 3}, .dims = 3},
    {.in = 2, .out = 3, .size = {5, 6, 7}, .taps = {2, 3, 1}, .step = {2, 1, 1}, .dims = 3},
    {.batch = 8, .in = 64, .out = 64, .size = {1, 14, 14}},
    {.batch = 1, .in = 700, .out = 8, .size = {1, 9, 40}},
    {.in = 64, .out = 48, .size = {1, 3, 3}},  // more filter than images
};
/// Shapes that our own code convolves.
std::vector<image_shape> const ours{
    // vectors that are not full
    {.groups = 40, .in = 1, .out = 1, .size = {1, 7, 13}, .taps = {1, 3, 5}, .dilation = {1, 2, 1}},
    {.groups = 19,
     .in     = 1,
     .out    = 1,
     .size   = {1, 9, 17},
     .taps   = {1, 2, 4},
     .step   = {1, 1, 2},
     .same   = false},
    {.groups = 16, .in = 1, .out = 1, .size = {1, 2, 3}, .taps = {1, 5, 5}},  // more window than image
    {.groups = 18, .in = 1, .out = 1, .size = {4, 5, 11}, .taps = {2, 3, 3}, .dims = 3},
    {.groups = 3, .in = 7, .out = 5, .taps = {1, 1, 1}},
};

}  // namespace

TEST_CASE("convolutions by oneDNN and by products of windows are those of plain loops") {
  kernel::use_one_library_thread();
  for (auto const* some : {&shapes, &ours})
    for (auto const& shape : *some) {
      check<float>(shape);
      kernel::convolves_by_library() = false;
      check<float>(shape), check<double>(shape);
      kernel::convolves_by_library() = MESHTF_HAS_ONEDNN_PRIMITIVES != 0;
    }
}

#if MESHTF_HAS_ONEDNN_PRIMITIVES
TEST_CASE("what people convolve is left to oneDNN") {
  kernel::use_one_library_thread();
  // other processors may lack some
  bool const has_all = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  for (auto const& shape : shapes) {
    auto const s = steps_of(shape);
    INFO("groups " << s.groups << ", channels " << s.in << " to " << s.out << ", taps " << s.taps[1] << "x"
                   << s.taps[2] << ", dims " << s.dims);
    for (auto way : {convolution_way::forward, convolution_way::to_input, convolution_way::to_filter})
      CHECK((kernel::detail::prepared(way, s, s.batch / s.parts()).is_there() || !has_all));
  }
}
#endif

TEST_CASE("convolutions have the same bits on any number of threads") {
  for (image_shape const& shape :
       {image_shape{.batch = 8, .in = 64, .out = 64, .size = {1, 14, 14}},
        image_shape{.batch = 8, .in = 64, .out = 64, .size = {1, 28, 28}, .step = {1, 2, 2}},
        image_shape{.batch = 32, .groups = 128, .in = 1, .out = 1, .size = {1, 28, 28}}}) {
    auto const s = steps_of(shape);
    REQUIRE(s.parts() == 4);
    for (auto way : {convolution_way::forward, convolution_way::to_input, convolution_way::to_filter})
      on_all_threads([&] {
        arrays<float> a{drawn<float>(s.x.iterations, 1), drawn<float>(s.filter_elements(), 2),
                        drawn<float>(s.z.iterations, 3)};
        run(way, s, a);
        a.x.insert(a.x.end(), a.z.begin(), a.z.end()),
            a.x.insert(a.x.end(), a.filter.begin(), a.filter.end());
        return a.x;
      });
  }
}
