// fused: a function of elements, written as a lambda, in one pass over memory, and its gradients in one pass.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/ops/pointwise/dual_functions.hpp>
#include <meshtf/ops/pointwise/map.hpp>
#include <meshtf/plan/fused_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace fusion {

/// A function of `K` elements as `fused` calls it.
template<class F, std::size_t K>
struct function_of {
  static constexpr unsigned all = (1U << K) - 1;

  /// The function with zeros in place of the numbers that it keeps: its price does not depend on these.
  static constexpr F of_zeros() { return std::bit_cast<F>(std::array<std::byte, sizeof(F)>{}); }

  /// f of the elements `x`, with its derivatives by the operands in the set `Seeds`.
  template<unsigned Seeds, class V>
  [[gnu::always_inline]] static constexpr auto call(F const& f, std::array<V, K> const& x) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      return f(operand<Seeds, I>(x[I])...);
    }(std::make_index_sequence<K>{});
  }

  /// What f and its derivatives by `Seeds` do.
  template<unsigned Seeds>
  static consteval counter count() {
    counter c;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_cast<void>(call<Seeds>(of_zeros(), std::array{(static_cast<void>(I), counted{&c})...}));
    }(std::make_index_sequence<K>{});
    return c;
  }
  /// Their arithmetic steps.
  template<unsigned Seeds = 0>
  static constexpr extent steps = count<Seeds>().steps;

private:
  template<unsigned Seeds, std::size_t I, class V>
  [[gnu::always_inline]] static constexpr auto operand(V const& v) {
    if constexpr ((Seeds >> I & 1U) != 0) return dual<V, 1U << I>{v, {V(1)}};
    else return dual<V, 0>{v, {}};
  }
};

/// Whether all that the function keeps are numbers. A price needs no others, and the tape keeps the function
/// until `backward`, when what a reference refers to may be gone.
template<class F>
concept KeepsNumbers = std::is_trivially_copyable_v<F> && requires {
  typename std::bool_constant<(static_cast<void>(function_of<F, 1>::of_zeros()), true)>;
};

/// f of elements.
template<class F, std::size_t K>
struct value_of : function::of_elements<function_of<F, K>::template steps<>> {
  [[no_unique_address]] F f;

  constexpr explicit value_of(F const& g) : f(g) {}
  template<class V, class... More>
  constexpr V operator()(V const& x, More const&... more) const {
    return function_of<F, K>::template call<0>(f, std::array{x, more...}).value;
  }
};

/// dz times the derivative of f by operand number `I`.
template<std::size_t I, class F, std::size_t K>
struct gradient_by : function::of_elements<function_of<F, K>::template steps<1U << I> + 1> {
  [[no_unique_address]] F f;

  constexpr explicit gradient_by(F const& g) : f(g) {}
  template<class V, class... X>
  constexpr V operator()(V const& dz, X const&... x) const {
    auto const z = function_of<F, K>::template call<1U << I>(f, std::array{x...});
    return z.template contribution<I>(dz);
  }
};

/// The same by each operand, in an array.
template<class F, std::size_t K>
struct gradients_of
    : function::of_elements<function_of<F, K>::template steps<function_of<F, K>::all> + extent{K}> {
  [[no_unique_address]] F f;

  constexpr explicit gradients_of(F const& g) : f(g) {}
  static constexpr gradients_of of_zeros() { return gradients_of{function_of<F, K>::of_zeros()}; }

  template<class V>
  [[gnu::always_inline]] constexpr std::array<V, K> operator()(V const& dz, std::array<V, K> const& x) const {
    auto const z = function_of<F, K>::template call<function_of<F, K>::all>(f, x);
    return [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) __attribute__((always_inline)) {
      return std::array<V, K>{z.template contribution<I>(dz)...};
    }(std::make_integer_sequence<unsigned, static_cast<unsigned>(K)>{});
  }
};

