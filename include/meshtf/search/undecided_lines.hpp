// Operations along lines that may be split or whole, under an undecided layout: cumsum, cumprod and top_k.
// Both are noted, and priced when a layout is named.
#pragma once

#include <meshtf/ops/reduce/cumprod.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/reduce/top_k.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// What the gradient of running products asks for where the lines are split, before it goes on from what
/// comes from other parts. Array: x.
template<class T>
struct join_products {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    auto const steps  = cumsum_steps::plan(l, full_extents(l));
    extent const each = 2 * steps.lines.allocated_lines;
    auto* const all   = m.template take<T>(steps.parts * each);
    m.run(task::fold_products<T>{}, steps);
    m.all_gather(all, each);
    m.run(task::pass_through_parts<T>{}, steps);
    m.give(all, steps.parts * each);
  }
};

/// What `top_k` asks for where lines are split: each part's first elements are
/// found and gathered; and then, the first of all. Arrays: the operand and the result. The loops that they
/// ask for are those along the lines, and along the result.
template<class T>
struct ranks_of_parts {
  static constexpr extent candidates(task_loops const& l) {
    return std::min(l.dim[l.along[1]].size, l.dim[l.along[0]].allocated_extent());
  }

  template<class M>
  static constexpr void ask(M& m, task_loops l, small_array<extent, 2> const&) {
    l.dim[l.along[1]] = {.size = candidates(l)};
    extent part       = 1;
    for (int d : l.operand[1]) part *= l.dim[d].allocated_extent();
    extent const all  = l.dim[l.along[0]].parts * part;
    auto* const found = m.template take<T>(all);
    auto* const where = m.template take<std::int32_t>(all);
    m.run(task::rank<T>{}, rank_steps::plan(l, full_extents(l)));
    m.all_gather(found, part);
    m.all_gather(where, part);
    m.give(where, all);
    m.give(found, all);
  }
};
template<class T>
struct merged_ranks {
  template<class M>
  static constexpr void ask(M& m, task_loops l, small_array<extent, 2> const&) {
    int const along = l.along[0];
    extent const n  = ranks_of_parts<T>::candidates(l);
    int kept        = l.along[1];
    if (n < l.dim[kept].size) {
      kept = l.rank;
      l.add_dim({.size = n});
    }
    for (int i = 0; i < l.operand[0].count; ++i)
      if (l.operand[0][i] == along) l.operand[0].number[i] = static_cast<signed char>(kept);
    l.along[2]        = along;
    l.along[0]        = kept;
    auto const steps  = merge_steps::plan(l, full_extents(l));
    extent const all  = steps.parts * steps.part_stride;
    auto* const found = m.template take<T>(all);
    auto* const where = m.template take<std::int32_t>(all);
    m.run(task::merge_ranks<T>{}, steps);
    m.give(where, all);
    m.give(found, all);
  }
};

template<class... Open>
struct running_under<undecided_layout<Open...>> {
  using L = undecided_layout<Open...>;

  template<reduction Op, class Along, class X>
  static constexpr auto joined_before(X const& x, bool reverse) {
    return x.machine().when_joined(split_over<L, shape<Along>>,
                                   [&] { return scanned_before<Op, Along>(x, reverse); });
  }

  template<reduction Op, class Along, class X, class Before>
  static constexpr X run_on(X const& x, Before const& before, running which) {
    using plan = cumsum_plan<L, typename X::shape_type, Along>;
    auto& m    = x.machine();
    auto z     = X::uninitialised(m);
    m.if_joined(
        split_over<L, shape<Along>>, [&] { run_on_into<Op, Along>(x, before, which, z); },
        [&] {
          m.run(task::run_along<Op, typename X::element_type>{which.reverse, which.exclusive}, plan::lines,
                x.data(), z.data());
        });
    return z;
  }

  /// Lines that are split are widened, and their sums narrowed again.
  template<class Along, class X>
  static constexpr X narrow_sums(X const& x, running which) {
    using T                = typename X::element_type;
    using shape_of         = typename X::shape_type;
    using plan             = cumsum_plan<L, shape_of, Along>;
    using wide             = tensor_of<computed<T>, typename X::layout_type, shape_of>;
    using result           = X;
    using handle           = typename result::handle_type;
    constexpr dim_set over = split_over<L, shape<Along>>;
    auto& m                = x.machine();
    if (m.may_be_split(over) == 0) return run_along<reduction::sum, Along>(x, which);
    handle own = m.when_joined(over, [&] {
      wide const widened = each<computed<T>, shape_of>(function::identity{}, x);
      wide sums          = [&] {
        auto before = reduced<reduction::sum, typename plan::each_line>(function::identity{}, widened).value;
        m.exclusive_scan(reduction::sum, computed<T>{}, before.data(), before.size, plan::over,
                                  which.reverse);
        auto z = wide::uninitialised(m);
        m.run(task::run_on<reduction::sum, computed<T>>{which.reverse, which.exclusive}, plan::lines,
                       widened.data(), before.data(), z.data());
        return z;
      }();
      return each<T, shape_of>(function::identity{}, sums).handle();
    });
    m.if_joined(over, [] {}, [&] { run_along<reduction::sum, Along>(x, which).handle()->alias_as(*own); });
    return result{m, std::move(own)};
  }

  template<class Along, class X, class Lines>
  static constexpr X cumprod_gradient(X const& x, Lines const& before, X const& dz, running which) {
    using T                = typename X::element_type;
    using plan             = cumsum_plan<L, typename X::shape_type, Along>;
    constexpr dim_set over = split_over<L, shape<Along>>;
    auto& m                = dz.machine();
    auto const later       = m.when_joined(over, [&] {
      auto from_others = Lines::uninitialised(m);
      m.template ask_in_parts<join_products<T>>(plan::lines.loops);
      return from_others;
    });
    auto dx                = X::uninitialised(m);
    m.if_joined(
        over, [&] { cumprod_gradient_into<Along>(x, before, later, dz, which, dx); },
        [&] {
          m.run(task::cumprod_gradient<T>{which.reverse, which.exclusive}, plan::lines, x.data(), dz.data(),
                dx.data());
        });
    return dx;
  }
};

template<class... Open>
struct ranking_under<undecided_layout<Open...>> {
  using L = undecided_layout<Open...>;

  template<class Along, class K, class X>
  static constexpr auto in_parts(X const& x, bool descending) {
    using T                = typename X::element_type;
    using plan             = rank_plan<L, typename X::shape_type, Along, K>;
    constexpr dim_set over = split_over<L, shape<Along>>;
    auto& m                = x.machine();
    m.if_joined(over, [&] { m.template ask_in_parts<ranks_of_parts<T>>(plan::ranks.loops); }, [] {});
    auto value = tensor_of<T, typename X::layout_type, typename plan::result>::uninitialised(m);
    auto index = tensor_of<std::int32_t, typename X::layout_type, typename plan::result>::uninitialised(m);
    m.if_joined(
        over, [&] { m.template ask_in_parts<merged_ranks<T>>(plan::ranks.loops); },
        [&] { m.run(task::rank<T>{descending}, plan::ranks, x.data(), value.data(), index.data()); });
    return value_and_index<decltype(value), decltype(index)>{std::move(value), std::move(index)};
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
