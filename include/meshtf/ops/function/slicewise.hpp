// slicewise: a function of the user's on the shards of its operands, as xtensor views.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <meshtf/ops/function/custom_gradient.hpp>
#include <meshtf/plan/slicewise_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

[[noreturn]] inline void throw_from_slices(call_site const& site, char const* message) {
  throw software_error("the function of " + spelled_site(site) + " threw: " + message);
}

/// Without a layout's storage there is nothing to call f with.
template<class F, class T, class L, class... D, class... X>
constexpr void call_on_slices(F const& f, tensor<T, L, D...>& z, X const&... x) {
  if constexpr (holds_values<L>) {
    try {
      f(z.local(), x.local()...);
    } catch (error const&) {
      throw;
    } catch (std::exception const& e) {
      throw_from_slices(z.machine().now(), e.what());
    }
  }
}

template<class Out, class Split, class T, class F, Tensor X, Tensor... Rest>
constexpr auto on_slices_of(F const& f, X const& x, Rest const&... rest) {
  using L    = layout_in<X>;
  using plan = slicewise_plan<actual<L>, Out, Split, shape_in<X>, shape_in<Rest>...>;
  auto& m    = x.machine();
  if constexpr (sizeof...(rest) > 0) expect_one_mesh(m, rest.machine()...);
  m.begin_operation("slicewise");
  auto z          = tensor_of<T, L, Out>::uninitialised(m);
  auto const call = [&f, &z, &x, &rest...] { call_on_slices(f, z, x, rest...); };
  m.run(task::on_slices<decltype(call), F, T, element_in<X>, element_in<Rest>...>{call}, plan::local);
  return z;
}

/// The objection to operands under different layouts. Their element types may differ.
template<class X, class Y>
using one_layout =
    std::conditional_t<std::same_as<layout_in<X>, layout_in<Y>>, legal,
                       operands_have_different_layouts<actual<layout_in<X>>, actual<layout_in<Y>>>>;

template<class Out, class Split, class X, class... Rest>
using slices_fit =
    first_objection<one_layout<X, Rest>...,
                    slicewise_verdict<actual<layout_in<X>>, Out, Split, shape_in<X>, shape_in<Rest>...>>;

template<class T, class X>
using element_or = std::conditional_t<std::is_void_v<T>, element_in<X>, T>;

}  // namespace detail

/// z[Out...], which f writes on each process: f(z, x...) gets the shards as xtensor views, that of the result
/// first; its elements have no values yet. `Out` is a `shape`; `Split` is `splittable<D...>`, the dimensions
/// that a layout may split. The others must be whole. Local.
///
///     auto y = slicewise<shape<batch, hidden>, splittable<batch>>(
///         [](auto&& z, auto const& a) { z = xt::sort(a, 1); }, x);
///
/// f must give each part of z from the same parts of x, as if these were all there is, and the same on all
/// processes that hold the same part: that is not checked. A process that holds nothing of z does not call
/// it. Its views are those of `local()`: with `padded` dimensions they are of another type. z has the
/// elements of the first operand; `slicewise<Out, Split, T>` has others. If f is a class with
/// `static constexpr extent flops`, so many are counted for each element of z. An exception that leaves f
/// ends the job, on all processes, with its words.
/// Without a gradient the result is data. Errors: `function_needs_whole_dim`, `result_lacks_split_dim`, and
/// those of every nest.
template<class Out, class Split, class T = void, class F, Tensor X, Tensor... Rest>
  requires(!detail::Operand<F>)
constexpr auto slicewise(F const& f, X const& x, Rest const&... rest) {
  static_assert(sizeof...(Rest) + 2 <= max_operands, "meshtf: slicewise takes at most four operands");
  using verdict = detail::slices_fit<Out, Split, X, Rest...>;
  static_assert(accepted<detail::with_reshard<verdict, X, Rest...>>,
                "meshtf: slicewise can't call this function on these shards");
  if constexpr (accepted<verdict>)
    return detail::on_slices_of<Out, Split, detail::element_or<T, X>>(f, x, rest...);
  else return detail::rejected{};
}

/// The same with gradients: `g(dz, x...)` computes them as that of `custom_gradient` does, from tensors, and
/// may call `slicewise` in turn.
template<class Out, class Split, class T = void, class F, class G, Tensor X, Tensor... Rest>
  requires(!detail::Operand<F> && !detail::Operand<G>)
constexpr auto slicewise(F const& f, G const& g, X const& x, Rest const&... rest) {
  auto z = slicewise<Out, Split, T>(f, x, rest...);
  if constexpr (std::is_same_v<decltype(z), detail::rejected>) {
    return z;
  } else {
    using verdict = detail::gradients_fit<G, decltype(z), detail::operand_of<X>, detail::operand_of<Rest>...>;
    static_assert(accepted<verdict>, "meshtf: slicewise can't use these gradients");
    if constexpr (accepted<verdict>) return detail::with_gradient(g, std::move(z), x, rest...);
    else return detail::rejected{};
  }
}

MESHTF_ACCEPT_REJECTED(slicewise)

}  // namespace v0
}  // namespace meshtf
