// reshard: the same value under another layout.
#pragma once

#include <source_location>

#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/tensor/moved_undecided.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The axes over which a partial sum over `Over` may be unreduced.
template<class L, class Over>
inline constexpr axis_set possibly_unreduced =
    axis_set_of<typename L::mesh_type, Over> & joining_axes<typename L::mesh_type>;

/// `x` under its own layout, which is undecided. A program that names another layout has chosen it, so
/// nothing is left to search.
template<class L2, class T, class L, class... D>
constexpr auto reshard_undecided(tensor<T, L, D...> const& x) {
  constexpr bool same = std::is_same_v<actual<L2>, actual<L>>;
  static_assert(same,
                "meshtf: reshard can't be recorded to a layout that the program names: it has none yet");
  if constexpr (!same) {
    return rejected{};
  } else {
    return same_elements<tensor<T, L, D...>>(x);
  }
}

/// `x` as a `Z`, which has `Parts` (a shape) where x has `Seen`, or the reverse, under an undecided layout:
/// the same elements. Only layouts under which no element moves then have a price.
template<class Z, class Seen, class Parts, class T, class L, class... D>
constexpr Z renamed_undecided(tensor<T, L, D...> const& x) {
  x.machine().keep_alike(placed_dims<L, shape<Seen>>[0], placed_dims<L, Parts>);
  return same_elements<Z>(x);
}

template<class From, class S1, class To, class S2>
struct relocation {
  static constexpr auto from = placed_dims<From, S1>;
  static constexpr auto to   = placed_dims<To, S2>;
};

}  // namespace detail

/// `x` under the layout `L2` of the same mesh, by the cheapest slices (free), permutes, all-to-alls and
/// all-gathers: `reshard_plan`. Programs write it even where nothing moves; it then costs nothing. Gradient:
/// the reverse; see `detail::relocate`.
template<Layout L2, class T, class L, class... D>
constexpr auto reshard(tensor<T, L, D...> const& x,
                       std::source_location at = std::source_location::current()) {
  if constexpr (is_undecided<L>) {
    x.machine().begin_operation("reshard", at);
    return detail::reshard_undecided<L2>(x);
  } else {
    using plan    = reshard_plan<actual<L>, actual<L2>, shape<D...>>;
    using result  = tensor<T, layout_beside<L, L2>, D...>;
    using verdict = typename plan::verdict;
    static_assert(accepted<verdict>, "meshtf: reshard can't bring this tensor to that layout");
    if constexpr (!accepted<verdict>) {
      return detail::rejected{};
    } else {
      x.machine().begin_operation("reshard", at);
      return detail::relocate<result, detail::relocation<actual<L>, shape<D...>, actual<L2>, shape<D...>>>(
          x, 0, plan::steps);
    }
  }
}

/// The finished sum of `p` under `L2`: unreduced axes that split it there are reduce-scattered, other
/// unreduced axes all-reduced, all other axes sliced.
template<Layout L2, class T, class L, class... D, class Over>
constexpr auto reshard(partial<tensor<T, L, D...>, Over> const& p,
                       std::source_location at = std::source_location::current()) {
  static_assert(!is_undecided<L>,
                "meshtf: reshard can't be recorded of a partial sum without a layout: write finish(p)");
  if constexpr (is_undecided<L>) {
    return detail::rejected{};
  } else {
    constexpr axis_set over = detail::possibly_unreduced<L, Over>;
    // for what needs no reduction, as a gradient may
    using plan    = reshard_plan<actual<L>, actual<L2>, shape<D...>>;
    using result  = tensor<T, layout_beside<L, L2>, D...>;
    using verdict = first_objection<typename reshard_plan<actual<L>, actual<L2>, shape<D...>, over>::verdict,
                                    typename plan::verdict>;
    static_assert(accepted<verdict>, "meshtf: reshard can't bring this partial sum to that layout");
    if constexpr (!accepted<verdict>) {
      return detail::rejected{};
    } else {
      p.machine().begin_operation("reshard", at);
      return detail::relocate<result, detail::relocation<actual<L>, shape<D...>, actual<L2>, shape<D...>>>(
          p.local_terms(), p.owed(), plan::steps);
    }
  }
}

MESHTF_ACCEPT_REJECTED(reshard)

}  // namespace v0
}  // namespace meshtf
