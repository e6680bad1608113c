// The local part of operations: what one process computes of its shards, and what that still owes.
#pragma once

#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/tensor/partial.hpp>

namespace meshtf::inline v0 {

/// Operands of one operation stand under different layouts; `reshard<L>(y)` brings one to the other's, at a price.
template<class First, class Second>
struct operands_have_different_layouts {};

/// Operands of one operation hold different element types; `cast<T>(y)` brings one to the other's.
template<class First, class Second>
struct operands_have_different_elements {};

namespace detail {

template<class X, class Y>
struct fit;

template<class T, class L, class... X, class U, class R, class... Y>
struct fit<tensor<T, L, X...>, tensor<U, R, Y...>>
    : std::type_identity<first_objection<std::conditional_t<std::is_same_v<L, R>, legal, operands_have_different_layouts<wet<L>, wet<R>>>,
                                         std::conditional_t<std::is_same_v<T, U>, legal, operands_have_different_elements<T, U>>>> {};

/// May these two be operands of one operation?
template<class X, class Y>
using fit_verdict = typename fit<X, Y>::type;

/// f(x...) for each element of `Out`, the operands broadcast to it.
template<class R, class Out, class F, class T0, class L, class... D0, class... Rest>
constexpr auto each(F const& f, tensor<T0, L, D0...> const& x, Rest const&... rest) {
  using plan = nest_plan<wet<L>, Out, shape<D0...>, typename Rest::shape_type...>;
  static_assert(accepted<typename plan::verdict>, "meshtf: these operands do not fit on the mesh together");
  auto z = tensor_of<R, L, Out>::uninitialised(x.machine());
  x.machine().map(plan::local, f, z.data(), x.data(), rest.data()...);
  return z;
}

/// The sum (or maximum) of f(x...) over the dimensions that `Out` lacks; each process's part of it.
template<reduction Op, class Out, class F, class T, class L, class... D0, class... Rest>
constexpr auto reduced(F const& f, tensor<T, L, D0...> const& x, Rest const&... rest) {
  using plan = nest_plan<wet<L>, Out, shape<D0...>, typename Rest::shape_type...>;
  static_assert(accepted<typename plan::verdict>, "meshtf: these operands do not fit on the mesh together");
  auto z = tensor_of<T, L, Out>::uninitialised(x.machine());
  x.machine().template reduce<Op>(plan::local, f, z.data(), x.data(), rest.data()...);
  return open_sum<tensor_of<T, L, Out>>{std::move(z), plan::finished_over};
}

/// The product of x and y, summed over the dimensions that `Out` lacks; each process's part of it.
template<class Out, class T, class L, class... X, class... Y>
constexpr auto contracted(tensor<T, L, X...> const& x, tensor<T, L, Y...> const& y) {
  using plan = einsum_plan<wet<L>, Out, shape<X...>, shape<Y...>>;
  auto z     = tensor_of<T, L, Out>::uninitialised(x.machine());
  x.machine().contract(plan::local, x.data(), y.data(), z.data());
  return open_sum<tensor_of<T, L, Out>>{std::move(z), plan::finished_over};
}

}  // namespace detail

}  // namespace meshtf::inline v0
