// fused: a function of elements, written as a lambda, in one pass over memory, and its gradients in one pass.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/ops/pointwise/fused_function.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/plan/fused_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The array in which the gradient of an operand of shape `S` is made; none if it is not wanted.
template<class T, class L, class S, class Machine>
constexpr auto gradient_array(Machine& m, bool wanted) {
  using array  = tensor_of<T, L, S>;
  using handle = std::remove_cvref_t<decltype(std::declval<array const&>().handle())>;
  if (!wanted) return handle{};
  return handle{array::uninitialised(m).handle()};
}
template<class Handle>
constexpr auto* elements_or_none(Handle const& h) {
  using pointer = decltype(h->data());
  return h ? h->data() : pointer{nullptr};
}

/// Gives `x` the gradient that was made, rounded if it was summed in a wider type.
template<class L, class S, class X, class Handle, class Machine>
constexpr void contribute_made(Machine& m, X const& x, Handle made, axis_set unreduced) {
  if (!made) return;
  using T    = typename X::element_type;
  using kind = std::remove_cvref_t<decltype(*made->data())>;
  tensor_of<kind, L, S> const g{m, std::move(made)};
  if constexpr (std::is_same_v<kind, T>) contribute(x, g, unreduced);
  else contribute(x, each<T, S>(function::identity{}, g), unreduced);
}

/// All gradients of f in one pass, from those of the results in the set `given`; those that nobody wants are
/// not stored.
template<bool OneSlope, class Plan, class F, std::size_t R, class DZ, class... X>
constexpr void pull_back_in_one_pass(F const& f, unsigned given, std::array<DZ const*, R> const& dz,
                                     kept<X> const&... x) {
  constexpr auto K = sizeof...(X);
  using T          = typename DZ::element_type;
  using L          = typename DZ::layout_type;
  using gradients  = fusion::gradients_of<F, K>;
  auto& m          = dz[0]->machine();
  unsigned wanted  = 0;
  unsigned next    = 1;
  ((wanted |= x.needs_gradient() ? next : 0U, next <<= 1), ...);
  [&]<std::size_t... I, std::size_t... Q>(std::index_sequence<I...>, std::index_sequence<Q...>) {
    constexpr auto is_row = [](std::size_t k) { return (Plan::rows >> k & 1U) != 0; };
    std::tuple made{gradient_array<std::conditional_t<is_row(I), computed<T>, T>, L, typename X::shape_type>(
        m, x.needs_gradient())...};
    m.run(task::map_gradients<gradients, T, K, R, Plan::rows, OneSlope>{gradients{f}, wanted, given},
          Plan::steps, elements_or_none(dz[Q]->handle())..., x.value().data()...,
          elements_or_none(std::get<I>(made))...);
    (contribute_made<L, typename X::shape_type>(m, x.target(), std::move(std::get<I>(made)),
                                                is_row(I) ? Plan::unreduced : axis_set{0}),
     ...);
  }(std::index_sequence_for<X...>{}, std::make_index_sequence<R>{});
}

/// A pass for each gradient that is wanted, of result number `Q`.
template<std::size_t Q, class F, class DZ, class... X>
constexpr void pull_back_each(F const& f, DZ const& dz, kept<X> const&... x) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const pull = [&]<std::size_t J>(std::integral_constant<std::size_t, J>, auto const& to) {
      if (to.needs_gradient())
        pull_back(to.target(), 0, fusion::gradient_by<J, F, sizeof...(X), Q>{f}, dz, x.value()...);
    };
    (pull(std::integral_constant<std::size_t, I>{}, x), ...);
  }(std::index_sequence_for<X...>{});
}

/// An operation with several results on the tape. `pull(given, dz)` gets the set of results that were used,
/// and their gradients, finished. (Tuples and no arrays: g++ 12 miscounts handles in arrays in constant
/// evaluation.)
template<class F, class... Z>
struct recorded_results : tape_entry {
  std::tuple<Z...> z;
  F pull;

  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<recorded_results*>(e);
    std::apply([](Z const&... one) { ((one.slot().consumed = true), ...); }, me->z);
    std::get<0>(me->z).machine().destroy(me);
  }
  template<class One>
  static constexpr One gradient_of(One const& z) {
    auto& slot = z.slot();
    One dz{z.machine(), std::move(slot.sum)};
    if (dz.handle()) finish_in_place(dz, slot.unreduced, slot.why);
    return dz;
  }
  static constexpr void run_backward(tape_entry* e) {
    auto* const me = static_cast<recorded_results*>(e);
    unsigned given = 0;
    unsigned next  = 1;
    std::apply([&](Z const&... one) { ((given |= one.slot().sum ? next : 0U, next <<= 1), ...); }, me->z);
    if (given == 0) return;
    std::apply(
        [&](Z const&... one) {
          std::tuple<Z...> const dz{gradient_of(one)...};
          std::apply([&](Z const&... each) { me->pull(given, std::array{&each...}); }, dz);
        },
        me->z);
  }
};

