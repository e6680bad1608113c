// The two factors that stand for an array of squares: which dimensions they have.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/core/shape.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Which of two or more sizes is the largest, and which comes second; of equal ones the first.
template<std::size_t N>
constexpr std::pair<std::size_t, std::size_t> two_largest(std::array<extent, N> const& sizes) {
  std::size_t first = 0;
  for (std::size_t i = 1; i < N; ++i)
    if (sizes[i] > sizes[first]) first = i;
  std::size_t second = first == 0 ? 1 : 0;
  for (std::size_t i = 0; i < N; ++i)
    if (i != first && sizes[i] > sizes[second]) second = i;
  return {first, second};
}

/// The dimension with this number, as a shape.
template<std::size_t N, class... D, std::size_t... I>
auto one_dim(shape<D...>, std::index_sequence<I...>) -> decltype((shape<>{} + ... + kept_if<I == N, D>{}));

/// The factors that stand for an array of shape `S`.
template<class S>
struct factors {
  static constexpr bool there_are = false;
};
template<class A, class B, class... D>
struct factors<shape<A, B, D...>> {
  static constexpr bool there_are = true;
  static constexpr auto largest =
      two_largest(std::array<extent, 2 + sizeof...(D)>{A::size, B::size, D::size...});
  using all         = shape<A, B, D...>;
  using numbers     = std::make_index_sequence<2 + sizeof...(D)>;
  using largest_dim = decltype(one_dim<largest.first>(all{}, numbers{}));
  using second_dim  = decltype(one_dim<largest.second>(all{}, numbers{}));
  using rows        = without<all, largest_dim>;
  using columns     = without<all, second_dim>;
  using rest        = without<rows, second_dim>;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
