// The local part of operations: what one process computes from its shards, and the axes over which they are
// unreduced.
#pragma once

#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/tensor/partial.hpp>
#include <meshtf/tensor/stale.hpp>

namespace meshtf {
inline namespace v0 {

/// Operands of one operation have different layouts. `reshard<L>(y)` brings one to the other's, at the price
/// `Fix`.
template<class First, class Second, class... Fix>
struct operands_have_different_layouts {};

/// Bytes that each process would send if the first operand were resharded to the second's layout, and if the
/// second were resharded to the first's.
template<extent First, extent Second>
struct reshard_sends {};

/// Operands of one operation have different element types. `cast<T>(y)` brings one to the other's.
template<class First, class Second>
struct operands_have_different_elements {};

namespace detail {

/// Bytes that a reshard of a tensor of shape `S` sends; -1 if there is none.
template<class From, class To, class S, extent ElementBytes>
consteval extent price_of_reshard() {
  using plan = reshard_plan<From, To, S>;
  if constexpr (!accepted<typename plan::verdict>) return -1;
  extent bytes = 0;
  for (auto const& move : plan::steps) bytes += sent_by_one(move, ElementBytes);
  return bytes;
}

template<class X, class Y>
struct layouts_differ;
template<class T, class L, class... X, class U, class R, class... Y>
struct layouts_differ<tensor<T, L, X...>, tensor<U, R, Y...>> {
  static constexpr auto verdict() {
    if constexpr (sizeof...(X) > 0 && sizeof...(Y) > 0 &&
                  std::is_same_v<typename L::mesh_type, typename R::mesh_type>) {
      constexpr extent first  = price_of_reshard<actual<L>, actual<R>, shape<X...>, extent{sizeof(T)}>();
      constexpr extent second = price_of_reshard<actual<R>, actual<L>, shape<Y...>, extent{sizeof(U)}>();
      if constexpr (first >= 0 && second >= 0)
        return operands_have_different_layouts<actual<L>, actual<R>, reshard_sends<first, second>>{};
      else return operands_have_different_layouts<actual<L>, actual<R>>{};
    } else {
      return operands_have_different_layouts<actual<L>, actual<R>>{};
    }
  }
};

template<class X, class Y>
struct fit : std::type_identity<decltype(layouts_differ<X, Y>::verdict())> {};

template<class T, class L, class... X, class U, class... Y>
struct fit<tensor<T, L, X...>, tensor<U, L, Y...>>
    : std::type_identity<operands_have_different_elements<T, U>> {};
template<class T, class L, class... X, class... Y>
struct fit<tensor<T, L, X...>, tensor<T, L, Y...>> : std::type_identity<legal> {};

/// `legal`, or why these two can't be operands of one operation.
template<class X, class Y>
using fit_verdict = typename fit<X, Y>::type;

/// Asks `m` to compute z = f(x...) over a nest, or the sum or maximum of f(x...).
template<class Machine, class Steps, class F, class R, class... T>
constexpr void run_map(Machine& m, Steps const& nest, F const& f, R* z, T const*... x) {
  m.run(task::map<F, R, T...>{f}, nest, z, x...);
}
template<reduction Op, class Machine, class Steps, class F, class R, class... T>
constexpr void run_reduce(Machine& m, Steps const& nest, F const& f, R* z, T const*... x) {
  m.run(task::reduce<Op, F, R, T...>{f}, nest, z, x...);
}

/// f(x...) for each element of `Out`, with the operands broadcast to it.
template<class R, class Out, class F, class T0, class L, class... D0, class... Rest>
constexpr auto each(F const& f, tensor<T0, L, D0...> const& x, Rest const&... rest) {
  using plan = nest_plan<actual<L>, Out, shape<D0...>, typename Rest::shape_type...>;
  static_assert(accepted<typename plan::verdict>, "meshtf: these operands do not fit on the mesh together");
  if constexpr (sizeof...(rest) > 0) expect_one_mesh(x.machine(), rest.machine()...);
  auto z = tensor_of<R, L, Out>::uninitialised(x.machine());
  run_map(x.machine(), plan::local, f, z.data(), x.data(), rest.data()...);
  return z;
}

/// This process's part of the sum (or maximum) of f(x...) over the dimensions that `Out` lacks.
template<reduction Op, class Out, class F, class T, class L, class... D0, class... Rest>
constexpr auto reduced(F const& f, tensor<T, L, D0...> const& x, Rest const&... rest) {
  using plan = nest_plan<actual<L>, Out, shape<D0...>, typename Rest::shape_type...>;
  static_assert(accepted<typename plan::verdict>, "meshtf: these operands do not fit on the mesh together");
  if constexpr (sizeof...(rest) > 0) expect_one_mesh(x.machine(), rest.machine()...);
  auto z = tensor_of<T, L, Out>::uninitialised(x.machine());
  run_reduce<Op>(x.machine(), plan::local, f, z.data(), x.data(), rest.data()...);
  return local_result<tensor_of<T, L, Out>>{std::move(z), plan::finished_over,
                                            &reason_to_sum<actual<L>, typename plan::loops>};
}

/// This process's part of the product of x and y, summed over the dimensions that `Out` lacks.
template<class Out, class T, class L, class... X, class... Y>
constexpr auto contracted(tensor<T, L, X...> const& x, tensor<T, L, Y...> const& y) {
  expect_one_mesh(x.machine(), y.machine());
  using plan = einsum_plan<actual<L>, Out, shape<X...>, shape<Y...>>;
  auto z     = tensor_of<T, L, Out>::uninitialised(x.machine());
  x.machine().run(task::contract<T>{}, plan::local, x.data(), y.data(), z.data());
  return local_result<tensor_of<T, L, Out>>{std::move(z), plan::finished_over,
                                            &reason_to_sum<actual<L>, typename plan::loops>};
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
