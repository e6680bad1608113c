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
constexpr auto joined_before(tensor<T, L, D...> const& x, bool reverse) {
  using plan      = cumsum_plan<actual<L>, shape<D...>, Along>;
  auto& m         = x.machine();
  auto const join = [&] {
    auto before = reduced<Op, typename plan::each_line>(function::identity{}, x).value;
    m.because(&reason_to_run_on);
    m.exclusive_scan(Op, Op == reduction::sum ? T{} : T{1}, before.data(), before.size, plan::over, reverse);
    return before;
  };
  if constexpr (is_undecided<actual<L>>) return m.when_joined(split_over<actual<L>, shape<Along>>, join);
  else return join();
}

/// Running sums or products along a dimension that is whole.
template<reduction Op, class Along, class T, class L, class... D>
constexpr tensor<T, L, D...> run_along(tensor<T, L, D...> const& x, running which) {
  auto z = tensor<T, L, D...>::uninitialised(x.machine());
  x.machine().run(task::run_along<Op, T>{which.reverse, which.exclusive},
                  cumsum_plan<actual<L>, shape<D...>, Along>::lines, x.data(), z.data());
  return z;
}

/// The same along one that is split, from `before` on. A search for a layout notes what is done if it is
/// whole, too.
template<reduction Op, class Along, class T, class L, class... D, class... Lines>
constexpr tensor<T, L, D...> run_on(tensor<T, L, D...> const& x, tensor<T, L, Lines...> const& before,
                                    running which) {
  using plan       = cumsum_plan<actual<L>, shape<D...>, Along>;
  auto& m          = x.machine();
  auto z           = tensor<T, L, D...>::uninitialised(m);
  auto const go_on = [&] {
    m.run(task::run_on<Op, T>{which.reverse, which.exclusive}, plan::lines, x.data(), before.data(),
          z.data());
  };
  if constexpr (is_undecided<actual<L>>)
    m.if_joined(split_over<actual<L>, shape<Along>>, go_on, [&] {
      m.run(task::run_along<Op, T>{which.reverse, which.exclusive}, plan::lines, x.data(), z.data());
    });
  else go_on();
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
