// max_and_argmax and min_and_argmin: an extreme along a dimension together with its index.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/index/one_hot.hpp>
#include <meshtf/ops/reduce/value_and_index.hpp>
#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// Turns the order of numbers around; twice, it changes nothing. The negative of the smallest integer does
/// not exist, its complement does.
struct reversed_order : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x) const {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(~x);
    else return -x;
  }
};

/// dz, or NaN where the value is NaN.
struct nan_of_nan : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& dz, V const& value) const {
    using math::select;
    return select(value == value, dz, value);
  }
};

/// dz where `index` is the index of the element.
struct where_found {
  static constexpr extent flops = 1;
  template<class T>
  constexpr T operator()(T dz, std::int32_t index, std::int32_t here) const {
    return index == here ? dz : T{};
  }
};

}  // namespace function

namespace detail {

/// The extreme and its index of f(x), where f keeps or reverses the order; `value` is f of the extreme.
template<class Along, class F, class T, class L, class... D>
constexpr auto extreme_and_index(F const& f, char const* name, std::source_location at,
                                 tensor<T, L, D...> const& x) {
  using in   = shape<D...>;
  using plan = argmax_plan<actual<L>, in, Along>;
  using row  = typename plan::result;
  using C    = computed<T>;
  auto& m    = x.machine();
  m.begin_operation(name, at);

  auto index = tensor_of<std::int32_t, L, row>::uninitialised(m);
  auto best  = tensor_of<C, L, row>::uninitialised(m);
  if constexpr (std::is_same_v<F, function::identity> && !NarrowElement<T>) {
    m.run(task::argmax<C>{}, plan::lines, x.data(), best.data(), index.data());
  } else {
    auto const turned = each<C, in>(f, x);
    m.run(task::argmax<C>{}, plan::lines, turned.data(), best.data(), index.data());
  }
  auto peak = copied(best);
  if constexpr (plan::finished_over != 0) {
    m.because(&reason_to_sum<actual<L>, in>);
    m.all_reduce(reduction::max, peak.data(), peak.size, plan::finished_over);
    m.if_joined(
        plan::finished_over,
        [&] {
          m.run(task::forget_smaller<C>{}, shard_plan<actual<L>, row>, std::as_const(best).data(),
                std::as_const(peak).data(), index.data());
          m.because(&reason_to_take_the_first);
          m.all_reduce(reduction::min, index.data(), index.size, plan::finished_over);
        },
        [] {});
  }
  auto value = each<T, row>(f, peak);
  if constexpr (FloatingElement<T>)
    if (wants_gradient(x))
      record(value, [x = x.without_value(), value = keep(value), index = keep(index)](auto const& dz) {
        auto const known = each<T, row>(function::nan_of_nan{}, dz, value.value());
        auto const here  = indices<std::int32_t, L, Along>(dz.machine());
        contribute(x, each<T, in>(function::where_found{}, known, index.value(), here));
      });
  return value_and_index<decltype(value), decltype(index)>{std::move(value), std::move(index)};
}

}  // namespace detail

/// For each element of the other dimensions, an extreme along `Along` and its index, or that of the first of
/// several; a NaN is taken for the extreme.
///
///     auto const [value, index] = max_and_argmax<vocab>(logits);
///
/// The index is an int, so `Along` has at most 2^31 elements. Where `Along` is split, two all-reduces of one
/// number for each remaining element: one joins the extremes, the other takes the smallest index that has
/// them. Gradient: dz of the value, NaN if the value is NaN, goes to the element at the index, and to no
/// other that equals it; it sends nothing and needs no reduction. The index has none.

/// The largest element along `Along` and its index.
template<Dimension Along, detail::NumberOperand X>
constexpr auto max_and_argmax(X const& x, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = typename argmax_plan<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>::verdict;
  static_assert(accepted<whole>,
                "meshtf: max_and_argmax needs a finished value: write max_and_argmax<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: max_and_argmax can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected_pair{};
  else
    return detail::extreme_and_index<Along>(function::identity{}, "max_and_argmax", at,
                                            detail::local_terms(x));
}

//= || x.min(1) || jnp.min(x, 1), jnp.argmin(x, 1) || min_and_argmin<hidden>(x)
/// The smallest element along `Along` and its index.
template<Dimension Along, detail::NumberOperand X>
constexpr auto min_and_argmin(X const& x, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = typename argmax_plan<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>::verdict;
  static_assert(accepted<whole>,
                "meshtf: min_and_argmin needs a finished value: write min_and_argmin<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: min_and_argmin can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected_pair{};
  else
    return detail::extreme_and_index<Along>(function::reversed_order{}, "min_and_argmin", at,
                                            detail::local_terms(x));
}

MESHTF_ACCEPT_REJECTED_AS(detail::rejected_pair, max_and_argmax)
MESHTF_ACCEPT_REJECTED_AS(detail::rejected_pair, min_and_argmin)

}  // namespace v0
}  // namespace meshtf
