// cheapest: the fastest plan of a step under a budget of memory, as a type.
#pragma once

#include <meshtf/price/dry_run.hpp>
#include <meshtf/search/plan_search.hpp>

namespace meshtf {
inline namespace v0 {

/// No plan of the space needs at most `Budget` bytes. The one that needs least, and of these the fastest,
/// needs `Peak`, under the layout `L`, with `Values...` as those of the coordinates.
template<extent Budget, extent Peak, class L, int... Values>
struct no_plan_meets_budget {};

/// As `no_plan_meets_budget`, where no layout of the candidates can be placed at all.
template<class Space>
struct no_layout_can_be_placed {};

namespace detail {

template<class Program, Mesh M, class Space, class Open, class Budget>
consteval found_plans search_plans(std::size_t wanted) {
  plan_search<Program, M, Space, Open> search{Budget::machine};
  return search.best(Budget::bytes, wanted);
}

/// What the dry run of a plan says.
struct plan_outcome {
  extent peak    = 0;
  double seconds = 0;
};

template<class Program, Mesh M, class Budget, class Space>
struct plans_of;
template<class Program, Mesh M, class Budget, class Candidates, class... C>
struct plans_of<Program, M, Budget, plan_space<Candidates, C...>> {
  using space = plan_space<Candidates, C...>;
  using open  = typename plan_dims<Candidates, C...>::type;

  /// The fastest plan alone, which takes fewer prices than a list.
  static constexpr found_plans fastest = search_plans<Program, M, space, open, Budget>(1);
  static constexpr bool has_any        = fastest.count != 0;
  /// All that are ranked. Nobody makes them who does not ask, as long as the dry run confirms the first.
  static constexpr found_plans found = search_plans<Program, M, space, open, Budget>(found_plans::max_plans);

  /// The plan number `I`, or the nearest one if there are none.
  template<std::size_t I>
  static constexpr found_plan plan = [] {
    if constexpr (!has_any) return fastest.nearest;
    else if constexpr (I == 0) return fastest.plan[0];
    else return found.plan[I];
  }();

  template<std::size_t I>
  using layout_of = typename layout_from<M, open, plan<I>.over>::type;

  template<std::size_t I, class = std::make_index_sequence<sizeof...(C)>>
  struct numbers;
  template<std::size_t I, std::size_t... N>
  struct numbers<I, std::index_sequence<N...>> : C::template chosen<plan<I>.values[N]>... {
    using cost_type =
        decltype(typename Program::prices{}(std::type_identity<layout_of<I>>{}, plan<I>.values[N]...));
    /// That of the dry run. Nobody makes it who does not ask: to a compiler it is a large object. With `auto`
    /// as its type, g++ would make it to know that type.
    static constexpr cost_type cost =
        typename Program::prices{}(std::type_identity<layout_of<I>>{}, plan<I>.values[N]...);
    static constexpr plan_outcome outcome = [] {
      auto const priced =
          typename Program::prices{}(std::type_identity<layout_of<I>>{}, plan<I>.values[N]...);
      return plan_outcome{priced.peak_bytes(), priced.time(Budget::machine).total()};
    }();
    using verdict =
        std::conditional_t<has_any, legal,
                           std::conditional_t<!fastest.has_nearest, no_layout_can_be_placed<space>,
                                              no_plan_meets_budget<Budget::bytes, plan<I>.peak, layout_of<I>,
                                                                   plan<I>.values[N]...>>>;
  };

  /// The first plan from number `I` on that its dry run confirms.
  template<std::size_t I>
  static constexpr std::size_t confirmed() {
    if constexpr (!has_any) return 0;
    else if constexpr (numbers<I>::outcome.peak <= Budget::bytes) return I;
    else {
      static_assert(I + 1 < found.count, "meshtf: no dry run confirms a plan whose record meets the budget");
      return confirmed<I + 1>();
    }
  }
};

}  // namespace detail

/// What `cheapest` is.
template<class Program, Mesh M, class Budget, class Space>
struct cheapest_plan : detail::plans_of<Program, M, Budget, Space>::template numbers<
                           detail::plans_of<Program, M, Budget, Space>::template confirmed<0>()> {
private:
  using plans                          = detail::plans_of<Program, M, Budget, Space>;
  static constexpr std::size_t ordinal = plans::template confirmed<0>();
  using verdict                        = typename plans::template numbers<ordinal>::verdict;
  static_assert(accepted<verdict>, "meshtf: no plan meets the budget");

public:
  /// The layout, with the rules of the dimensions of micro-batches.
  using layout = typename plans::template layout_of<ordinal>;
  /// Those of the dry run: bytes, and modelled seconds of a step.
  static constexpr extent peak    = cheapest_plan::outcome.peak;
  static constexpr double seconds = cheapest_plan::outcome.seconds;
  /// How many of the fastest plans its list holds, at most eight. To ask for it, or for one of them, takes
  /// another search.
  static constexpr std::size_t size = plans::found.count;
  static constexpr detail::found_plan const& ranked(std::size_t i) { return plans::found.plan[i]; }
};

/// The fastest plan of a step under a budget: layout and numbers, chosen together by modelled seconds, among
/// those whose peak, in one process, is within the budget.
///
///     using space = meshtf::plan_space<meshtf::candidates<batch, heads, hidden>,
///                                      meshtf::recomputed_blocks<6>, meshtf::micro_batches_of<batch, half>>;
///     using plan  = meshtf::cheapest<training, grid, meshtf::budget<300 * meshtf::MiB>, space>;
///     static_assert(plan::peak <= 300 * meshtf::MiB && plan::recomputed == 4 && plan::micro_batches == 1);
///
///     training<plan::layout> step{m, plan::recomputed, plan::micro_batches};
///
/// `Program<L>{machine, numbers...}` takes the numbers of the coordinates in their order; other numbers than
/// those of `micro_batches_of` it need not take. For each layout that may be the fastest the search takes the
/// least number of recomputed blocks that fits, and that of spilled ones, where a line between the peaks of
/// none and all meets the budget, and by halving: each further block takes time, and no memory. Both together
/// are looked at where they may be faster. Prices are those of records, which count the last of several
/// micro-batches for all but the first; the first of the eight fastest plans whose dry run meets the budget
/// is the plan, and `cost` is that dry run. The other seven are looked for only where that of the first does
/// not. So asking for less never takes less time, and the peak never exceeds the budget.
///
/// Errors: `no_plan_meets_budget`, which names the plan with the least peak of the space;
/// `no_layout_can_be_placed`. Sources: Chen et al. (2016) for recomputation; Zheng et al., Alpa (2022), for
/// one search over both.
template<template<Layout> class Program, Mesh M, class Budget, class Space>
using cheapest = cheapest_plan<
    detail::program_of<decltype(detail::records_program<Program>), decltype(detail::prices_program<Program>)>,
    M, Budget, Space>;

}  // namespace v0
}  // namespace meshtf
