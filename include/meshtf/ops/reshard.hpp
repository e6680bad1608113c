// reshard: the same value under another layout.
#pragma once

#include <source_location>

#include <meshtf/tensor/relocate.hpp>

namespace meshtf::inline v0 {

namespace detail {

/// `L2`, dry if `L` is.
template<class L, class L2>
using dry_as = std::conditional_t<is_dry<L>, dry<wet<L2>>, wet<L2>>;

/// The axes that an open sum over `Over` may owe.
template<class L, class Over>
inline constexpr axis_set may_owe = axis_set_of<typename L::mesh_type, Over> & joining_axes<typename L::mesh_type>;

template<class From, class S1, class To, class S2>
struct relocation {
  static constexpr auto from = placed_dims<From, S1>;
  static constexpr auto to   = placed_dims<To, S2>;
};

}  // namespace detail

/// `x` under the layout `L2` of the same mesh, by the cheapest slices (free), permutes, all-to-alls and all-gathers: `reshard_plan`. It is written where
/// it is free, too, and then costs nothing. Gradient: the way back; see `detail::relocate`.
template<Layout L2, class T, class L, class... D>
constexpr auto reshard(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  using plan    = reshard_plan<wet<L>, wet<L2>, shape<D...>>;
  using result  = tensor<T, detail::dry_as<L, L2>, D...>;
  using verdict = typename plan::verdict;
  static_assert(accepted<verdict>, "meshtf: reshard can't bring this tensor to that layout");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("reshard", at);
    return detail::relocate<result, detail::relocation<wet<L>, shape<D...>, wet<L2>, shape<D...>>>(x, 0, plan::steps);
  }
}

/// The sum that `p` owes, under `L2`: owed axes that split it there are reduce-scattered, the other owed axes all-reduced, axes that it does not owe sliced.
template<Layout L2, class T, class L, class... D, class Over>
constexpr auto reshard(partial<tensor<T, L, D...>, Over> const& p, std::source_location at = std::source_location::current()) {
  constexpr axis_set over = detail::may_owe<L, Over>;
  using plan              = reshard_plan<wet<L>, wet<L2>, shape<D...>>;  // of what owes nothing, as a gradient may
  using result            = tensor<T, detail::dry_as<L, L2>, D...>;
  using verdict           = first_objection<typename reshard_plan<wet<L>, wet<L2>, shape<D...>, over>::verdict, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: reshard can't bring this open sum to that layout");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    p.machine().enter("reshard", at);
    return detail::relocate<result, detail::relocation<wet<L>, shape<D...>, wet<L2>, shape<D...>>>(p.addend(), p.owed(), plan::steps);
  }
}

}  // namespace meshtf::inline v0
