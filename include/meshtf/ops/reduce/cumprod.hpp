// cumprod: running products along a dimension.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/running.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The gradient of running products along a split dimension, into dx. `later`: what comes from other parts.
template<class Along, class X, class Lines>
constexpr void cumprod_gradient_into(X const& x, Lines const& before, Lines const& later, X const& dz,
                                     running which, X& dx) {
  using plan = cumsum_plan<actual<typename X::layout_type>, typename X::shape_type, Along>;
  dz.machine().run(task::cumprod_gradient_on<typename X::element_type>{which.reverse, which.exclusive},
                   plan::lines, x.data(), before.data(), later.data(), dz.data(), dx.data());
}

template<class L>
template<class Along, class X, class Lines>
constexpr X running_under<L>::cumprod_gradient(X const& x, Lines const& before, X const& dz, running which) {
  using T                 = typename X::element_type;
  using layout            = typename X::layout_type;
  using Machine           = machine<layout>;
  using plan              = cumsum_plan<L, typename X::shape_type, Along>;
  auto& m                 = dz.machine();
  constexpr axis_set over = plan::over.set();
  constexpr extent each   = 2 * shard_size<L, typename plan::each_line>;
  constexpr extent parts  = processes_along(axis_sizes<typename L::mesh_type>, over);
  auto later              = [&] {
    auto const folded = shared<storage<T, Machine>, Machine>::make(m, m, parts * each);
    m.run(task::fold_products<T>{which.reverse, which.exclusive}, plan::lines, x.data(), dz.data(),
                       offset<layout>(folded->data(), m.rank_along(over) * each));
    m.because(&reason_to_run_on);
    m.all_gather(folded->data(), each, over);
    auto from_others = Lines::uninitialised(m);
    m.run(task::pass_through_parts<T>{plan::over, which.reverse}, plan::lines,
                       static_cast<T const*>(folded->data()), from_others.data());
    return from_others;
  }();
  auto dx = X::uninitialised(m);
  cumprod_gradient_into<Along>(x, before, later, dz, which, dx);
  return dx;
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
      using under       = detail::running_under<actual<L>>;
      auto const before = under::template joined_before<reduction::product, Along>(x, which.reverse);
      auto z            = under::template run_on<reduction::product, Along>(x, before, which);
      if constexpr (FloatingElement<T>)
        if (detail::wants_gradient(x))
          detail::record(z, [x = detail::keep(x), before = detail::keep(before), which](auto const& dz) {
            detail::contribute(x.target(),
                               under::template cumprod_gradient<Along>(x.value(), before.value(), dz, which));
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
