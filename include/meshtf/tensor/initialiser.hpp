// Initialisers: the first values of parameters, which are the same globally under every layout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <meshtf/plan/random_plan.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The last dimension of a weight is what it maps to, all others are what it maps from. A vector maps from
/// its only dimension.
template<class S>
struct fans;

template<class... D>
struct fans<shape<D...>> {
  static constexpr extent last = [] {
    extent n = 1;
    ((n = D::size), ...);
    return n;
  }();
  static constexpr double out = static_cast<double>(last);
  static constexpr double in  = sizeof...(D) > 1 ? static_cast<double>(shape<D...>::size / last) : out;
};

/// Under a dry layout nothing is drawn, and std::sqrt is not a constant expression everywhere.
template<class L>
constexpr double root(double x) {
  if constexpr (is_dry<L>) return x;
  else return std::sqrt(x);
}

template<class T, class L, class... D, class Distribution>
constexpr void draw_into(tensor<T, L, D...>& w, Distribution const& distribution) {
  w.machine().run(task::draw<T, Distribution>{distribution}, shard_plan<actual<L>, shape<D...>>, w.data());
}

}  // namespace detail

/// All elements 0.
struct zeros {
  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    w.machine().fill(w.size, T{}, w.data());
  }
};

/// All elements of the same value.
struct constant {
  double value = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    w.machine().fill(w.size, static_cast<T>(value), w.data());
  }
};

/// Normal with the given mean and standard deviation. Parameters of equal seed and shape start with equal
/// values, so give each its own seed.
struct normal {
  std::uint64_t seed = 0;
  double stddev      = 1;
  double mean        = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    detail::draw_into(w, normal_distribution{{.seed = seed}, mean, stddev});
  }
};

/// Normal, drawn again while it is further from the mean than two of the given standard deviations. What
/// remains has 0.88 of that deviation.
struct truncated_normal {
  std::uint64_t seed = 0;
  double stddev      = 1;
  double mean        = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    detail::draw_into(w, truncated_normal_distribution{{.seed = seed}, mean, stddev});
  }
};

/// Uniform in [low, high).
struct uniform {
  std::uint64_t seed = 0;
  double low         = 0;
  double high        = 1;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    detail::draw_into(w, uniform_distribution{{.seed = seed}, low, high});
  }
};

/// What a weight maps from, what it maps to, or the mean of both.
enum class fan { in, out, average };

/// Truncated normal with standard deviation sqrt(scale / fan), or uniform between +-sqrt(3 scale / fan). `in`
/// and `out` are the sizes that a weight maps from and to, where its last dimension alone is not what it maps
/// to: `{.seed = 1, .in = model::size, .out = heads::size * key::size}`.
/// Source: the initialiser of that name in Mesh TensorFlow and TensorFlow.
struct variance_scaling {
  std::uint64_t seed = 0;
  double scale       = 1;
  fan mode           = fan::in;
  bool is_uniform    = false;
  // 0: from the dimensions
  extent in  = 0;
  extent out = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    using fans        = detail::fans<shape<D...>>;
    double const from = in > 0 ? static_cast<double>(in) : fans::in;
    double const to   = out > 0 ? static_cast<double>(out) : fans::out;
    double n          = (from + to) / 2;
    if (mode == fan::in) n = from;
    if (mode == fan::out) n = to;
    n = std::max(1.0, n);
    if (is_uniform) {
      double const limit = detail::root<L>(3 * scale / n);
      detail::draw_into(w, uniform_distribution{{.seed = seed}, -limit, limit});
    } else {
      detail::draw_into(w, truncated_normal_distribution{{.seed = seed}, 0, detail::root<L>(scale / n)});
    }
  }
};

/// Normal with standard deviation sqrt(2 / fan in), for layers that a relu follows.
/// Source: He et al., Delving Deep into Rectifiers (2015).
struct he_normal {
  std::uint64_t seed = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    detail::draw_into(
        w, normal_distribution{{.seed = seed}, 0, detail::root<L>(2 / detail::fans<shape<D...>>::in)});
  }
};

/// Uniform between +-sqrt(6 / (fan in + fan out)).
/// Source: Glorot, Bengio, Understanding the difficulty of training deep feedforward neural networks (2010).
struct glorot_uniform {
  std::uint64_t seed = 0;

  template<class T, class L, class... D>
  constexpr void operator()(tensor<T, L, D...>& w) const {
    double const limit =
        detail::root<L>(6 / (detail::fans<shape<D...>>::in + detail::fans<shape<D...>>::out));
    detail::draw_into(w, uniform_distribution{{.seed = seed}, -limit, limit});
  }
};

}  // namespace v0
}  // namespace meshtf
