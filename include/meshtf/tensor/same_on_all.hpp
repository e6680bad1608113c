// same_on_all: a number by which all processes decide alike.
#pragma once

#include <concepts>
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

/// The value of a tensor without dimensions, alike on all processes of the mesh. A price has no values: under
/// a dry layout, and while a step is recorded for a search, it is `priced`, so the caller says which branch
/// or how many iterations the price assumes.
///
///     for (int turn = 0; same_on_all(error, turn < 9 ? 1 : 0) > 1e-3; ++turn) error = ...;   // the price is
///     that of nine iterations
///
/// A float or double is the first process's: one broadcast, which is priced and counted. An integer or a bool
/// is each process's own, and nothing is sent: sums and extrema of integers have no rounding, so a finished
/// one is the same everywhere. Where calls are compared (`MESHTF_CHECK`), it is compared too.
///
///     while (same_on_all(any(cast<bool>(active)), false)) ...   // sends what `any` sends, and no more
///
/// Comparisons of floats give floats, which are sent, and with `cast<bool>` are not. That presumes replicas
/// that are equal, as those of processes that run the same kernels are. Where processors of several kinds may
/// round otherwise, leave out the cast.
///
/// `dry_run` and `recorded` of a program that took another branch differ in the calls that this changes, this
/// one included.
/// Errors: `software_error` on all processes if an integer or a bool is compared and differs; it names two
/// processes, their numbers and the call site.
template<Element T, class L>
constexpr T same_on_all(tensor<T, L> const& x, std::type_identity_t<T> priced,
                        std::source_location at = std::source_location::current()) {
  auto& m        = x.machine();
  auto const own = [&] {
    if constexpr (detail::holds_values<L>) return x.value();
    else return priced;
  }();
  if constexpr (std::integral<T>) {
    m.begin_operation("same_on_all", at);
    if constexpr (std::remove_reference_t<decltype(m)>::computes) m.expect_same_number(own, m.now());
    return own;
  } else {  // narrow elements travel as the number that they stand for
    return static_cast<T>(same_on_all(m, static_cast<computed<T>>(own), at));
  }
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
