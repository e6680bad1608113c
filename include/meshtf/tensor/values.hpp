// The values that a function of the program takes and returns: a tensor, a partial sum, a tuple of these, or
// a struct that names its values.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/tensor/operation.hpp>
#include <meshtf/tensor/spilled.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A struct of values says which they are, and is made from them in the same order:
/// `constexpr auto values() const { return std::tuple{stream, branch}; }`.
template<class Z>
concept HasValues = !Operand<Z> && requires(Z const& z) { z.values(); };

/// Calls f with the tensor, with the local terms of the partial sum, or with each in the tuple. With several
/// values of one type, with those that correspond.
template<class F, class T, class L, class... D, class... Same>
constexpr void for_each_value(F const& f, tensor<T, L, D...> const& first, Same const&... more) {
  f(first, more...);
}
template<class F, class V, class Over, class... Same>
constexpr void for_each_value(F const& f, partial<V, Over> const& first, Same const&... more) {
  f(first.local_terms(), more.local_terms()...);
}
template<class F, HasValues Z, class... Same>
constexpr void for_each_value(F const& f, Z const& first, Same const&... more);
template<std::size_t I, class F, class... Tuple>
constexpr void for_each_value_at(F const& f, Tuple const&... tuple) {
  for_each_value(f, std::get<I>(tuple)...);
}
template<class F, class... Z, class... Same>
constexpr void for_each_value(F const& f, std::tuple<Z...> const& first, Same const&... more) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (for_each_value_at<I>(f, first, more...), ...);
  }(std::index_sequence_for<Z...>{});
}

template<class F, HasValues Z, class... Same>
constexpr void for_each_value(F const& f, Z const& first, Same const&... more) {
  for_each_value(f, first.values(), more.values()...);
}

/// The same with each tensor replaced by f of it, which is a tensor of the same type.
template<class F, class T, class L, class... D>
constexpr auto map_values(F const& f, tensor<T, L, D...> const& z) {
  return f(z);
}
template<class F, class V, class Over>
constexpr auto map_values(F const& f, partial<V, Over> const& p) {
  return partial<V, Over>{f(p.local_terms()), p.owed()};
}
template<class F, HasValues Z>
constexpr Z map_values(F const& f, Z const& z);
template<class F, class... Z>
constexpr auto map_values(F const& f, std::tuple<Z...> const& all) {
  return std::apply([&f](Z const&... z) { return std::tuple{map_values(f, z)...}; }, all);
}

template<class F, HasValues Z>
constexpr Z map_values(F const& f, Z const& z) {
  return std::apply([](auto&&... value) { return Z{std::move(value)...}; }, map_values(f, z.values()));
}

/// The tape keeps these values, if they are any: inside `spill` they leave with what else it keeps.
template<class X>
constexpr void note_values_for_spilling(X const& x) {
  if constexpr (Operand<X>) note_for_spilling(local_terms(x));
  else if constexpr (HasValues<X>) note_values_for_spilling(x.values());
  else if constexpr (requires { std::get<0>(x); })
    std::apply([](auto const&... value) { (note_values_for_spilling(value), ...); }, x);
}

/// An argument of a function that will be called again: of a tensor its elements, in the version that they
/// have now, and its slot.
template<class T, class L, class... D>
constexpr auto kept_argument(tensor<T, L, D...> const& x) {
  return keep(x);
}
template<class X>
  requires(!Tensor<X>)
constexpr X kept_argument(X const& x) {
  note_values_for_spilling(x);
  return x;
}
/// The argument as the function sees it. Parameters are tensors.
template<class T, class L, class... D>
constexpr tensor<T, L, D...> const& argument(tensor<T, L, D...> const& x) {
  return x;
}
template<class V>
constexpr V const& argument(kept<V> const& x) {
  return x.value();
}
template<class X>
  requires(!Tensor<X>)
constexpr X const& argument(X const& x) {
  return x;
}

/// The machine of the first value among these, in tuples and structs too.
template<class First, class... Rest>
constexpr auto& machine_of_first(First const& x, Rest const&... rest) {
  if constexpr (Operand<First>) return local_terms(x).machine();
  else if constexpr (HasValues<First>) return machine_of_first(std::get<0>(x.values()));
  else if constexpr (requires { std::get<0>(x); }) return machine_of_first(std::get<0>(x));
  else return machine_of_first(rest...);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
