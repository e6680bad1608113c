// Scaled dot-product attention of one process: per head of a sequence, in the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include <meshtf/plan/attention_plan.hpp>

namespace meshtf::inline v0 {
namespace kernel {
namespace detail {

/// Calls `f` with where each operand of a pair begins.
template<class F>
void for_each_pair(nest_steps const& pairs, F f) {
  std::array<extent, max_rank> turn{};
  std::array<extent, 5> at{};
  for (;;) {
    f(at);
    int loop = pairs.rank;
    for (;;) {
      if (loop == 0) return;
      auto const i     = static_cast<std::size_t>(--loop);
      bool const wraps = ++turn[i] == pairs.size[i];
      for (std::size_t k = 0; k < at.size(); ++k) at[k] += wraps ? pairs.stride[k][i] * (1 - pairs.size[i]) : pairs.stride[k][i];
      if (!wraps) break;
      turn[i] = 0;
    }
  }
}

constexpr double attention_scale(attention_steps const& s, double scale) { return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(s.depth)); }

/// Positions of the memory that query `i` looks at.
constexpr extent seen_by(attention_steps const& s, extent i) { return s.causal ? std::min(i + 1, s.memories) : s.memories; }

}  // namespace detail

template<class T>
void attend(attention_steps const& s, double scale, T const* q, T const* k, T const* v, T* z, T* log_total, T* scratch) {
  using enum attention_steps::operand;
  T const factor = static_cast<T>(detail::attention_scale(s, scale));
  auto const at  = [&](std::size_t o, extent i, extent e) { return i * s.position[o] + e * s.element[o]; };
  detail::for_each_pair(s.pairs, [&](auto const& from) {
    for (extent i = 0; i < s.queries; ++i) {
      extent const seen = detail::seen_by(s, i);
      for (extent j = 0; j < seen; ++j) {
        T sum{};
        for (extent e = 0; e < s.depth; ++e) sum += q[from[query] + at(query, i, e)] * k[from[key] + at(key, j, e)];
        scratch[j] = sum * factor;
      }
      T const most = *std::max_element(scratch, scratch + seen);
      T total{};
      for (extent j = 0; j < seen; ++j) total += scratch[j] = std::exp(scratch[j] - most);
      log_total[from[row] + i * s.position[row]] = most + std::log(total);
      for (extent e = 0; e < s.depth; ++e) {
        T sum{};
        for (extent j = 0; j < seen; ++j) sum += scratch[j] * v[from[value] + at(value, j, e)];
        z[from[result] + at(result, i, e)] = sum / total;
      }
    }
  });
}

template<class T>
void attention_gradient(attention_steps const& s, double scale, attention_gradient_arrays<T> const& a, T* scratch) {
  using enum attention_steps::operand;
  T const factor = static_cast<T>(detail::attention_scale(s, scale));
  auto const at  = [&](std::size_t o, extent i, extent e) { return i * s.position[o] + e * s.element[o]; };
  detail::for_each_pair(s.pairs, [&](auto const& from) {
    for (extent j = 0; j < s.memories; ++j)
      for (extent e = 0; e < s.depth; ++e) {
        if (a.dkey != nullptr) a.dkey[from[key] + at(key, j, e)] = T{};
        if (a.dvalue != nullptr) a.dvalue[from[value] + at(value, j, e)] = T{};
      }
    for (extent i = 0; i < s.queries; ++i) {
      extent const seen = detail::seen_by(s, i);
      T const shift     = a.log_total[from[row] + i * s.position[row]];
      T mean{};
      for (extent e = 0; e < s.depth; ++e) mean += a.dresult[from[result] + at(result, i, e)] * a.result[from[result] + at(result, i, e)];
      for (extent j = 0; j < seen; ++j) {
        T score{}, change{};
        for (extent e = 0; e < s.depth; ++e) {
          score += a.query[from[query] + at(query, i, e)] * a.key[from[key] + at(key, j, e)];
          change += a.dresult[from[result] + at(result, i, e)] * a.value[from[value] + at(value, j, e)];
        }
        T const weight = std::exp(score * factor - shift);
        scratch[j]     = weight * (change - mean) * factor;
        for (extent e = 0; e < s.depth; ++e) {
          if (a.dvalue != nullptr) a.dvalue[from[value] + at(value, j, e)] += weight * a.dresult[from[result] + at(result, i, e)];
          if (a.dkey != nullptr) a.dkey[from[key] + at(key, j, e)] += scratch[j] * a.query[from[query] + at(query, i, e)];
        }
      }
      if (a.dquery == nullptr) continue;
      for (extent e = 0; e < s.depth; ++e) {
        T sum{};
        for (extent j = 0; j < seen; ++j) sum += scratch[j] * a.key[from[key] + at(key, j, e)];
        a.dquery[from[query] + at(query, i, e)] = sum;
      }
    }
  });
}

}  // namespace kernel
}  // namespace meshtf::inline v0
