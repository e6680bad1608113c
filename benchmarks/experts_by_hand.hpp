// A layer of experts by hand, forward and backward, on one process: gather, products of each expert, scatter.
// GShard's top-2 gating with every second choice, and its balance loss.
#pragma once

#include "../examples/by_hand/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace by_hand {

/// Sizes of the layer: groups, tokens of each, experts, places of each for a group, model, hidden.
struct experts_sizes {
  int groups;
  int tokens;
  int experts;
  int places;
  int model;
  int hidden;
};

/// exp of x, which is cut at -87 and 87.
inline float exp_of(float x) { return exp_of_negative(x < 87.0f ? x : 87.0f); }

/// e to the -2u of gelu's approximation x / (1 + e).
inline float gelu_exponential(float x) { return exp_of(x * (-1.5957691216f - 0.0713548163f * x * x)); }

class experts_layer {
public:
  buffer x;       // [groups tokens, model]
  buffer dz;      // of the value, as x
  buffer router;  // [model, experts]
  buffer up;      // [experts, model, hidden]
  buffer down;    // [experts, hidden, model]
  buffer dx;
  buffer drouter;
  buffer dup;
  buffer ddown;
  buffer dup_bias;    // [experts, hidden]
  buffer ddown_bias;  // [experts, model]
  float balance = 0.01f;

  explicit experts_layer(experts_sizes const& s)
      : x(floats(std::int64_t{s.groups} * s.tokens * s.model)),
        dz(floats(std::int64_t{s.groups} * s.tokens * s.model)),
        router(floats(std::int64_t{s.model} * s.experts)),
        up(floats(std::int64_t{s.experts} * s.model * s.hidden)),
        down(floats(std::int64_t{s.experts} * s.hidden * s.model)),
        dx(floats(std::int64_t{s.groups} * s.tokens * s.model)),
        drouter(floats(std::int64_t{s.model} * s.experts)),
        dup(floats(std::int64_t{s.experts} * s.model * s.hidden)),
        ddown(floats(std::int64_t{s.experts} * s.hidden * s.model)),
        dup_bias(floats(std::int64_t{s.experts} * s.hidden)),
        ddown_bias(floats(std::int64_t{s.experts} * s.model)),
        s_(s),
        all_(s.groups * s.tokens),
        rows_(s.groups * s.places),
        up_bias_(floats(std::int64_t{s.experts} * s.hidden)),
        down_bias_(floats(std::int64_t{s.experts} * s.model)),
        probability_(floats(std::int64_t{all_} * s.experts)),
        slope_(floats(std::int64_t{all_} * s.experts)),
        in_(floats(std::int64_t{s.experts} * rows_ * s.model)),
        before_(floats(std::int64_t{s.experts} * rows_ * s.hidden)),
        inside_(floats(std::int64_t{s.experts} * rows_ * s.hidden)),
        out_(floats(std::int64_t{s.experts} * rows_ * s.model)),
        choices_(static_cast<std::size_t>(all_)),
        token_(static_cast<std::size_t>(s.experts * rows_)),
        first_(static_cast<std::size_t>(s.groups * s.experts)) {}

  /// The sum of value * dz, and the balance loss; then all gradients.
  double step() {
    double const loss = route();
    double const task = forward();
    backward();
    return task + static_cast<double>(balance) * loss;
  }

private:
  struct choice {
    int expert[2];
    int row[2];  // of all experts' rows; -1: no place
    float weight[2];
    float total;
    float slope[2];
  };

  /// Which rows tokens get. Returns the balance loss.
  double route() {
    gemm('N', 'N', all_, s_.experts, s_.model, x.get(), router.get(), probability_.get());
    std::fill(token_.begin(), token_.end(), -1);
    std::fill(first_.begin(), first_.end(), 0);
    double loss = 0;
    std::vector<float> mean(static_cast<std::size_t>(s_.experts));
    std::vector<int> used(static_cast<std::size_t>(s_.experts));
    for (int g = 0; g < s_.groups; ++g) {
      std::fill(mean.begin(), mean.end(), 0.0f);
      std::fill(used.begin(), used.end(), 0);
      for (int t = g * s_.tokens; t < (g + 1) * s_.tokens; ++t) choose(t, mean.data());
      for (int k = 0; k < 2; ++k)
        for (int t = g * s_.tokens; t < (g + 1) * s_.tokens; ++t) {
          choice& c     = choices_[static_cast<std::size_t>(t)];
          int const e   = c.expert[k];
          int const row = used[static_cast<std::size_t>(e)]++;
          c.row[k]      = row < s_.places ? (e * s_.groups + g) * s_.places + row : -1;
          if (c.row[k] >= 0) token_[static_cast<std::size_t>(c.row[k])] = t;
          if (k == 0) ++first_[static_cast<std::size_t>(g * s_.experts + e)];
        }
      for (int e = 0; e < s_.experts; ++e)
        loss += static_cast<double>(mean[static_cast<std::size_t>(e)]) *
                first_[static_cast<std::size_t>(g * s_.experts + e)];
    }
    return loss * s_.experts / s_.groups / s_.tokens / s_.tokens;
  }

