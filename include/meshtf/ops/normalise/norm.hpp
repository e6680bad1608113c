// layer_norm and rms_norm along a dimension that may be split, and residual_layer_norm: a residual sum and
// its layer norm in one pass.
#pragma once

#include <concepts>
#include <utility>

#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/plan/norm_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// What `residual_layer_norm` returns: `auto [h, normed] = residual_layer_norm<model>(x, y, scale, bias);`
template<class Tensor>
struct residual_norm {
  Tensor sum;
  Tensor norm;
};

namespace detail {

/// The element type that a vector must have to scale rows of `T`s, or be added to them: theirs, or the one
/// that they are computed in.
template<class T, class Vector>
using element_beside = std::conditional_t<std::same_as<typename Vector::element_type, computed<T>>, T,
                                          typename Vector::element_type>;

/// `legal`, or the objection to a normalisation of `X` along `Along` with these vectors.
template<Operand X, class Along, Tensor... Vector>
using vectors_verdict = first_objection<
    fit_verdict<tensor<element_in<X>, layout_in<X>>,
                tensor<element_beside<element_in<X>, Vector>, typename Vector::layout_type>>...,
    norm_verdict<actual<layout_in<X>>, shape_in<X>, Along, typename Vector::shape_type...>>;

/// A scale or a bias as the kernels read it, in the type that is computed with. Of a parameter: its tensor.
template<class T, class L, class Along>
constexpr decltype(auto) wide_vector(tensor<T, L, Along> const& v) {
  if constexpr (NarrowElement<T>) return widened(v);
  else return (v);
}

/// Statistics and result. Where rows are split, the processes first exchange two numbers a row (RMS norm:
/// one) in double.
template<class Plan, bool Centred, class T, class M>
constexpr void run_norm(M& m, double epsilon, norm_arrays<T> const& arrays, bool adds) {
  m.if_joined(
      Plan::finished_over,
      [&] {
        constexpr auto n = Plan::template numbers<Centred>;
        storage<double, M> moments{m, n};
        m.run(task::row_moments<T>{{Centred, adds}}, Plan::lines, arrays, moments.data());
        m.all_reduce(reduction::sum, moments.data(), n, Plan::finished_over);
        m.run(task::normalise_by<T>{{Centred}, epsilon}, Plan::lines, arrays,
              static_cast<double const*>(moments.data()));
      },
      [&] { m.run(task::normalise<T>{{Centred, adds}, epsilon}, Plan::lines, arrays); });
}

template<class Plan, bool Centred, class T, class M>
constexpr void run_norm_gradient(M& m, norm_wishes const& wants, norm_gradient_arrays<T> const& arrays) {
  m.if_joined(
      Plan::finished_over,
      [&] {
        auto n = Plan::template numbers<Centred>;
        if (!wants.x) n = 0;
        storage<computed<T>, M> sums{m, n};
        m.run(task::norm_gradient_sums<T>{{Centred, wants}}, Plan::lines, arrays, sums.data());
        if (!wants.x) return;
        m.all_reduce(reduction::sum, sums.data(), n, Plan::finished_over);
        m.run(task::norm_gradient_by<T>{{Centred, wants}}, Plan::lines, arrays,
              static_cast<computed<T> const*>(sums.data()));
      },
      [&] { m.run(task::norm_gradient<T>{{Centred, wants}}, Plan::lines, arrays); });
}

/// Gives `x` a gradient that `compute(adds, before, dx)` writes. If `x` already has one, the same pass adds
/// the two up.
template<class T, class L, class... D, class F>
constexpr void contribute_in_one_pass(tensor<T, L, D...> const& x, F const& compute) {
  auto& m    = x.machine();
  auto& slot = x.slot();
  expect_tape(slot.consumed, m.now());
  if (slot.sum) m.must_know(slot.unreduced);
  // Not in one pass: if the first contribution is a partial sum, since this one is whole; of counted
  // dimensions, since what is not counted is cleared.
  if ((CountedDimension<D> || ...) || (slot.sum && slot.unreduced != 0)) {
    auto dx = tensor<T, L, D...>::uninitialised(m);
    compute(false, static_cast<T const*>(nullptr), dx.data());
    contribute(x, dx);
    return;
  }
  if (!slot.sum) {
    slot.sum = tensor<T, L, D...>::uninitialised(m).handle();
    compute(false, static_cast<T const*>(nullptr), slot.sum->data());
    return;
  }
  auto const before = std::move(slot.sum);
  if (before.alone()) slot.sum = before;
  else  // others read this buffer, so it is not overwritten
    slot.sum = tensor<T, L, D...>::uninitialised(m).handle();
  compute(true, static_cast<T const*>(before->data()), slot.sum->data());
}

/// The gradients of x (which was normalised), scale and bias; where rows are whole, in one pass over dz and
/// x.
template<class Plan, bool Centred, class X, class Row, class S, class B, class Z>
constexpr void pull_back_norm(kept<X> const& x, Row const* mean, Row const& rstd, kept<S> const& scale,
                              B const* bias, Z const& dz) {
  using T = typename X::element_type;
  auto& m = dz.machine();
  m.because(&reason_to_sum<actual<typename X::layout_type>, typename X::shape_type>);
  norm_wishes wants{x.needs_gradient(), scale.needs_gradient(), bias != nullptr && bias->needs_gradient()};
  norm_gradient_arrays<T> arrays{
      .x = x.value().data(), .rstd = rstd.data(), .scale = scale.value().data(), .dz = dz.data()};
  if (mean != nullptr) arrays.mean = mean->data();

  using vector = typename S::handle_type;
  vector dscale;
  vector dbias;
  if (wants.scale) {
    dscale        = vector::make(m, m, S::size);
    arrays.dscale = dscale->data();
  }
  if (wants.bias) {
    dbias        = vector::make(m, m, S::size);
    arrays.dbias = dbias->data();
  }
  if (wants.x)
    contribute_in_one_pass(x.target(), [&](bool adds, T const* before, T* dx) {
      wants.adds    = adds;
      arrays.before = before;
      arrays.dx     = dx;
      run_norm_gradient<Plan, Centred>(m, wants, arrays);
    });
  else run_norm_gradient<Plan, Centred>(m, wants, arrays);
  if (wants.scale) contribute(scale.target(), S{m, std::move(dscale)}, Plan::scale_unreduced);
  if (wants.bias) contribute(*bias, B{m, std::move(dbias)}, Plan::scale_unreduced);
}

/// The layer norm of x; with `adds`, that of x + y, which is written to `of`.
template<class Plan, class T, class L, class... X, class S>
constexpr auto centred_norm(tensor<T, L, X...>& input, T const* x, T const* y, S const& scale, S const& bias,
                            double epsilon, bool adds) {
  auto& m   = input.machine();
  auto mean = tensor_of<computed<T>, L, typename Plan::row>::uninitialised(m);
  auto rstd = tensor_of<computed<T>, L, typename Plan::row>::uninitialised(m);
  auto z    = tensor<T, L, X...>::uninitialised(m);
  norm_arrays<T> arrays{.x     = x,
                        .scale = scale.data(),
                        .bias  = bias.data(),
                        .mean  = mean.data(),
                        .rstd  = rstd.data(),
                        .z     = z.data()};
  if (adds) {
    arrays.added = y;
    arrays.sum   = input.data();
  }
  m.because(&reason_to_sum<actual<L>, shape<X...>>);
  run_norm<Plan, true>(m, epsilon, arrays, adds);

  if (wants_gradient(input, scale, bias))
    record(z, [x = keep(input), mean, rstd, scale = keep(scale), bias = bias.without_value()](
                  auto const& dz) { pull_back_norm<Plan, true>(x, &mean, rstd, scale, &bias, dz); });
  return z;
}

}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance along `Along` (that of all
/// elements, not an estimate).
///
/// One pass over memory where `Along` is whole and innermost. Where it is split, two passes: in between, one
/// all-reduce joins the sum and the sum of squares of each part of a row. It is in double, so the variance of
/// float rows is right even where the mean is a million times the deviation (for double rows, the error is
/// 1e-16 times the square of that ratio). The gradient sends one all-reduce of two numbers a row. The tape
/// keeps x, and the mean and deviation of each row. The gradient of x needs no reduction; those of scale and
/// bias are unreduced over the axes that split the rows. Rows of bfloat16 are widened and rounded in the same
/// pass; their scale and bias may be float.
/// Source: Ba, Kiros, Hinton, Layer Normalization (2016).
template<Dimension Along, detail::FloatingOperand X, Tensor S, Tensor B>
constexpr auto layer_norm(X const& operand, S const& scale, B const& bias, double epsilon = 1e-5,
                          std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using plan    = norm_plan<actual<L>, detail::shape_in<X>, Along>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = detail::vectors_verdict<X, Along, S, B>;
  static_assert(accepted<whole>,
                "meshtf: layer_norm needs a finished value: write layer_norm<...>(finish(x), ...)");
  static_assert(accepted<verdict>, "meshtf: layer_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("layer_norm", at);
    auto input          = x;
    auto const& factor  = detail::wide_vector(scale);
    auto const& shifted = detail::wide_vector(bias);
    return detail::centred_norm<plan>(input, x.data(), static_cast<T const*>(nullptr), factor, shifted,
                                      epsilon, false);
  }
}

/// x / sqrt(mean of squares + epsilon) * scale along `Along`. Sends the same messages as `layer_norm`, with
/// one number a row.
/// Source: Zhang, Sennrich, Root Mean Square Layer Normalization (2019).
template<Dimension Along, detail::FloatingOperand X, Tensor S>
constexpr auto rms_norm(X const& operand, S const& scale, double epsilon = 1e-5,
                        std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using plan    = norm_plan<actual<L>, detail::shape_in<X>, Along>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = detail::vectors_verdict<X, Along, S>;
  static_assert(accepted<whole>,
                "meshtf: rms_norm needs a finished value: write rms_norm<...>(finish(x), ...)");
  static_assert(accepted<verdict>, "meshtf: rms_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(operand);
    auto& m       = x.machine();
    m.begin_operation("rms_norm", at);
    using vector       = tensor<computed<T>, L, Along>;
    using row          = tensor_of<computed<T>, L, typename plan::row>;
    auto const& factor = detail::wide_vector(scale);
    auto rstd          = row::uninitialised(m);
    auto z             = detail::tensor_in<X>::uninitialised(m);
    m.because(&detail::reason_to_sum<actual<L>, detail::shape_in<X>>);
    detail::run_norm<plan, false>(
        m, epsilon, norm_arrays<T>{.x = x.data(), .scale = factor.data(), .rstd = rstd.data(), .z = z.data()},
        false);

    if (detail::wants_gradient(x, factor))
      detail::record(z, [x = detail::keep(x), rstd, scale = detail::keep(factor)](auto const& dz) {
        detail::pull_back_norm<plan, false>(x, static_cast<row const*>(nullptr), rstd, scale,
                                            static_cast<vector const*>(nullptr), dz);
      });
    return z;
  }
}

/// x + y and its `layer_norm`, in one pass: the same numbers and the same messages as the two operations. The
/// gradient that the sum gets from elsewhere is also added to the norm's gradient in one pass.
template<Dimension Along, detail::FloatingOperand X, Tensor Y, Tensor S, Tensor B>
constexpr auto residual_layer_norm(X const& operand, Y const& addend, S const& scale, B const& bias,
                                   double epsilon          = 1e-5,
                                   std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using plan    = norm_plan<actual<L>, in, Along>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using added   = std::conditional_t<std::same_as<in, typename Y::shape_type>, legal,
                                     addend_has_other_dims<in, typename Y::shape_type>>;
  using verdict = first_objection<
      detail::fit_verdict<tensor<T, L>, tensor<typename Y::element_type, typename Y::layout_type>>, added,
      detail::vectors_verdict<X, Along, S, B>>;
  static_assert(
      accepted<whole>,
      "meshtf: residual_layer_norm needs a finished value: write residual_layer_norm<...>(finish(x), ...)");
  static_assert(accepted<verdict>, "meshtf: residual_layer_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return residual_norm<rejected>{};
  } else {
    auto const& x = detail::local_terms(operand);
    auto const& y = detail::local_terms(addend);
    auto& m       = x.machine();
    m.begin_operation("residual_layer_norm", at);
    auto sum = detail::tensor_in<X>::uninitialised(m);
    if (detail::wants_gradient(x, y))
      detail::record(sum, [x = x.without_value(), y = y.without_value()](auto const& dz) {
        if (x.needs_gradient()) detail::contribute(x, dz);
        if (y.needs_gradient()) detail::contribute(y, dz);
      });
    auto const& factor  = detail::wide_vector(scale);
    auto const& shifted = detail::wide_vector(bias);
    auto norm           = detail::centred_norm<plan>(sum, x.data(), y.data(), factor, shifted, epsilon, true);
    return residual_norm<detail::tensor_in<X>>{std::move(sum), std::move(norm)};
  }
}

MESHTF_ACCEPT_REJECTED(layer_norm)
MESHTF_ACCEPT_REJECTED(rms_norm)
MESHTF_ACCEPT_REJECTED_AS(residual_norm<rejected>, residual_layer_norm)

}  // namespace v0
}  // namespace meshtf
