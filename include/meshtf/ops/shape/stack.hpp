// stack: tensors of the same dimensions as one, along a new dimension.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <meshtf/core/error.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/plan/stack_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Operands as tensors: of partial sums, their local terms over the unreduced axes of all of them.
template<Tensor X>
constexpr tensor_in<X> joined_by(X const& x, axis_set) {
  return x;
}
template<PartialSum X>
constexpr tensor_in<X> joined_by(X const& p, axis_set unreduced) {
  return local_terms_over(p, unreduced);
}

/// Puts tensors of one type together. (Packs and no arrays: g++ 12 miscounts handles in arrays that are
/// copied in constant evaluation.)
template<class New, int At, class X, std::same_as<X>... Rest>
constexpr auto stacked(X const& first, Rest const&... rest) {
  using T         = typename X::element_type;
  using L         = typename X::layout_type;
  using plan      = stack_plan<actual<L>, typename X::shape_type, New, At, int{1 + sizeof...(Rest)}>;
  auto& m         = first.machine();
  auto z          = tensor_of<T, L, typename plan::result>::uninitialised(m);
  auto const each = [](auto const& f, auto const&... one) {
    extent i = 0;
    (f(one, i++), ...);
  };
  each([&](X const& one, extent i) { m.run(task::put_part<T>{i}, plan::place, z.data(), one.data()); }, first,
       rest...);
  if (!wants_gradient(first, rest...)) return z;
  auto const may_wait = [](X const& one) { return !one.needs_gradient() || one.gradient_stays_unreduced(); };
  record<incoming::unreduced_if_allowed>(
      z,
      [each, first = first.without_value(), ... rest = rest.without_value()](auto const& dz,
                                                                             axis_set unreduced) {
        auto const give = [&](X const& one, extent i) {
          if (!one.needs_gradient()) return;
          auto dx = X::uninitialised(dz.machine());
          dz.machine().run(task::take_part<T>{i}, plan::place, dz.data(), dx.data());
          contribute(one, dx, unreduced);
        };
        each(give, first, rest...);
      },
      (may_wait(first) && ... && may_wait(rest)));
  return z;
}

/// The same where `New` may be split: the stack is then made along a whole dimension first.
template<class New, int At, class X, std::same_as<X>... Rest>
constexpr auto stacked_and_split(X const& first, Rest const&... rest) {
  if constexpr (stays_whole<actual<typename X::layout_type>, New>) return stacked<New, At>(first, rest...);
  else return own_part<New>(stacked<whole_part<New>, At>(first, rest...));
}

/// The same of a list: the loop runs at run time, so a long one costs the compiler no more than a short one.
template<class New, int At, Tensor X>
constexpr auto stacked_list(std::vector<X> const& all) {
  using T      = typename X::element_type;
  using L      = typename X::layout_type;
  using plan   = stack_plan<actual<L>, typename X::shape_type, New, At, int{New::size}>;
  auto& m      = all.front().machine();
  auto z       = tensor_of<T, L, typename plan::result>::uninitialised(m);
  bool wants   = false;  // a gradient
  bool is_open = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    X const& one = all[i];
    wants        = wants_gradient(all.front(), one) || wants;
    is_open      = is_open && (!one.needs_gradient() || one.gradient_stays_unreduced());
    m.run(task::put_part<T>{static_cast<extent>(i)}, plan::place, z.data(), one.data());
  }
  if (!wants) return z;
  std::vector<X> to;
  to.reserve(all.size());
  for (X const& one : all) to.push_back(one.without_value());
  record<incoming::unreduced_if_allowed>(
      z,
      [to = std::move(to)](auto const& dz, axis_set unreduced) {
        for (std::size_t i = 0; i < to.size(); ++i) {
          if (!to[i].needs_gradient()) continue;
          auto dx = X::uninitialised(dz.machine());
          dz.machine().run(task::take_part<T>{static_cast<extent>(i)}, plan::place, dz.data(), dx.data());
          contribute(to[i], dx, unreduced);
        }
      },
      is_open);
  return z;
}

template<class New, int At, Tensor X>
constexpr auto stacked_and_split(std::vector<X> const& all) {
  if constexpr (stays_whole<actual<typename X::layout_type>, New>) return stacked_list<New, At>(all);
  else return own_part<New>(stacked_list<whole_part<New>, At>(all));
}

/// Errors: `software_error` unless a list has one tensor for each element of the new dimension.
template<class New>
constexpr void expect_one_for_each(std::size_t given) {
  if (given != static_cast<std::size_t>(New::size))
    throw software_error("expected stack<" + std::string{name_of<New>()} + "> to get " +
                         std::to_string(New::size) + " tensors, one for each element of " +
                         std::string{name_of<New>()} + ", got a vector of " + std::to_string(given) +
                         ": stack as many, or along a dimension of that size");
}

