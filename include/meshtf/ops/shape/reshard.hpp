// reshard: the same value under another layout.
#pragma once

#include <source_location>

#include <meshtf/tensor/relocate.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The axes over which a partial sum over `Over` may be unreduced.
template<class L, class Over>
inline constexpr axis_set possibly_unreduced = joining_among<typename L::mesh_type, Over>;

/// How the elements of a value move under `L` when its dimensions get other names: as a plan says that is
/// known here. The search has another way (search/undecided_moves.hpp).
template<class L>
struct relocation_under {
  /// `x`, of which each process has all along some dimension, as a `Z` that splits it instead, as `To`.
  template<class Z, class To, class X>
  static constexpr Z keep_part(X const& x) {
    using from = typename X::shape_type;
    using to   = typename Z::shape_type;
    return relocate<Z, relocation<L, from, L, to>>(x, 0, renaming_reshard_plan<L, from, L, to>::steps);
  }
  /// `x` as a `Z`, of which `Reshaping` has the plan.
  template<class Z, class Reshaping, class X>
  static constexpr Z reshape(X const& x) {
    return relocate<Z, typename Reshaping::way>(x, 0, Reshaping::steps::value);
  }
};

}  // namespace detail

/// `x` under the layout `L2` of the same mesh, by the cheapest slices (free), permutes, all-to-alls and
/// all-gathers: `reshard_plan`. Programs write it even where nothing moves; it then costs nothing. Gradient:
/// the reverse; see `detail::relocate`.
template<Layout L2, class T, class L, class... D>
constexpr auto reshard(tensor<T, L, D...> const& x,
                       std::source_location at = std::source_location::current()) {
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

/// The finished sum of `p` under `L2`: unreduced axes that split it there are reduce-scattered, other
/// unreduced axes all-reduced, all other axes sliced.
template<Layout L2, class T, class L, class... D, class Over>
constexpr auto reshard(partial<tensor<T, L, D...>, Over> const& p,
                       std::source_location at = std::source_location::current()) {
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

MESHTF_ACCEPT_REJECTED(reshard)

}  // namespace v0
}  // namespace meshtf
