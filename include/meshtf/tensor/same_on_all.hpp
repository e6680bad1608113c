// same_on_all: a number by which all processes decide alike.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// The `number` of the first process of the mesh, on all processes: one broadcast of it, which is priced and
/// counted.
///
///     for (int turn = 0; same_on_all(m, turn < most && clock() < end); ++turn) ...
///
/// Conditions and loops are C++'s, so all processes must take the same branch and the same number of
/// iterations; otherwise some wait for calls that others never make. What a process reads from a clock, from
/// a file or with `local()` may differ, also in its last bit on processes that hold the same elements. Under
/// a dry layout it is the caller's number.
template<class Machine, Number N>
  requires requires { typename Machine::mesh_type; }
constexpr N same_on_all(Machine& m, N number, std::source_location at = std::source_location::current()) {
  static_assert(
      Element<N>,
      "meshtf: same_on_all sends float, double, int, std::int64_t or bool: convert the number to one of "
      "them");
  if constexpr (Element<N>) {
    m.begin_operation("same_on_all", at);
    m.broadcast(&number);
  }
  return number;
}

/// The value of a tensor without dimensions, as the first process of the mesh has it. A price has no values:
/// under a dry layout, and while a step is recorded for a search, it is `priced`, so the caller says which
/// branch or how many iterations the price assumes.
///
///     for (int turn = 0; same_on_all(error, turn < 9 ? 1 : 0) > 1e-3; ++turn) error = ...;   // the price is
///     that of nine iterations
///
/// `dry_run` and `recorded` of a program that took another branch differ in the calls that this changes, this
/// one included.
template<Element T, class L>
constexpr T same_on_all(tensor<T, L> const& x, std::type_identity_t<T> priced,
                        std::source_location at = std::source_location::current()) {
  auto& m = x.machine();
  // narrow elements travel as the number that they stand for
  if constexpr (detail::holds_values<L>)
    return static_cast<T>(same_on_all(m, static_cast<computed<T>>(x.value()), at));
  else return static_cast<T>(same_on_all(m, static_cast<computed<T>>(priced), at));
}

template<class V, class Over, class N>
constexpr auto same_on_all(partial<V, Over> const&, N) {
  static_assert(accepted<detail::use_verdict<algebra::use::compared, partial<V, Over>>>,
                "meshtf: same_on_all needs a finished number: finish(p)");
  return detail::element_in<V>{};
}

MESHTF_ACCEPT_REJECTED(same_on_all)

}  // namespace v0
}  // namespace meshtf