/// Whether f can be fused: it `takes` one `auto` for each operand, `returns` one number made of them, `keeps`
/// numbers alone, and `chooses` without an `if`.
template<class F, std::size_t K>
struct can_be_fused {
  template<std::size_t>
  using number = dual<counted, 0>;
  template<std::size_t... I>
  static consteval bool is_called(std::index_sequence<I...>) {
    return std::is_invocable_v<F const&, number<I>...>;
  }
  template<std::size_t... I>
  static consteval bool is_number(std::index_sequence<I...>) {
    return is_dual<std::invoke_result_t<F const&, number<I>...>>;
  }
  static constexpr bool takes = is_called(std::make_index_sequence<K>{});

  // what follows from an objection is no other
  static constexpr bool returns = [] {
    if constexpr (takes) return is_number(std::make_index_sequence<K>{});
    else return true;
  }();
  static constexpr bool keeps   = !takes || !returns || KeepsNumbers<F>;
  static constexpr bool chooses = [] {
    if constexpr (takes && returns && keeps) return !function_of<F, K>::template count<0>().decides;
    else return true;
  }();
  static constexpr bool yes = takes && returns && keeps && chooses;
};

}  // namespace fusion

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

/// All gradients of f in one pass; those that nobody wants are not stored.
template<bool OneSlope, class Plan, class F, class DZ, class... X>
constexpr void pull_back_in_one_pass(F const& f, DZ const& dz, kept<X> const&... x) {
  constexpr auto K = sizeof...(X);
  using T          = typename DZ::element_type;
  using L          = typename DZ::layout_type;
  using gradients  = fusion::gradients_of<F, K>;
  auto& m          = dz.machine();
  unsigned wanted  = 0;
  unsigned next    = 1;
  ((wanted |= x.needs_gradient() ? next : 0U, next <<= 1), ...);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr auto is_row = [](std::size_t k) { return (Plan::rows >> k & 1U) != 0; };
    std::tuple made{gradient_array<std::conditional_t<is_row(I), computed<T>, T>, L, typename X::shape_type>(
        m, x.needs_gradient())...};
    m.run(task::map_gradients<gradients, T, K, Plan::rows, OneSlope>{gradients{f}, wanted}, Plan::steps,
          dz.data(), x.value().data()..., elements_or_none(std::get<I>(made))...);
    (contribute_made<L, typename X::shape_type>(m, x.target(), std::move(std::get<I>(made)),
                                                is_row(I) ? Plan::unreduced : axis_set{0}),
     ...);
  }(std::index_sequence_for<X...>{});
}

/// A pass for each gradient that is wanted.
template<class F, class DZ, class... X>
constexpr void pull_back_each(F const& f, DZ const& dz, kept<X> const&... x) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const pull = [&]<std::size_t J>(std::integral_constant<std::size_t, J>, auto const& to) {
      if (to.needs_gradient())
        pull_back(to.target(), 0, fusion::gradient_by<J, F, sizeof...(X)>{f}, dz, x.value()...);
    };
    (pull(std::integral_constant<std::size_t, I>{}, x), ...);
  }(std::index_sequence_for<X...>{});
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
  static_assert(returns, "meshtf: fused's function returns one number that it makes of its operands");
  static_assert(keeps, "meshtf: fused's function keeps numbers by value: [rate], not [&rate]");
  static_assert(chooses, "meshtf: fused's function decides for each element: where(x > 0, a, b)");
  if constexpr (!accepted<first_objection<whole, verdict>> || !FloatingElement<T> || !lambda::yes) {
    return detail::rejected{};
  } else {
    using out  = broadcast_shape<detail::shape_in<X>, detail::shape_in<Rest>...>;
    using plan = fused_plan<actual<L>, out, detail::shape_in<X>, detail::shape_in<Rest>...>;
    detail::local_terms(x).machine().begin_operation("fused");
    auto z =
        detail::each<T, out>(fusion::value_of<F, K>{f}, detail::local_terms(x), detail::local_terms(rest)...);
    if (detail::wants_gradient(detail::local_terms(x), detail::local_terms(rest)...))
      detail::record(z, [f, x = detail::keep(detail::local_terms(x)),
                         ... rest = detail::keep(detail::local_terms(rest))](auto const& dz) {
        if constexpr (plan::one_pass) detail::pull_back_in_one_pass<false, plan>(f, dz, x, rest...);
        else detail::pull_back_each(f, dz, x, rest...);
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(fused)

}  // namespace v0
}  // namespace meshtf
