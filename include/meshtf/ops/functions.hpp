// The functions of elements that operations are made of. Each works on a number and on a batch of numbers.
#pragma once

#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>

namespace meshtf::inline v0::function {

/// A constant that single precision rounds, as a number or a batch of numbers.
template<class V>
constexpr V rounded(double c) {
  if constexpr (requires { typename V::value_type; }) return V(static_cast<typename V::value_type>(c));
  else return static_cast<V>(c);
}

struct negated : of_elements<1> {
  constexpr auto operator()(auto const& x) const { return -x; }
};
struct first : of_elements<0> {
  constexpr auto operator()(auto const& x, auto const&) const { return x; }
};
struct minus : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x - y; }
};
struct over : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x / y; }
};

// ---- with a number, which takes the element type of the tensor

template<class T>
struct scaled : of_elements<1> {
  T by;
  constexpr explicit scaled(T b) : by(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x * V(by);
  }
};
template<class T>
struct shifted : of_elements<1> {
  T by;
  constexpr explicit shifted(T b) : by(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x + V(by);
  }
};
template<class T>
struct subtracted_from : of_elements<1> {
  T from;
  constexpr explicit subtracted_from(T f) : from(f) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return V(from) - x;
  }
};
template<class T>
struct divided_by : of_elements<1> {
  T by;
  constexpr explicit divided_by(T b) : by(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x / V(by);
  }
};
template<class T>
struct dividing : of_elements<1> {
  T what;
  constexpr explicit dividing(T w) : what(w) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return V(what) / x;
  }
};

// ---- of one variable

struct exp : of_elements<1> {
  constexpr auto operator()(auto const& x) const {
    using math::exp;
    return exp(x);
  }
};
struct log : of_elements<1> {
  constexpr auto operator()(auto const& x) const {
    using math::log;
    return log(x);
  }
};
struct sqrt : of_elements<1> {
  constexpr auto operator()(auto const& x) const {
    using math::sqrt;
    return sqrt(x);
  }
};
struct rsqrt : of_elements<2> {
  constexpr auto operator()(auto const& x) const { return math::reciprocal_sqrt(x); }
};
struct square : of_elements<1> {
  constexpr auto operator()(auto const& x) const { return x * x; }
};
struct tanh : of_elements<1> {
  constexpr auto operator()(auto const& x) const {
    using math::tanh;
    return tanh(x);
  }
};
struct sigmoid : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& x) const {
    // through tanh, which overflows nowhere
    using math::tanh;
    return V(0.5) * tanh(V(0.5) * x) + V(0.5);
  }
};
struct relu : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::max;
    return max(V(0), x);   // in this order a NaN goes on
  }
};
/// x * Phi(x) with Phi by tanh. Source: Hendrycks, Gimpel, Gaussian Error Linear Units (2016).
///
/// (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), and exp is the faster of the two; the gradient loses fewer digits with it, too.
struct gelu : of_elements<8> {
  template<class V>
  static constexpr V exponential(V const& x) {   // exp(-2u)
    using math::exp;
    return exp(x * (rounded<V>(-2 * 0.7978845608028654) - rounded<V>(2 * 0.7978845608028654 * 0.044715) * x * x));
  }
  template<class V>
  constexpr V operator()(V const& x) const {
    return x / (V(1) + exponential(x));
  }
};

// ---- their derivatives, times the gradient dz that arrives; of the operand x or of the result z, whichever is cheaper

struct log_gradient : of_elements<1> {
  constexpr auto operator()(auto const& dz, auto const& x) const { return dz / x; }
};
struct sqrt_gradient : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return V(0.5) * dz / z;
  }
};
struct rsqrt_gradient : of_elements<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return V(-0.5) * dz * z * z * z;
  }
};
struct square_gradient : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    return V(2) * x * dz;
  }
};
struct tanh_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return dz * (V(1) - z * z);
  }
};
struct sigmoid_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return dz * z * (V(1) - z);
  }
};
struct relu_gradient : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    using math::select;
    return select(z > V(0), dz, V(0));
  }
};
struct gelu_gradient : of_elements<14> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    using math::select;
    V const e     = gelu::exponential(x);
    V const phi   = V(1) / (V(1) + e);
    V const rest  = select(e < V(1), e * phi, V(1) - phi);   // 1 - phi, without cancelling
    V const slope = rounded<V>(2 * 0.7978845608028654) + rounded<V>(6 * 0.7978845608028654 * 0.044715) * x * x;
    return dz * (phi + x * phi * rest * slope);
  }
};

// ---- of several variables

struct quotient_gradient : of_elements<3> {   // of x / y for y, by its result z
  constexpr auto operator()(auto const& dz, auto const& z, auto const& y) const { return -(dz * z / y); }
};
struct reciprocal_gradient : of_elements<3> {   // of c / x, by its result z
  constexpr auto operator()(auto const& dz, auto const& z, auto const& x) const { return -(dz * z / x); }
};
struct where_equal : of_elements<1> {   // dz where x is the z that was chosen
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& z) const {
    using math::select;
    return select(x == z, dz, V(0));
  }
};
struct exp_of_difference : of_elements<2> {
  constexpr auto operator()(auto const& x, auto const& y) const {
    using math::exp;
    return exp(x - y);
  }
};
struct softmax_gradient : of_elements<2> {
  constexpr auto operator()(auto const& y, auto const& dy, auto const& inner) const { return y * (dy - inner); }
};
struct log_softmax_gradient : of_elements<3> {
  constexpr auto operator()(auto const& y, auto const& dy, auto const& total) const {
    using math::exp;
    return dy - exp(y) * total;
  }
};
struct log_plus : of_elements<2> {
  constexpr auto operator()(auto const& total, auto const& peak) const {
    using math::log;
    return log(total) + peak;
  }
};
template<class T>
struct smoothed_cross_entropy : of_elements<6> {
  T smoothing, z_loss;   // smoothing: of each class
  T target;              // what is left for the target
  constexpr smoothed_cross_entropy(T s, T z, T t) : smoothing(s), z_loss(z), target(t) {}
  template<class V>
  constexpr V operator()(V const& log_total, V const& picked, V const& total) const {
    return log_total - V(target) * picked - V(smoothing) * total + V(z_loss) * log_total * log_total;
  }
};
template<class T>
struct smoothed_cross_entropy_gradient : of_elements<7> {   // without the target's own
  T smoothing, z_loss;
  constexpr smoothed_cross_entropy_gradient(T s, T z) : smoothing(s), z_loss(z) {}
  template<class V>
  constexpr V operator()(V const& logit, V const& log_total, V const& dz) const {
    using math::exp;
    return dz * (exp(logit - log_total) * (V(1) + V(2) * V(z_loss) * log_total) - V(smoothing));
  }
};
struct cross_entropy_gradient : of_elements<3> {   // without the target's own -1
  constexpr auto operator()(auto const& logit, auto const& log_total, auto const& dz) const {
    using math::exp;
    return exp(logit - log_total) * dz;
  }
};

}  // namespace meshtf::inline v0::function
