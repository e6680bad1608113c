// Shapes: ordered lists of dimensions, and the little algebra on them.
#pragma once

#include <type_traits>

#include <meshtf/core/dim.hpp>

namespace meshtf::inline v0 {

/// More dimensions than this no tensor and no loop nest has.
inline constexpr int max_rank = 12;

template<Dimension... D>
struct shape {
  static constexpr int rank    = int{sizeof...(D)};
  static constexpr extent size = (D::size * ... * extent{1});

  template<class X>
  static constexpr bool has = (std::same_as<X, D> || ...);
};

namespace detail {

// Folds over `+` do the work: no recursion, and the order of the dimensions is kept.
template<class... A, class... B>
shape<A..., B...> operator+(shape<A...>, shape<B...>);

template<bool Keep, class D>
using kept_if = std::conditional_t<Keep, shape<D>, shape<>>;

template<class A, class B>
struct meet;

template<class... A, class B>
struct meet<shape<A...>, B> {
  using without = decltype((shape<>{} + ... + kept_if<!B::template has<A>, A>{}));
  using common  = decltype((shape<>{} + ... + kept_if<B::template has<A>, A>{}));
};

template<class S, class From, class To>
struct replacement;

template<class... D, class From, class... To>
struct replacement<shape<D...>, From, shape<To...>>
    : std::type_identity<decltype((shape<>{} + ... + std::conditional_t<std::same_as<D, From>, shape<To...>, shape<D>>{}))> {};

template<class S>
struct front;

template<class First, class... Rest>
struct front<shape<First, Rest...>> : std::type_identity<First> {};

}  // namespace detail

/// The dimensions of `A` that `B` lacks, in the order of `A`.
template<class A, class B>
using without = typename detail::meet<A, B>::without;

/// The dimensions of `A` that `B` has too, in the order of `A`.
template<class A, class B>
using common_dims = typename detail::meet<A, B>::common;

/// The dimensions of `A`, then those of `B` that `A` lacks.
template<class A, class B>
using united = decltype(detail::operator+(A{}, without<B, A>{}));

/// `S` with the dimensions of the shape `To` in the place of `From`.
template<class S, class From, class To>
using replaced = typename detail::replacement<S, From, To>::type;

/// The shape of a broadcast: the larger operand's order if the other's dimensions are a subsequence of it, else the left's, then the right's new ones.
template<class A, class B>
using broadcast_shape = std::conditional_t<std::is_same_v<common_dims<B, A>, A>, B, united<A, B>>;

}  // namespace meshtf::inline v0
