// iota: 0, 1, 2 ... along a dimension.
#pragma once

#include <source_location>

#include <meshtf/plan/random_plan.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Part of the operation that the caller has begun.
template<class T, class L, class D>
constexpr auto indices(machine<L>& m) {
  auto z = tensor<T, L, D>::uninitialised(m);
  m.run(task::iota<T>{}, iota_plan<actual<L>, D>, z.data());
  return z;
}

}  // namespace detail

/// The index of each element along `D`; where `D` is split, each process starts at the first index of its own
/// part. Float counts exactly up to 2^24.
///
///     auto position = meshtf::iota<int, L, length>(m);
template<Element T, Layout L, Dimension D>
constexpr auto iota(machine<L>& m, std::source_location at = std::source_location::current()) {
  using verdict = std::conditional_t<FloatingElement<T>, legal, detail::index_verdict<D>>;
  static_assert(accepted<verdict>, "meshtf: iota can't count along this dimension in integers");
  m.begin_operation("iota", at);
  return detail::indices<T, L, D>(m);
}

}  // namespace v0
}  // namespace meshtf
