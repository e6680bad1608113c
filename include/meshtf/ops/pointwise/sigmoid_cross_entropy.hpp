// sigmoid_cross_entropy: the loss of independent yes-or-no questions.
#pragma once

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sigmoid_cross_entropy_of_logit : of_elements<6> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    using math::abs;
    using math::exp;
    using math::select;
    V const e = exp(-abs(x));
    return dz * (select(x < V(0), e, V(1)) / (V(1) + e) - y);
  }
};
struct sigmoid_cross_entropy_of_target : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const&) const {
    return -(dz * x);
  }
};

struct sigmoid_cross_entropy : of_elements<8> {
  static constexpr char const* name       = "sigmoid_cross_entropy";
  static constexpr algebra::meeting meets = algebra::meeting::nonlinear;
  static constexpr algebra::use used      = algebra::use::nonlinear;
  using gradient = by_operands<sigmoid_cross_entropy_of_logit, sigmoid_cross_entropy_of_target>;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::abs;
    using math::exp;
    using math::log1p;
    using math::max;
    return max(V(0), x) - x * y + log1p(exp(-abs(x)));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(2, function::sigmoid_cross_entropy)
MESHTF_COMPILE_MAP(3, function::sigmoid_cross_entropy_of_logit)
MESHTF_COMPILE_MAP(3, function::sigmoid_cross_entropy_of_target)

/// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) for each element: the loss of the logit x if the answer
/// is yes with probability y. It is computed as max(x, 0) - x y + log(1 + exp(-|x|)), which neither overflows
/// nor loses digits. Two tensors, broadcast to one another, or a tensor and a number. Nothing is sent.
/// Gradients: dz (sigmoid(x) - y) and -dz x, which are unreduced over the axes of the dimensions that their
/// operand lacks.
template<class X, class Y>
  requires detail::FloatingAndOther<X, Y>
constexpr auto sigmoid_cross_entropy(X const& x, Y const& y,
                                     std::source_location at = std::source_location::current()) {
  static_assert(
      accepted<detail::of_two_verdict<function::sigmoid_cross_entropy, X, Y>>,
      "meshtf: sigmoid_cross_entropy needs a finished value: write sigmoid_cross_entropy(finish(x), y)");
  return detail::pointwise<function::sigmoid_cross_entropy>(x, y, at);
}

MESHTF_ACCEPT_REJECTED(sigmoid_cross_entropy)

}  // namespace v0
}  // namespace meshtf