/// As `record` of one result.
template<class F, class... Z>
constexpr void record_results(F pull, Z&... z) {
  using entry = recorded_results<F, Z...>;
  auto& m     = std::get<0>(std::tie(z...)).machine();
  (z.need_gradient(false), ...);
  if (m.keeps_tape())
    m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this},
                                           std::tuple<Z...>{z.without_value()...}, std::move(pull)));
  else ((z.slot().consumed = true), ...);
}

/// `Z`, whatever its number.
template<std::size_t, class Z>
using result_as = Z;

/// The results of f(x...), each of shape `Out`, in a tuple.
template<class Plan, class Out, class F, class First, class... Rest>
constexpr auto results_of_fused(F const& f, First const& x, Rest const&... rest) {
  using T          = typename First::element_type;
  using Z          = tensor_of<T, typename First::layout_type, Out>;
  constexpr auto K = 1 + sizeof...(Rest);
  constexpr auto R = fusion::function_of<F, K>::results;
  auto& m          = x.machine();
  if constexpr (sizeof...(rest) > 0) expect_one_mesh(m, rest.machine()...);
  return [&]<std::size_t... Q>(std::index_sequence<Q...>) {
    if constexpr (Plan::one_pass) {
      using values = fusion::values_of<F, K>;
      std::tuple<result_as<Q, Z>...> z{result_as<Q, Z>::uninitialised(m)...};
      m.run(task::map_results<values, T, K, R, Plan::rows>{values{f}}, Plan::steps, x.data(), rest.data()...,
            std::get<Q>(z).data()...);
      return z;
    } else {
      return std::tuple{each<T, Out>(fusion::value_of<F, K, Q>{f}, x, rest...)...};
    }
  }(std::make_index_sequence<R>{});
}

/// `fused` of a function with one result.
template<class Plan, class Out, class F, class First, class... Rest>
constexpr auto fused_result(F const& f, First const& x, Rest const&... rest) {
  auto z = each<typename First::element_type, Out>(fusion::value_of<F, 1 + sizeof...(Rest)>{f}, x, rest...);
  if (wants_gradient(x, rest...))
    record(z, [f, x = keep(x), ... rest = keep(rest)](auto const& dz) {
      if constexpr (Plan::one_pass) pull_back_in_one_pass<false, Plan>(f, 1, std::array{&dz}, x, rest...);
      else pull_back_each<0>(f, dz, x, rest...);
    });
  return z;
}

/// `fused` of a function with several results.
template<class Plan, class Out, class F, class... X>
constexpr auto fused_results(F const& f, X const&... x) {
  auto z = results_of_fused<Plan, Out>(f, x...);
  if (wants_gradient(x...)) {
    auto const pull = [f, ... x = keep(x)](unsigned given, auto const& dz) {
      if constexpr (Plan::one_pass) pull_back_in_one_pass<false, Plan>(f, given, dz, x...);
      else
        [&]<std::size_t... Q>(std::index_sequence<Q...>) {
          (((given >> Q & 1U) != 0 ? pull_back_each<Q>(f, *dz[Q], x...) : void()), ...);
        }(std::make_index_sequence<fusion::function_of<F, sizeof...(X)>::results>{});
    };
    std::apply([&](auto&... one) { record_results(pull, one...); }, z);
  }
  return z;
}

/// In the place of what an objection has refused.
template<class F, std::size_t K>
constexpr auto refused_results() {
  if constexpr (fusion::ReturnsTuple<F, K>) return std::array<rejected, fusion::function_of<F, K>::results>{};
  else return rejected{};
}

}  // namespace detail

