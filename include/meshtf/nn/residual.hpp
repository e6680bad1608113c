// A residual stream between the blocks of a model, with the branch that is yet to be added to it.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/tensor/rejected.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// The residual stream and the branch that is yet to be added to it: the next norm does both in one pass.
template<class Tensor>
struct residual {
  Tensor stream;
  Tensor branch;

  constexpr auto values() const { return std::tuple{stream, branch}; }
};

namespace detail {

/// The stream and a branch, for the next norm.
template<class X, class Branch>
constexpr auto residual_of(X&& stream, Branch&& branch) {
  if constexpr (meshtf::detail::AnyRejected<std::remove_cvref_t<X>, std::remove_cvref_t<Branch>>)
    return residual<rejected>{};
  else return residual<std::remove_cvref_t<X>>{std::forward<X>(stream), std::forward<Branch>(branch)};
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
