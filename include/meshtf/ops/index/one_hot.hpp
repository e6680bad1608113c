// one_hot: class numbers as rows of zeros with one 1.
#pragma once

#include <source_location>

#include <meshtf/ops/index/iota.hpp>
#include <meshtf/tensor/local.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct is_same_index {
  static constexpr bool parallel = true;
  static constexpr extent flops  = 1;
  constexpr T operator()(std::int32_t x, std::int32_t y) const { return x == y ? T{1} : T{0}; }
};

}  // namespace function

/// For each id a row along `V`, the last dimension: 1 at the index that is the id, 0 elsewhere. The row
/// of an id that is no index of `V` is all zeros.
///
///     auto targets = one_hot<vocab, float>(tokens);   // tokens[batch] -> targets[batch, vocab]
///
/// Local, even where `V` is split. No gradient.
template<Dimension V, Element T, class U, class L, class... I>
constexpr auto one_hot(tensor<U, L, I...> const& ids,
                       std::source_location at = std::source_location::current()) {
  using number  = std::conditional_t<std::is_same_v<U, std::int32_t>, legal,
                                     operands_have_different_elements<std::int32_t, U>>;
  using verdict = first_objection<number, placement_verdict<actual<L>, I..., V>, detail::index_verdict<V>>;
  static_assert(accepted<verdict>, "meshtf: one_hot can't give these numbers rows along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    ids.machine().begin_operation("one_hot", at);
    auto const classes = detail::indices<std::int32_t, L, V>(ids.machine());
    return detail::each<T, shape<I..., V>>(function::is_same_index<computed<T>>{}, ids, classes);
  }
}

MESHTF_ACCEPT_REJECTED(one_hot)

}  // namespace v0
}  // namespace meshtf