  /// Softmax and the two experts of a token.
  void choose(int t, float* mean) {
    float* const p = probability_.get() + std::int64_t{t} * s_.experts;
    float highest  = p[0];
    for (int e = 1; e < s_.experts; ++e) highest = p[e] > highest ? p[e] : highest;
    float sum = 0;
    for (int e = 0; e < s_.experts; ++e) p[e] = exp_of_negative(p[e] - highest);
    for (int e = 0; e < s_.experts; ++e) sum += p[e];
    for (int e = 0; e < s_.experts; ++e) p[e] /= sum;
    for (int e = 0; e < s_.experts; ++e) mean[e] += p[e];
    choice& c   = choices_[static_cast<std::size_t>(t)];
    c.expert[0] = 0;
    for (int e = 1; e < s_.experts; ++e)
      if (p[e] > p[c.expert[0]]) c.expert[0] = e;
    c.expert[1] = c.expert[0] == 0 ? 1 : 0;
    for (int e = 0; e < s_.experts; ++e)
      if (e != c.expert[0] && p[e] > p[c.expert[1]]) c.expert[1] = e;
    c.total = p[c.expert[0]] + p[c.expert[1]];
    for (int k = 0; k < 2; ++k) c.weight[k] = p[c.expert[k]] / c.total;
  }

  double forward() {
    int const m = s_.model;
    int const h = s_.hidden;
    for (int row = 0; row < s_.experts * rows_; ++row) {
      float* const to = in_.get() + std::int64_t{row} * m;
      int const t     = token_[static_cast<std::size_t>(row)];
      if (t < 0) std::fill_n(to, m, 0.0f);
      else std::copy_n(x.get() + std::int64_t{t} * m, m, to);
    }
    for (int e = 0; e < s_.experts; ++e) {
      float* const before = before_.get() + std::int64_t{e} * rows_ * h;
      float* const inside = inside_.get() + std::int64_t{e} * rows_ * h;
      float* const out    = out_.get() + std::int64_t{e} * rows_ * m;
      gemm('N', 'N', rows_, h, m, in_.get() + std::int64_t{e} * rows_ * m, up.get() + std::int64_t{e} * m * h,
           before);
      float const* const b = up_bias_.get() + std::int64_t{e} * h;
      for (int r = 0; r < rows_; ++r)
        for (int j = 0; j < h; ++j) {
          float const y                   = before[std::int64_t{r} * h + j] + b[j];
          inside[std::int64_t{r} * h + j] = y / (1.0f + gelu_exponential(y));
        }
      gemm('N', 'N', rows_, m, h, inside, down.get() + std::int64_t{e} * h * m, out);
      float const* const c = down_bias_.get() + std::int64_t{e} * m;
      for (int r = 0; r < rows_; ++r)
        for (int j = 0; j < m; ++j) out[std::int64_t{r} * m + j] += c[j];
    }
    double task = 0;
    for (int t = 0; t < all_; ++t) {
      choice& c             = choices_[static_cast<std::size_t>(t)];
      float const* const dv = dz.get() + std::int64_t{t} * m;
      for (int k = 0; k < 2; ++k) {
        c.slope[k] = c.row[k] < 0 ? 0.0f : dot(out_.get() + std::int64_t{c.row[k]} * m, dv, m);
        task += static_cast<double>(c.row[k] < 0 ? 0.0f : c.weight[k] * c.slope[k]);
      }
    }
    return task;
  }

  static float dot(float const* a, float const* b, int n) {
    constexpr int lanes = 16;
    float sum[lanes]    = {};
    for (int j = 0; j < n; j += lanes)
      for (int l = 0; l < lanes; ++l) sum[l] += a[j + l] * b[j + l];
    float total = 0;
    for (float const v : sum) total += v;
    return total;
  }

