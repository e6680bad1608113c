// Shapes: ordered lists of dimensions, and the small algebra on them.
#pragma once

#include <type_traits>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// A tensor or a loop nest has at most this many dimensions.
inline constexpr int max_rank = 12;

/// Dimensions in order, outermost in memory first.
template<Dimension... D>
struct shape {
  static constexpr int rank    = int{sizeof...(D)};
  static constexpr extent size = (D::size * ... * extent{1});

  template<class X>
  static constexpr bool has = (std::same_as<X, D> || ...);
};

namespace detail {

// Folds over `+` do the work: there is no recursion, and the order of the dimensions is kept.
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
    : std::type_identity<decltype((shape<>{} + ... +
                                   std::conditional_t<std::same_as<D, From>, shape<To...>, shape<D>>{}))> {};

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

/// `S` with `From` replaced by the dimensions of the shape `To`.
template<class S, class From, class To>
using replaced = typename detail::replacement<S, From, To>::type;

namespace detail {

template<class S, class... More>
struct all_dims;

template<class S>
struct all_dims<S> : std::type_identity<S> {};

template<class S, class First, class... Rest>
struct all_dims<S, First, Rest...> : all_dims<united<S, First>, Rest...> {};

/// The first of the shapes that has all dimensions of `All`; `All` itself if there is none.
template<class All, class... S>
struct first_with_all : std::type_identity<All> {
  static constexpr bool there_is = false;
};

template<class All, class First, class... Rest>
  requires(First::rank < All::rank)
struct first_with_all<All, First, Rest...> : first_with_all<All, Rest...> {};

template<class All, class First, class... Rest>
  requires(First::rank >= All::rank)
struct first_with_all<All, First, Rest...> : std::type_identity<First> {
  static constexpr bool there_is = true;
};

template<class... S>
using broadcast_of = first_with_all<typename all_dims<S...>::type, S...>;

}  // namespace detail

/// The shape that operands of the shapes `S...` are broadcast to: the first that has the dimensions of all
/// others. If there is none, all dimensions in order: the left operand's, then the right's.
template<class... S>
using broadcast_shape = typename detail::broadcast_of<S...>::type;

/// Whether operands are broadcast implicitly: one has the dimensions of all others, or there are two that
/// share none. Otherwise an operand that was meant to have a dimension of another would silently be given
/// more dimensions.
template<class... S>
inline constexpr bool broadcast_by_themselves =
    detail::broadcast_of<S...>::there_is ||
    (sizeof...(S) == 2 && (S::rank + ... + 0) == broadcast_shape<S...>::rank);

}  // namespace v0
}  // namespace meshtf
