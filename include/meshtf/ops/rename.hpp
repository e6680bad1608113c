// rename: the same elements under another dimension's name.
#pragma once

#include <source_location>

#include <meshtf/ops/reshard.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf::inline v0 {

/// `x` with `To` in the place of `From`, which has the same size.
///
/// Where the layout splits both alike nothing is copied and the result shares the shard. Otherwise it is a reshard: from whole to split a slice (free), from
/// split to whole an all-gather, from one axis to another what `reshard_plan` says. Gradient: the way back; see `detail::relocate`.
template<Dimension From, Dimension To, class T, class L, class... D>
constexpr auto rename(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  using renamed = replaced<shape<D...>, From, shape<To>>;
  using plan    = renaming_reshard_plan<wet<L>, shape<D...>, wet<L>, renamed>;
  using verdict = first_objection<detail::dims_are_in<shape<D...>, From>, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: rename can't give this dimension that name");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("rename", at);
    return detail::relocate<tensor_of<T, L, renamed>, detail::relocation<wet<L>, shape<D...>, wet<L>, renamed>>(x, 0, plan::steps);
  }
}

}  // namespace meshtf::inline v0