  void backward() {
    int const m = s_.model;
    // in the place of what went out: its gradient
    std::fill_n(out_.get(), std::int64_t{s_.experts} * rows_ * m, 0.0f);
    for (int t = 0; t < all_; ++t) {
      choice const& c       = choices_[static_cast<std::size_t>(t)];
      float const* const dv = dz.get() + std::int64_t{t} * m;
      for (int k = 0; k < 2; ++k)
        if (c.row[k] >= 0)
          for (int j = 0; j < m; ++j) out_.get()[std::int64_t{c.row[k]} * m + j] = c.weight[k] * dv[j];
    }
    for (int e = 0; e < s_.experts; ++e) expert_gradient(e);
    std::fill_n(dx.get(), std::int64_t{all_} * m, 0.0f);
    for (int row = 0; row < s_.experts * rows_; ++row)
      if (int const t = token_[static_cast<std::size_t>(row)]; t >= 0)
        for (int j = 0; j < m; ++j) dx.get()[std::int64_t{t} * m + j] += in_.get()[std::int64_t{row} * m + j];
    for (int t = 0; t < all_; ++t) gate_gradient(t);
    gemm('T', 'N', m, s_.experts, all_, x.get(), slope_.get(), drouter.get());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, all_, m, s_.experts, 1.0f, slope_.get(), s_.experts,
                router.get(), s_.experts, 1.0f, dx.get(), m);
  }

  void expert_gradient(int e) {
    int const m         = s_.model;
    int const h         = s_.hidden;
    float* const in     = in_.get() + std::int64_t{e} * rows_ * m;
    float* const before = before_.get() + std::int64_t{e} * rows_ * h;
    float* const inside = inside_.get() + std::int64_t{e} * rows_ * h;
    float* const dout   = out_.get() + std::int64_t{e} * rows_ * m;
    add_up(dout, m, ddown_bias.get() + std::int64_t{e} * m);
    gemm('T', 'N', h, m, rows_, inside, dout, ddown.get() + std::int64_t{e} * h * m);
    gemm('N', 'T', rows_, h, m, dout, down.get() + std::int64_t{e} * h * m, inside);
    float const* const b = up_bias_.get() + std::int64_t{e} * h;
    for (int r = 0; r < rows_; ++r)
      for (int j = 0; j < h; ++j) {
        std::int64_t const i = std::int64_t{r} * h + j;
        float const y        = before[i] + b[j];
        float const fall     = gelu_exponential(y);
        float const phi      = 1.0f / (1.0f + fall);
        float const rest     = fall < 1.0f ? fall * phi : 1.0f - phi;
        inside[i] *= phi + y * phi * rest * (1.5957691216f + 0.2140644488f * y * y);
      }
    add_up(inside, h, dup_bias.get() + std::int64_t{e} * h);
    gemm('T', 'N', m, h, rows_, in, inside, dup.get() + std::int64_t{e} * m * h);
    gemm('N', 'T', rows_, m, h, inside, up.get() + std::int64_t{e} * m * h, in);
  }

  void add_up(float const* from, int n, float* to) const {
    std::fill_n(to, n, 0.0f);
    for (int r = 0; r < rows_; ++r)
      for (int j = 0; j < n; ++j) to[j] += from[std::int64_t{r} * n + j];
  }

  void gate_gradient(int t) {
    choice const& c      = choices_[static_cast<std::size_t>(t)];
    float const* const p = probability_.get() + std::int64_t{t} * s_.experts;
    float* const dp      = slope_.get() + std::int64_t{t} * s_.experts;
    int const* const f   = first_.data() + std::int64_t{t / s_.tokens} * s_.experts;
    float const each =
        balance * static_cast<float>(s_.experts) /
        (static_cast<float>(s_.groups) * static_cast<float>(s_.tokens) * static_cast<float>(s_.tokens));
    for (int e = 0; e < s_.experts; ++e) dp[e] = each * static_cast<float>(f[e]);
    float const both = c.slope[0] * c.weight[0] + c.slope[1] * c.weight[1];
    for (int k = 0; k < 2; ++k) dp[c.expert[k]] += (c.slope[k] - both) / c.total;
    float sum = 0;
    for (int e = 0; e < s_.experts; ++e) sum += p[e] * dp[e];
    for (int e = 0; e < s_.experts; ++e) dp[e] = p[e] * (dp[e] - sum);
  }

  experts_sizes s_;
  int all_;
  int rows_;  // of one expert
  buffer up_bias_;
  buffer down_bias_;
  buffer probability_;  // [groups tokens, experts]
  buffer slope_;        // of the logits
  buffer in_;           // [experts, groups, places, model]; later its gradient
  buffer before_;
  buffer inside_;
  buffer out_;
  std::vector<choice> choices_;
  std::vector<int> token_;  // of each row; -1: none
  std::vector<int> first_;  // of each group and expert: first choices
};

}  // namespace by_hand
