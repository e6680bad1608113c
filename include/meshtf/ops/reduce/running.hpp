// What cumsum and cumprod have in common: running sums and products along a dimension, which may be split.
#pragma once

#include <meshtf/plan/cumsum_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// For each line, what processes with the parts before this one's have, joined; in `reverse`, with those
/// after it.
template<reduction Op, class Along, class T, class L, class... D>
constexpr auto scanned_before(tensor<T, L, D...> const& x, bool reverse) {
  using plan  = cumsum_plan<actual<L>, shape<D...>, Along>;
  auto& m     = x.machine();
  auto before = reduced<Op, typename plan::each_line>(function::identity{}, x).value;
  m.because(&reason_to_run_on);
  m.exclusive_scan(Op, Op == reduction::sum ? T{} : T{1}, before.data(), before.size, plan::over, reverse);
  return before;
}

/// Running sums or products along a dimension that is whole.
template<reduction Op, class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> run_along(tensor<T, L, D...> const& x, running which) {
  auto z = tensor<T, L, D...>::uninitialised(x.machine());
  x.machine().run(task::run_along<Op, T>{which.reverse, which.exclusive},
                  cumsum_plan<actual<L>, shape<D...>, Along>::lines, x.data(), z.data());
  return z;
}

/// The same along one that is split, from `before` on, into z.
template<reduction Op, class Along, class T, class L, class... D, class... Lines>
constexpr void run_on_into(tensor<T, L, D...> const& x, tensor<T, L, Lines...> const& before, running which,
                           tensor<T, L, D...>& z) {
  x.machine().run(task::run_on<Op, T>{which.reverse, which.exclusive},
                  cumsum_plan<actual<L>, shape<D...>, Along>::lines, x.data(), before.data(), z.data());
}

/// How running sums and products of lines that are split work under `L`. The search has another way, since
/// lines may be split or whole (search/undecided_lines.hpp).
template<class L>
struct running_under {
  template<reduction Op, class Along, class X>
  static constexpr auto joined_before(X const& x, bool reverse) {
    return scanned_before<Op, Along>(x, reverse);
  }
  template<reduction Op, class Along, class X, class Before>
  static constexpr X run_on(X const& x, Before const& before, running which) {
    auto z = X::uninitialised(x.machine());
    run_on_into<Op, Along>(x, before, which, z);
    return z;
  }
  /// Sums of narrow elements: those of parts are not rounded.
  template<class Along, class X>
  static constexpr X narrow_sums(X const& x, running which) {
    using T         = typename X::element_type;
    using in        = typename X::shape_type;
    auto const wide = each<computed<T>, in>(function::identity{}, x);
    auto const sums = [&] {  // what other parts have is released before the sums are narrowed
      auto const before = joined_before<reduction::sum, Along>(wide, which.reverse);
      return run_on<reduction::sum, Along>(wide, before, which);
    }();
    return each<T, in>(function::identity{}, sums);
  }
  template<class Along, class X, class Before>
  static constexpr X cumprod_gradient(X const& x, Before const& before, X const& dz, running which);
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