//= || torch.compile(f)(x, y) || jax.jit(f)(x, y) || fused(f, x, y)
/// f(x...) for each element of at most three operands, broadcast to one another, in one pass over memory. `f`
/// is a lambda that takes `auto`, and is written with + - * /, comparisons, `where` and the library's
/// functions of elements by their plain names; numbers that it captures by value are constants.
///
///     auto y = fused([](auto gate, auto up) { return silu(gate) * up; }, gate, up);
///     auto z = fused([](auto x) { return where(x > 0, x, 0.1 * x); }, x);
///
/// A function that returns a tuple or an array of numbers has several results: `fused` returns a tuple of
/// tensors, each with all dimensions of the operands, made in one pass, and the gradients are made in one
/// pass from those of all results that are used.
///
///     auto [mean, spread] = fused([](auto x, auto y) { return std::tuple{(x + y) / 2, abs(x - y)}; }, x, y);
///
/// The compiler finds the derivatives (forward mode, core/dual.hpp); a function of the library
/// contributes its own. The gradients of all operands are made in one pass too, which computes f again, if
/// each operand has all dimensions in the result's order or they share the same innermost ones; otherwise
/// each has a pass. A gradient is unreduced over the axes of the dimensions that its operand lacks. Nothing
/// is sent. The value has the same bits as the operations that it stands for, if the headers are used alone
/// (with the compiled library f is called with numbers, and so are functions of the standard library, which
/// differ from those of batches in the last bits). Price: `f` is called with a number that counts its steps.
///
/// f is called on several threads, with batches: it has no effects. A name in it keeps one meaning: write
/// `auto t = x * y;`, not `t = t * y;`, since the type says of which operands it is made.
template<class F, detail::Operand X, detail::Operand... Rest>
  requires(!detail::Operand<F>)
constexpr auto fused(F const& f, X const& x, Rest const&... rest) {
  using L          = detail::layout_in<X>;
  using T          = detail::element_in<X>;
  constexpr auto K = 1 + sizeof...(Rest);
  using lambda     = fusion::can_be_fused<F, K>;
  // by name: clang shows what a condition is made of, and the type of a lambda has its path
  constexpr bool takes   = lambda::takes;
  constexpr bool returns = lambda::returns;
  constexpr bool keeps   = lambda::keeps;
  constexpr bool chooses = lambda::chooses;
  using whole            = first_objection<detail::use_verdict<algebra::use::nonlinear, X>,
                                           detail::use_verdict<algebra::use::nonlinear, Rest>...>;
  using verdict =
      first_objection<detail::count_verdict<int{K}>, detail::operands_fit<X, Rest>...,
                      elementwise_verdict<actual<L>, detail::shape_in<X>, detail::shape_in<Rest>...>>;
  static_assert(FloatingElement<T>, "meshtf: fused is for floating point elements: cast<float>(x) first");
  static_assert(accepted<whole>, "meshtf: fused needs a finished value: write fused(f, finish(x))");
  static_assert(accepted<verdict>, "meshtf: fused can't join these operands");
  static_assert(takes, "meshtf: fused's function takes one auto for each operand: [](auto x, auto y)");
  static_assert(
      returns,
      "meshtf: fused's function returns one number that it makes of its operands, or a tuple of such");
  static_assert(keeps, "meshtf: fused's function keeps numbers by value: [rate], not [&rate]");
  static_assert(chooses, "meshtf: fused's function decides for each element: where(x > 0, a, b)");
  if constexpr (!accepted<first_objection<whole, verdict>> || !FloatingElement<T> || !lambda::yes) {
    return detail::refused_results<F, K>();
  } else {
    using out  = broadcast_shape<detail::shape_in<X>, detail::shape_in<Rest>...>;
    using plan = fused_plan<actual<L>, out, detail::shape_in<X>, detail::shape_in<Rest>...>;
    detail::local_terms(x).machine().begin_operation("fused");
    if constexpr (lambda::in_tuple)
      return detail::fused_results<plan, out>(f, detail::local_terms(x), detail::local_terms(rest)...);
    else return detail::fused_result<plan, out>(f, detail::local_terms(x), detail::local_terms(rest)...);
  }
}

MESHTF_ACCEPT_REJECTED(fused)
template<class F, class... X>
  requires detail::AnyRejected<X...> && fusion::ReturnsTuple<F, sizeof...(X)>
constexpr auto fused(F const&, X const&...) {
  return detail::refused_results<F, sizeof...(X)>();
}

}  // namespace v0
}  // namespace meshtf
