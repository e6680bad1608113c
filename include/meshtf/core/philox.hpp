// Random numbers that depend only on a seed and an index, so every layout draws the same.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/element.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

inline constexpr std::uint64_t low_word = 0xffffffff;

/// The words of several counters. Each word takes 64 bits, the width of the products, so that compilers
/// vectorise loops over counters.
template<std::size_t Lanes>
struct philox_words {
  std::array<std::array<std::uint64_t, Lanes>, 4> word;
};

template<std::uint64_t Round>
[[gnu::always_inline]] constexpr void philox_round(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c,
                                                   std::uint64_t& d, std::uint64_t key0, std::uint64_t key1) {
  std::uint64_t const p = 0xD2511F53 * a;
  std::uint64_t const q = 0xCD9E8D57 * c;
  a                     = (q >> 32) ^ b ^ ((key0 + Round * 0x9E3779B9) & low_word);
  b                     = q & low_word;
  c                     = (p >> 32) ^ d ^ ((key1 + Round * 0xBB67AE85) & low_word);
  d                     = p & low_word;
}

/// The rounds are an inlined fold: g++ vectorises a loop over counters only if no inner loop or call is left
/// in it.
template<std::uint64_t... Round>
[[gnu::always_inline]] constexpr void philox_rounds(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c,
                                                    std::uint64_t& d, std::uint64_t key0, std::uint64_t key1,
                                                    std::integer_sequence<std::uint64_t, Round...>) {
  (philox_round<Round>(a, b, c, d, key0, key1), ...);
}

/// The upper 53 of 64 bits as a number in [0, 1).
constexpr double unit_interval(std::uint64_t low, std::uint64_t high) {
  return static_cast<double>(static_cast<std::int64_t>((low | high << 32) >> 11)) * 0x1p-53;
}

}  // namespace detail

/// Philox4x32-10: 128 random bits for each counter. Streams of one seed have nothing in common.
/// Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
class philox {
public:
  constexpr philox(std::uint64_t seed, std::uint64_t stream) : seed_{seed}, stream_{stream} {}

  constexpr std::array<std::uint32_t, 4> operator()(std::uint64_t counter) const {
    auto const x = many<1>(counter);
    std::array<std::uint32_t, 4> words{};
    for (std::size_t k = 0; k < 4; ++k) words[k] = static_cast<std::uint32_t>(x.word[k][0]);
    return words;
  }

  /// The words of `Lanes` consecutive counters.
  template<std::size_t Lanes>
  constexpr detail::philox_words<Lanes> many(std::uint64_t counter) const {
    detail::philox_words<Lanes> x{};
    std::uint64_t const key0 = seed_ & detail::low_word;
    std::uint64_t const key1 = seed_ >> 32;
    for (std::size_t i = 0; i < Lanes; ++i) {
      std::uint64_t a = (counter + i) & detail::low_word;
      std::uint64_t b = (counter + i) >> 32;
      std::uint64_t c = stream_ & detail::low_word;
      std::uint64_t d = stream_ >> 32;
      detail::philox_rounds(a, b, c, d, key0, key1, std::make_integer_sequence<std::uint64_t, 10>{});
      x.word[0][i] = a;
      x.word[1][i] = b;
      x.word[2][i] = c;
      x.word[3][i] = d;
    }
    return x;
  }

private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

namespace detail {

/// Two values for each counter: if `Normal`, a pair by Box and Muller, otherwise two uniform values.
template<bool Normal, std::size_t Lanes>
constexpr std::array<double, 2 * Lanes> draw(philox const& random, std::uint64_t counter) {
  auto const x = random.many<Lanes>(counter);
  std::array<double, 2 * Lanes> z{};
  for (std::size_t i = 0; i < Lanes; ++i) {
    double const u = unit_interval(x.word[0][i], x.word[1][i]);
    double const v = unit_interval(x.word[2][i], x.word[3][i]);
    if constexpr (Normal) {
      double const radius = std::sqrt(-2 * std::log(1 - u));  // 1 - u is never 0
      double const angle  = 2 * std::numbers::pi * v;
      z[2 * i]            = radius * std::cos(angle);
      z[2 * i + 1]        = radius * std::sin(angle);
    } else {
      z[2 * i]     = u;
      z[2 * i + 1] = v;
    }
  }
  return z;
}

/// Calls put(k, value) for the values of indices first + k, k < n.
template<bool Normal, class Put>
constexpr void draw_run(philox const& random, extent first, extent n, Put put) {
  constexpr std::size_t lanes = 16;
  extent k                    = 0;
  while (k < n) {
    auto const index = static_cast<std::uint64_t>(first + k);
    extent const odd = (first + k) % 2;  // a run may start within a pair
    if (n - k + odd < static_cast<extent>(2 * lanes)) {
      auto const pair = draw<Normal, 1>(random, index / 2);
      for (extent i = odd; i < 2 && k < n; ++i) put(k++, pair[static_cast<std::size_t>(i)]);
    } else {
      auto const block = draw<Normal, lanes>(random, index / 2);
      for (extent i = odd; i < static_cast<extent>(2 * lanes); ++i)
        put(k + i - odd, block[static_cast<std::size_t>(i)]);
      k += static_cast<extent>(2 * lanes) - odd;
    }
  }
}

}  // namespace detail

/// Uniform in [0, 1), with 53 random bits.
constexpr double uniform_at(philox const& random, extent global_index) {
  return detail::draw<false, 1>(
      random, static_cast<std::uint64_t>(global_index) / 2)[static_cast<std::size_t>(global_index % 2)];
}

/// Normal with mean 0 and standard deviation 1.
inline double normal_at(philox const& random, extent global_index) {
  return detail::draw<true, 1>(
      random, static_cast<std::uint64_t>(global_index) / 2)[static_cast<std::size_t>(global_index % 2)];
}

/// z[k] = low + (high - low) * uniform_at(random, first + k), kept below `high` even after rounding.
template<FloatingElement T>
void fill_uniform(philox const& random, extent first, extent n, computed<T> low, computed<T> high, T* z) {
  using std::nextafter;
  double const from  = static_cast<double>(low);
  double const width = static_cast<double>(high) - from;
  auto const top     = static_cast<T>(high);
  T const last       = low < high ? nextafter(top, static_cast<T>(low)) : top;
  detail::draw_run<false>(
      random, first, n, [=](extent k, double u) { z[k] = std::min(static_cast<T>(from + width * u), last); });
}

/// z[k] = mean + stddev * normal_at(random, first + k).
template<FloatingElement T>
void fill_normal(philox const& random, extent first, extent n, computed<T> mean, computed<T> stddev, T* z) {
  double const centre = static_cast<double>(mean);
  double const scale  = static_cast<double>(stddev);
  detail::draw_run<true>(random, first, n,
                         [=](extent k, double x) { z[k] = static_cast<T>(centre + scale * x); });
}

/// The same, drawn again while it is more than two standard deviations from the mean, from streams that
/// nobody counts up to.
template<FloatingElement T>
void fill_truncated_normal(std::uint64_t seed, std::uint64_t stream, extent first, extent n, computed<T> mean,
                           computed<T> stddev, T* z) {
  double const centre = static_cast<double>(mean);
  double const scale  = static_cast<double>(stddev);
  detail::draw_run<true>(philox{seed, stream}, first, n, [=](extent k, double x) {
    for (std::uint64_t turn = 1; std::abs(x) > 2; ++turn)
      x = normal_at(philox{seed, stream ^ turn << 48}, first + k);
    z[k] = static_cast<T>(centre + scale * x);
  });
}

}  // namespace v0
}  // namespace meshtf
