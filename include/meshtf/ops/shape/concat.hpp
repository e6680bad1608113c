// concat: tensors one after the other along a dimension.
#pragma once

#include <tuple>
#include <type_traits>

#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/plan/concat_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Calls f(part, first) for each part, where `first` is the part's first index along the joined dimension.
template<class Plan, class F, class... Part>
constexpr void for_each_part(F const& f, Part const&... part) {
  extent first = 0;
  ((f(part, first), first += Plan::template size_of<typename Part::shape_type>), ...);
}

/// Contributes to an operand its part of dz.
template<class Plan, class T, class L, class... X, class DZ>
constexpr void contribute_part(tensor<T, L, X...> const& part, DZ const& dz, extent first,
                               axis_set unreduced) {
  if (!part.needs_gradient()) return;
  auto& m = dz.machine();
  auto dx = tensor<T, L, X...>::uninitialised(m);
  m.run(task::take_part<T>{first}, Plan::template place<shape<X...>>, dz.data(), dx.data());
  contribute(part, dx, unreduced);
}

/// The operands in one, along a dimension that is whole.
template<class Along, class T, class L, class... X, class... Rest>
constexpr auto joined(tensor<T, L, X...> const& x, Rest const&... rest) {
  using plan = concat_plan<actual<L>, Along, shape<X...>, typename Rest::shape_type...>;
  auto& m    = x.machine();
  auto z     = tensor_of<T, L, typename plan::result>::uninitialised(m);
  for_each_part<plan>(
      [&]<class Part>(Part const& part, extent first) {
        m.run(task::put_part<T>{first}, plan::template place<typename Part::shape_type>, z.data(),
              part.data());
      },
      x, rest...);
  if (!wants_gradient(x, rest...)) return z;
  auto const may_wait = [](auto const& part) {
    return !part.needs_gradient() || part.gradient_stays_unreduced();
  };
  record<incoming::unreduced_if_allowed>(
      z,
      [x = x.without_value(), ... rest = rest.without_value()](auto const& dz, axis_set unreduced) {
        for_each_part<plan>(
            [&](auto const& part, extent first) { contribute_part<plan>(part, dz, first, unreduced); }, x,
            rest...);
      },
      (may_wait(x) && ... && may_wait(rest)));
  return z;
}

template<class... X>
struct concat_of_open : std::type_identity<legal> {};
template<class First, class Second, class... Rest>
struct concat_of_open<First, Second, Rest...>
    : std::type_identity<first_objection<meeting_verdict<algebra::meeting::alongside, First, Second>,
                                         typename concat_of_open<First, Rest...>::type>> {};

}  // namespace detail

/// `x`, then `y`, then the rest, along `Along`. Each operand has one dimension that the others lack; `Along`
/// takes its place, and has the sum of their sizes.
///
///     auto all = concat<length>(prefix, rest);   // [batch, start, model], [batch, ending, model] -> [batch,
///                                                length, model]
///
/// The other dimensions are the same in all operands, in the same order. The dimensions that `Along` replaces
/// are whole under the layout; where `Along` is split, each process keeps its part. Local. Gradient: each
/// operand's part of dz; it stays unreduced if all operands that need one are parameters, otherwise dz is
/// gathered over the axes that split `Along`.
/// If two operands have the same dimensions, rename one: `concat<length>(x, rename<half, other_half>(y))`.
template<Dimension Along, class T, class L, class... X, Tensor Y, Tensor... Rest>
constexpr auto concat(tensor<T, L, X...> const& x, Y const& y, Rest const&... rest) {
  using plan =
      concat_plan<actual<L>, Along, shape<X...>, typename Y::shape_type, typename Rest::shape_type...>;
  using operands = first_objection<
      detail::fit_verdict<tensor<T, L>, tensor<typename Y::element_type, typename Y::layout_type>>,
      detail::fit_verdict<tensor<T, L>, tensor<typename Rest::element_type, typename Rest::layout_type>>...>;
  using verdict = first_objection<operands, typename plan::verdict>;
  using shared  = detail::sentence<parts_share_dim, verdict>;
  static_assert(
      accepted<typename shared::own>,
      "meshtf: concat can't tell the parts of one dim apart: concat<length>(x, rename<half, other_half>(y))");
  static_assert(accepted<detail::with_reshard<typename shared::common, tensor<T, L, X...>, Y, Rest...>>,
                "meshtf: concat can't join these operands along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().begin_operation("concat");
    if constexpr (detail::stays_whole<actual<L>, Along>) return detail::joined<Along>(x, y, rest...);
    else return detail::own_part<Along>(detail::joined<detail::whole_part<Along>>(x, y, rest...));
  }
}

/// The concatenation of partial sums is a partial sum over the axes of all of them, none of which may split
/// `Along`.
template<Dimension Along, class... X>
  requires(detail::is_partial<X> && ...)
constexpr auto concat(X const&... x) {
  using partial_fits = first_objection<
      detail::partial_sum_verdict<detail::layout_in<X>, shape<Along>, detail::unreduced_axes_in<X>>...>;
  static_assert(accepted<partial_fits>,
                "meshtf: concat can't split a partial sum over an unreduced axis: reshard or finish first");
  axis_set const unreduced = (x.owed() | ...);
  (detail::constrain_partial_sum<Along>(x), ...);
  std::tuple parts{
      detail::local_terms_over(x, unreduced)...};  // braces: evaluated in the order of the operands
  auto z = std::apply([](auto const&... part) { return concat<Along>(part...); }, parts);
  if constexpr (std::is_same_v<decltype(z), detail::rejected>) return z;
  else return detail::result_of<axes<>, X...>(std::move(z), unreduced);
}

template<Dimension Along, class... X>
  requires((detail::is_partial<X> || ...) && !(detail::is_partial<X> && ...))
constexpr detail::rejected concat(X const&...) {
  static_assert(accepted<typename detail::concat_of_open<X...>::type>,
                "meshtf: concat would count x once on each process: write as_partial<...>(x), which is free");
  return {};
}

MESHTF_ACCEPT_REJECTED(concat)

}  // namespace v0
}  // namespace meshtf
