// searchsorted: where values stand in sequences that are in order.
#pragma once

#include <cstdint>
#include <source_location>

#include <meshtf/plan/searchsorted_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

//= || torch.searchsorted(edges, x) || jnp.searchsorted(edges, x) || searchsorted<bins>(edges, x)
/// For each value, how many elements of a sequence along `Along` are less: where the value would be inserted,
/// before its equals. With `{.right = true}`, how many are not larger: after its equals.
///
///     auto bin  = searchsorted<bins>(edges, x);              // edges[bins], x[batch] -> int[batch]
///     auto last = searchsorted<bins>(edges, x, {.right = true});
///
/// The sequence is in order from the smallest to the largest, with NaNs last, as `sort` gives it; that is not
/// checked. Other dimensions of it that the values have, such as batch, are walked through in step; those
/// that they lack follow the dimensions of the values in the result. All of these may be split; `Along` is
/// whole. The result is int, from 0 to Along::size, so `Along` has fewer than 2^31 elements. Local. No
/// gradient. Errors: `search_along_split_dim`, `values_have_searched_dim`, and those of every nest.
/// Source: `torch.searchsorted` of PyTorch.
template<Dimension Along, detail::NumberOperand S, detail::NumberOperand X>
constexpr auto searchsorted(S const& sequence, X const& values, search_side side = {},
                            std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<S>;
  using L       = detail::layout_in<S>;
  using plan    = searchsorted_plan<actual<L>, detail::shape_in<S>, Along, detail::shape_in<X>>;
  using whole   = first_objection<detail::use_verdict<algebra::use::compared, S>,
                                  detail::use_verdict<algebra::use::compared, X>>;
  using verdict = first_objection<detail::operands_fit<S, X>, typename plan::verdict>;
  static_assert(accepted<whole>,
                "meshtf: searchsorted needs finished values: write searchsorted<...>(finish(s), finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, S>>,
                "meshtf: searchsorted can't look for these values along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& in = detail::local_terms(sequence);
    auto const& x  = detail::local_terms(values);
    auto& m        = in.machine();
    m.begin_operation("searchsorted", at);
    detail::expect_one_mesh(m, x.machine());
    auto z = tensor_of<std::int32_t, L, typename plan::result>::uninitialised(m);
    m.run(task::search<T>{side.right}, plan::lines, in.data(), x.data(), z.data());
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(searchsorted)
template<class... Named, class S, class X>
  requires detail::AnyRejected<S, X>
constexpr rejected searchsorted(S const&, X const&, search_side const&, std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
