// The functions that `fused` is made of: a lambda's values and derivatives, for an element or a batch, and
// whether it can be fused.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/ops/pointwise/dual_functions.hpp>

namespace meshtf {
inline namespace v0 {
namespace fusion {

/// How many results f has if it returns an `R`: one number, or those in a tuple or an array; 0 if not all of
/// them are numbers.
template<class R>
inline constexpr std::size_t results_in = 0;
template<class V, unsigned On>
inline constexpr std::size_t results_in<dual<V, On>> = 1;
template<class R>
  requires requires { std::tuple_size<R>::value; }
inline constexpr std::size_t results_in<R> = []<std::size_t... I>(std::index_sequence<I...>) {
  return (is_dual<std::remove_cvref_t<std::tuple_element_t<I, R>>> && ...) ? sizeof...(I) : 0;
}(std::make_index_sequence<std::tuple_size_v<R>>{});

/// Result number `Q`.
template<std::size_t Q, class R>
[[gnu::always_inline]] constexpr auto const& result_in(R const& r) {
  if constexpr (is_dual<R>) return r;
  else return std::get<Q>(r);
}

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

  /// How many results it has.
  static constexpr std::size_t results =
      results_in<decltype(call<0>(std::declval<F const&>(), std::declval<std::array<counted, K> const&>()))>;

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

/// Result number `Q` of f.
template<class F, std::size_t K, std::size_t Q = 0>
struct value_of : function::of_elements<function_of<F, K>::template steps<>> {
  [[no_unique_address]] F f;

  constexpr explicit value_of(F const& g) : f(g) {}
  template<class V, class... More>
  constexpr V operator()(V const& x, More const&... more) const {
    return result_in<Q>(function_of<F, K>::template call<0>(f, std::array{x, more...})).value;
  }
};

/// dz times the derivative of result number `Q` by operand number `I`.
template<std::size_t I, class F, std::size_t K, std::size_t Q = 0>
struct gradient_by : function::of_elements<function_of<F, K>::template steps<1U << I> + 1> {
  [[no_unique_address]] F f;

  constexpr explicit gradient_by(F const& g) : f(g) {}
  template<class V, class... X>
  constexpr V operator()(V const& dz, X const&... x) const {
    auto const z = function_of<F, K>::template call<1U << I>(f, std::array{x...});
    return result_in<Q>(z).template contribution<I>(dz);
  }
};

/// All results of f, in an array.
template<class F, std::size_t K>
struct values_of : function::of_elements<function_of<F, K>::template steps<>> {
  static constexpr std::size_t results = function_of<F, K>::results;
  [[no_unique_address]] F f;

  constexpr explicit values_of(F const& g) : f(g) {}
  template<class V>
  [[gnu::always_inline]] constexpr std::array<V, results> operator()(std::array<V, K> const& x) const {
    auto const z = function_of<F, K>::template call<0>(f, x);
    return [&]<std::size_t... Q>(std::index_sequence<Q...>) __attribute__((always_inline)) {
      return std::array<V, results>{result_in<Q>(z).value...};
    }(std::make_index_sequence<results>{});
  }
};

/// The gradients by each operand, in an array: dz of each result times its derivatives, added up. Results
/// that are not in the set `given` have no gradient, and no influence: a derivative that is infinite stays
/// away.
template<class F, std::size_t K>
struct gradients_of : function::of_elements<function_of<F, K>::template steps<function_of<F, K>::all> +
                                            extent{K} * (2 * extent{function_of<F, K>::results} - 1)> {
  static constexpr std::size_t results = function_of<F, K>::results;
  [[no_unique_address]] F f;

  constexpr explicit gradients_of(F const& g) : f(g) {}
  static constexpr gradients_of of_zeros() { return gradients_of{function_of<F, K>::of_zeros()}; }

  template<class V>
  [[gnu::always_inline]] constexpr std::array<V, K> operator()(std::array<V, results> const& dz,
                                                               unsigned given,
                                                               std::array<V, K> const& x) const {
    auto const z = function_of<F, K>::template call<function_of<F, K>::all>(f, x);
    return [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) __attribute__((always_inline)) {
      return std::array<V, K>{added_up<I>(dz, given, z)...};
    }(std::make_integer_sequence<unsigned, static_cast<unsigned>(K)>{});
  }

private:
  template<unsigned I, class V, class Z>
  [[gnu::always_inline]] static constexpr V added_up(std::array<V, results> const& dz, unsigned given,
                                                     Z const& z) {
    if constexpr (results == 1) {
      return result_in<0>(z).template contribution<I>(dz[0]);
    } else {
      V sum(0);
      auto const add = [&]<std::size_t Q>(std::integral_constant<std::size_t, Q>)
                           __attribute__((always_inline)) {
                             if ((given >> Q & 1U) != 0)
                               sum = sum + result_in<Q>(z).template contribution<I>(dz[Q]);
                           };
      [&]<std::size_t... Q>(std::index_sequence<Q...>) __attribute__((always_inline)) {
        (add(std::integral_constant<std::size_t, Q>{}), ...);
      }(std::make_index_sequence<results>{});
      return sum;
    }
  }
};

/// Whether f can be fused: it `takes` one `auto` for each operand, `returns` one number made of them or a
/// tuple of several, `keeps` numbers alone, and `chooses` without an `if`.
template<class F, std::size_t K>
struct can_be_fused {
  template<std::size_t>
  using number = dual<counted, 0>;
  template<std::size_t... I>
  static consteval bool is_called(std::index_sequence<I...>) {
    return std::is_invocable_v<F const&, number<I>...>;
  }
  template<std::size_t... I>
  static consteval auto returned(std::index_sequence<I...>) {
    return std::type_identity<std::remove_cvref_t<std::invoke_result_t<F const&, number<I>...>>>{};
  }
  static constexpr bool takes = is_called(std::make_index_sequence<K>{});

  /// Whether it returns several numbers, or one that is alone in a tuple.
  static constexpr bool in_tuple = [] {
    if constexpr (takes) {
      using result = typename decltype(returned(std::make_index_sequence<K>{}))::type;
      return results_in<result> > 0 && !is_dual<result>;
    } else {
      return false;
    }
  }();

  // what follows from an objection is no other
  static constexpr bool returns = [] {
    if constexpr (takes)
      return results_in<typename decltype(returned(std::make_index_sequence<K>{}))::type> > 0;
    else return true;
  }();
  static constexpr bool keeps   = !takes || !returns || KeepsNumbers<F>;
  static constexpr bool chooses = [] {
    if constexpr (takes && returns && keeps) return !function_of<F, K>::template count<0>().decides;
    else return true;
  }();
  static constexpr bool yes = takes && returns && keeps && chooses;
};

/// Whether f has several results.
template<class F, std::size_t K>
concept ReturnsTuple = can_be_fused<F, K>::in_tuple;

}  // namespace fusion
}  // namespace v0
}  // namespace meshtf
