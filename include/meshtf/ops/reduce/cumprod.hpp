// cumprod: running products along a dimension.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/running.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The gradient of running products along a split dimension.
template<class Along, class T, class L, class... D, class... Lines>
constexpr auto cumprod_gradient_in_parts(tensor<T, L, D...> const& x, tensor<T, L, Lines...> const& before,
                                         tensor<T, L, D...> const& dz, running which) {
  using plan         = cumsum_plan<actual<L>, shape<D...>, Along>;
  using Machine      = machine<L>;
  auto& m            = dz.machine();
  auto const go_back = [&](auto const& later, auto& dx) {
    m.run(task::cumprod_gradient_on<T>{which.reverse, which.exclusive}, plan::lines, x.data(), before.data(),
          later.data(), dz.data(), dx.data());
  };
  if constexpr (is_undecided<actual<L>>) {
    constexpr dim_set over = split_over<actual<L>, shape<Along>>;
    auto const later       = m.when_joined(over, [&] {
      auto from_others = tensor<T, L, Lines...>::uninitialised(m);
      m.template ask_in_parts<join_products<T>>(plan::lines.loops);
      return from_others;
    });
    auto dx                = tensor<T, L, D...>::uninitialised(m);
    m.if_joined(
        over, [&] { go_back(later, dx); },
        [&] {
          m.run(task::cumprod_gradient<T>{which.reverse, which.exclusive}, plan::lines, x.data(), dz.data(),
                dx.data());
        });
    return dx;
  } else {
    auto const join_others = [&] {
      constexpr axis_set over = plan::over.set();
      constexpr extent each   = 2 * shard_size<actual<L>, typename plan::each_line>;
      constexpr extent parts  = processes_along(axis_sizes<typename L::mesh_type>, over);
      auto const folded       = shared<storage<T, Machine>, Machine>::make(m, m, parts * each);
      m.run(task::fold_products<T>{which.reverse, which.exclusive}, plan::lines, x.data(), dz.data(),
            offset<L>(folded->data(), m.rank_along(over) * each));
      m.because(&reason_to_run_on);
      m.all_gather(folded->data(), each, over);
      auto from_others = tensor<T, L, Lines...>::uninitialised(m);
      m.run(task::pass_through_parts<T>{plan::over, which.reverse}, plan::lines,
            static_cast<T const*>(folded->data()), from_others.data());
      return from_others;
    };
    auto const later = join_others();
    auto dx          = tensor<T, L, D...>::uninitialised(m);
    go_back(later, dx);
    return dx;
  }
}

}  // namespace detail

/// For each element the product of all elements up to it along `Along`, itself included; of the same shape
/// and placement as `x`.
///
///     auto const alive = cumprod<length>(goes_on, {.exclusive = true});   // also .reverse = true: from the
///     last element on
///
/// Within a process, products of floats are kept in double; what goes from part to part is rounded to float,
/// of bfloat16 too, while doubles and integers stay what they are. Local where `Along` is whole; where it is
/// split, one scan over its axes, of one number for each remaining element, hands the products from part to
/// part. Gradient: right also where elements are 0. It needs no reduction; where `Along` is split, an
/// all-gather of two numbers for each remaining element joins what the parts do to it.
template<Dimension Along, detail::Operand X>
constexpr auto cumprod(X const& operand, running which = {},
                       std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using plan    = cumsum_plan<actual<L>, detail::shape_in<X>, Along>;
  using whole   = detail::use_verdict<algebra::use::nonlinear, X>;
  using verdict = typename plan::verdict;
  static_assert(accepted<whole>, "meshtf: cumprod needs a finished value: cumprod<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: cumprod can't work along this dimension");
  static_assert(NumberElement<T>, "meshtf: bools are not multiplied: cumprod<...>(cast<int>(x))");
  if constexpr (!accepted<first_objection<whole, verdict>> || !NumberElement<T>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("cumprod", at);
    return detail::in_elements<T>(cumprod<Along>(detail::widened(x), which, at));
  } else {
    auto const& x = detail::local_terms(operand);
    auto& m       = x.machine();
    m.begin_operation("cumprod", at);
    if constexpr (plan::in_parts) {
      auto const before = detail::joined_before<reduction::product, Along>(x, which.reverse);
      auto z            = detail::run_on<reduction::product, Along>(x, before, which);
      if constexpr (FloatingElement<T>)
        if (detail::wants_gradient(x))
          detail::record(z, [x = detail::keep(x), before = detail::keep(before), which](auto const& dz) {
            detail::contribute(
                x.target(), detail::cumprod_gradient_in_parts<Along>(x.value(), before.value(), dz, which));
          });
      return z;
    } else {
      auto z = detail::run_along<reduction::product, Along>(x, which);
      if constexpr (FloatingElement<T>)
        if (detail::wants_gradient(x))
          detail::record(z, [x = detail::keep(x), which](auto const& dz) {
            auto dx = tensor_of<T, L, detail::shape_in<X>>::uninitialised(dz.machine());
            dz.machine().run(task::cumprod_gradient<T>{which.reverse, which.exclusive}, plan::lines,
                             x.value().data(), dz.data(), dx.data());
            detail::contribute(x.target(), dx);
          });
      return z;
    }
  }
}

MESHTF_ACCEPT_REJECTED(cumprod)
MESHTF_ACCEPT_REJECTED_WITH(rejected, cumprod, running)

}  // namespace v0
}  // namespace meshtf