template<class First, class Given>
using stacks_with =
    std::conditional_t<std::is_same_v<First, Given>, legal, stacked_dims_differ<First, Given>>;

}  // namespace detail

/// The operands, which have the same dimensions, as one tensor with the further dimension `New`: number `At`
/// of its dimensions, by default the first.
///
///     auto const both = stack<two>(mean, deviation);       // [batch], [batch] -> [two, batch]
///     auto const last = stack<two, 1>(mean, deviation);    // -> [batch, two]
///
/// `New` has as many elements as there are operands; where it is split, each process keeps its part. Local; a
/// stack of partial sums is a partial sum over the axes of all of them, none of which may split `New`.
/// Gradient: dz at each index; it stays unreduced if all operands that need one are parameters, otherwise it
/// is gathered over the axes that split `New`.
template<Dimension New, int At = 0, detail::Operand First, detail::Operand... Rest>
constexpr auto stack(First const& first, Rest const&... rest) {
  using S            = detail::shape_in<First>;
  using fit          = first_objection<detail::operands_fit<First, Rest>...,
                                       detail::stacks_with<S, detail::shape_in<Rest>>...>;
  using partial_fits = first_objection<detail::meeting_verdict<algebra::meeting::alongside, First, Rest>...>;
  using verdict =
      first_objection<fit,
                      stack_verdict<actual<detail::layout_in<First>>, S, New, At, int{1 + sizeof...(Rest)}>>;
  using apart = first_objection<
      detail::partial_sum_verdict<detail::layout_in<First>, shape<New>, detail::unreduced_axes_in<First>>,
      detail::partial_sum_verdict<detail::layout_in<Rest>, shape<New>, detail::unreduced_axes_in<Rest>>...>;
  static_assert(accepted<partial_fits>,
                "meshtf: stack would count x once on each process: write as_partial<...>(x), which is free");
  static_assert(accepted<apart>,
                "meshtf: stack can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<verdict>, "meshtf: stack can't put these operands together");
  if constexpr (!accepted<first_objection<partial_fits, apart, verdict>>) {
    return detail::rejected{};
  } else {
    detail::local_terms(first).machine().begin_operation("stack");
    axis_set const unreduced = (detail::unreduced_axes_of(first) | ... | detail::unreduced_axes_of(rest));
    detail::constrain_partial_sum<New>(first), (detail::constrain_partial_sum<New>(rest), ...);
    // braces: evaluated in order
    std::tuple const all{detail::joined_by(first, unreduced), detail::joined_by(rest, unreduced)...};
    auto z = std::apply([](auto const&... one) { return detail::stacked_and_split<New, At>(one...); }, all);
    return detail::result_of<axes<>, First, Rest...>(std::move(z), unreduced);
  }
}

/// The same of an array, as `unstack` returns it.
template<Dimension New, int At = 0, detail::Operand X, std::size_t N>
constexpr auto stack(std::array<X, N> const& x) {
  return std::apply([](auto const&... one) { return stack<New, At>(one...); }, x);
}

/// The same of a vector, for operands that a loop has made: one for each element of `New`, all of one type.
///
///     std::vector<tensor<float, L, batch, model>> states;
///     for (...) states.push_back(cell(x, states.back()));
///     auto const all = stack<length, 1>(states);           // -> [batch, length, model]
///
/// Errors: `software_error` if the vector has not as many operands as `New` has elements.
template<Dimension New, int At = 0, detail::Operand X>
constexpr auto stack(std::vector<X> const& x, std::source_location at = std::source_location::current()) {
  using verdict = stack_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, New, At, int{New::size}>;
  using apart   = detail::partial_sum_verdict<detail::layout_in<X>, shape<New>, detail::unreduced_axes_in<X>>;
  static_assert(accepted<apart>,
                "meshtf: stack can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<verdict>, "meshtf: stack can't put these operands together");
  if constexpr (!accepted<first_objection<apart, verdict>>) {
    return detail::rejected{};
  } else {
    detail::expect_one_for_each<New>(x.size());
    detail::local_terms(x.front()).machine().begin_operation("stack", at);
    axis_set unreduced = 0;
    for (X const& one : x) unreduced |= detail::unreduced_axes_of(one);
    std::vector<detail::tensor_in<X>> all;
    all.reserve(x.size());
    for (X const& one : x) {
      detail::constrain_partial_sum<New>(one);
      all.push_back(detail::joined_by(one, unreduced));
    }
    return detail::result_of<axes<>, X>(detail::stacked_and_split<New, At>(all), unreduced);
  }
}

template<Dimension New, auto... At, class... X>
  requires detail::AnyRejected<X...>
constexpr rejected stack(X const&...) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
