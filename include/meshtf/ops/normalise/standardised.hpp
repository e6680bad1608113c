// What batch_norm and group_norm have in common: elements about the mean of their group, scaled, and the
// backward pass.
#pragma once

#include <utility>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/reduce/variance.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// 1 / sqrt(variance + epsilon).
template<class T>
struct inverse_deviation : of_elements<3> {
  T epsilon;
  constexpr explicit inverse_deviation(T e) : epsilon(e) {}
  template<class V>
  constexpr V operator()(V const& variance) const {
    return math::reciprocal_sqrt(variance + V(epsilon));
  }
};

/// (x - centre) * slope + start.
struct line_about : of_elements<3> {
  constexpr auto operator()(auto const& x, auto const& centre, auto const& slope, auto const& start) const {
    return (x - centre) * slope + start;
  }
};

/// dz * (x - centre).
struct times_distance : of_elements<2> {
  constexpr auto operator()(auto const& dz, auto const& x, auto const& centre) const {
    return dz * (x - centre);
  }
};

/// dz * slope + y.
struct plus_product : of_elements<2> {
  constexpr auto operator()(auto const& dz, auto const& slope, auto const& y) const { return dz * slope + y; }
};

/// The gradient of elements of a group is a line about their mean, plus what comes to each: these are its
/// slope and its start. `part` is 1 / the number of elements.
template<class T>
struct slope_of_gradient : of_elements<4> {
  T part;
  constexpr explicit slope_of_gradient(T p) : part(p) {}
  template<class V>
  constexpr V operator()(V const& sum, V const& rstd) const {
    return -(V(part) * sum * rstd * rstd);
  }
};
template<class T>
struct start_of_gradient : of_elements<3> {
  T part;
  constexpr explicit start_of_gradient(T p) : part(p) {}
  template<class V>
  constexpr V operator()(V const& sum, V const& rstd) const {
    return -(V(part) * sum * rstd);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_OF(1, function::inverse_deviation)
MESHTF_COMPILE_MAP(4, function::line_about)
MESHTF_COMPILE_MAP_AND_SUM(3, function::times_distance)
MESHTF_COMPILE_MAP(3, function::plus_product)
MESHTF_COMPILE_MAP_OF(2, function::slope_of_gradient)
MESHTF_COMPILE_MAP_OF(2, function::start_of_gradient)

namespace detail {

/// `legal`, or why these vectors can't scale elements of `X`: they have its layout, and its elements or those
/// that it is computed in.
template<Operand X, Tensor... Vector>
using scales_fit = first_objection<
    fit_verdict<tensor<computed<element_in<X>>, layout_in<X>>,
                tensor<computed<typename Vector::element_type>, typename Vector::layout_type>>...>;

/// `x` where operations compute in its elements; otherwise widened.
template<class T, class L, class... D>
constexpr decltype(auto) computed_in(tensor<T, L, D...> const& x) {
  if constexpr (NarrowElement<T>) return widened(x);
  else return (x);
}

/// The dimensions of `X` that a group or its scale has, in the order of the scale if it has all of them.
template<class X, class Row, class Scale>
using group_and_scale =
    std::conditional_t<without<Row, Scale>::rank == 0, Scale, without<X, without<X, united<Row, Scale>>>>;

/// Gives `x` the sums of `g` over the dimensions that it lacks; they are unreduced over the unreduced axes of
/// `g`, too.
template<class T, class L, class... D, class G>
constexpr void contribute_sums(tensor<T, L, D...> const& x, local_result<G> const& g) {
  if constexpr (std::is_same_v<shape<D...>, typename G::shape_type>) {
    contribute(x, g);
  } else {
    auto const sums = reduced<reduction::sum, shape<D...>>(function::identity{}, g.value);
    contribute(x, sums.value, sums.unreduced | g.unreduced, g.unreduced != 0 ? g.why : sums.why);
  }
}

/// The sums of `g` times `scale` over the dimensions that `Row` lacks.
template<class Row, class G, class S>
constexpr auto scaled_sums(local_result<G> const& g, S const& scale) {
  auto sums = reduced<reduction::sum, Row>(function::times{}, g.value, scale);
  sums.unreduced |= g.unreduced;
  if (g.unreduced != 0) sums.why = g.why;
  return sums;
}

/// Finishes two partial sums that nobody else reads and that are unreduced over the same axes. They travel in
/// one message: a number for each channel or group is copied sooner than a second message is sent.
template<class Sum>
constexpr void finish_together(local_result<Sum>& x, local_result<Sum>& y) {
  using T      = typename Sum::element_type;
  using M      = std::remove_cvref_t<decltype(x.value.machine())>;
  auto& m      = x.value.machine();
  auto const n = x.value.handle()->size();
  m.if_joined(
      x.unreduced,
      [&] {
        storage<T, M> buffer{m, n * 2};
        T* const second = array_at<M>(buffer.data(), n);
        m.copy(n, static_cast<T const*>(x.value.data()), buffer.data());
        m.copy(n, static_cast<T const*>(y.value.data()), second);
        m.because(x.why);
        m.all_reduce(reduction::sum, buffer.data(), n * 2, x.unreduced);
        m.copy(n, static_cast<T const*>(buffer.data()), x.value.data());
        m.copy(n, static_cast<T const*>(second), y.value.data());
      },
      [] {});
  x.unreduced = y.unreduced = 0;
}

/// The backward pass where the statistics are those of `x`, so that each element has a part in them. `part`
/// is 1 / the elements of a group.
template<class Row, class X, class Mean, class Slope, class S, class B, class Z>
constexpr void pull_back_standardised(kept<X> const& x, Mean const& mean, Mean const& rstd,
                                      Slope const& slope, kept<S> const& scale, B const& bias, Z const& dz,
                                      typename Mean::element_type part) {
  using T    = typename Mean::element_type;
  using L    = actual<typename X::layout_type>;
  using in   = typename X::shape_type;
  using both = typename Slope::shape_type;
  auto& m    = dz.machine();
  auto sums  = reduced<reduction::sum, both>(function::identity{}, dz);
  auto turns = reduced<reduction::sum, both>(function::times_distance{}, dz, x.value(), mean);
  run_map(m, nest_plan<L, both, both, Row>::local, function::times{}, turns.value.data(),
          std::as_const(turns.value).data(), rstd.data());
  // the gradients of scale and bias are what that of x needs: they are sent once
  if constexpr (std::is_same_v<both, Row>) {
    if (x.needs_gradient()) finish_together(sums, turns);
  }
  if (bias.needs_gradient()) contribute_sums(bias, sums);
  if (scale.needs_gradient()) contribute_sums(scale.target(), turns);
  if (!x.needs_gradient()) return;
  auto by_scale       = scaled_sums<Row>(sums, scale.value());
  auto turns_by_scale = scaled_sums<Row>(turns, scale.value());
  if constexpr (!std::is_same_v<both, Row>) finish_together(by_scale, turns_by_scale);
  auto const start = each<T, Row>(function::start_of_gradient<T>{part}, by_scale.value, rstd);
  auto const bend  = each<T, Row>(function::slope_of_gradient<T>{part}, turns_by_scale.value, rstd);
  auto dx          = each<T, in>(function::line_about{}, x.value(), mean, bend, start);
  run_map(m, nest_plan<L, in, in, both, in>::local, function::plus_product{}, dx.data(), dz.data(),
          slope.data(), std::as_const(dx).data());
  contribute(x.target(), dx);
}

/// (x - mean) * rstd * scale + bias, where the statistics of each index of `Row` are those of `x`.
template<class Row, class T, class L, class... X, class Mean, class S, class B>
constexpr auto standardised(tensor<T, L, X...> const& x, Mean const& mean, Mean const& rstd, S const& scale,
                            B const& bias, T part) {
  auto const slope =
      each<T, group_and_scale<shape<X...>, Row, typename S::shape_type>>(function::times{}, rstd, scale);
  auto z = each<T, shape<X...>>(function::line_about{}, x, mean, slope, bias);
  if (wants_gradient(x, scale, bias))
    record(z, [x = keep(x), mean, rstd, slope, scale = keep(scale, x.needs_gradient()),
               bias = bias.without_value(), part](auto const& dz) {
      pull_back_standardised<Row>(x, mean, rstd, slope, scale, bias, dz, part);
    });
  return z;
}

/// Mean and variance of the elements of each index of `Row`, and 1 / their number.
template<class Tensor, class T>
struct statistics_of {
  Tensor mean;
  Tensor variance;
  T part;
};
template<class Row, class T, class L, class... X>
constexpr auto statistics(tensor<T, L, X...> const& x) {
  T const part  = T{1} / static_cast<T>(x.machine().counted().size_of(without<shape<X...>, Row>{}));
  auto mean     = finished(reduced<reduction::sum, Row>(function::scaled<T>{part}, x));
  auto variance = finished(reduced<reduction::sum, Row>(function::squared_distance<T>{part}, x, mean));
  return statistics_of<tensor_of<T, L, Row>, T>{std::move(mean), std::move(variance), part};
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
