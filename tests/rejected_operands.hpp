// Operations whose operand is the result of one that was refused, for static tests.
#pragma once

#include <concepts>

#include <meshtf/tensor/rejected.hpp>

/// Asserts that all of these results are refused, too, so that the compiler says nothing more.
/// `tests/checks/compiled.py rejected` asks for a call of every operation between its brackets.
template<class... X>
constexpr void all_rejected(X const&...) {
  static_assert((std::same_as<X, meshtf::rejected> && ...));
}
