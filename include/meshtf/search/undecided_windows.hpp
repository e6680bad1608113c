// Windows under an undecided layout, which may split the dimensions that they walk along.
#pragma once

#include <algorithm>

#include <meshtf/plan/convolution.hpp>
#include <meshtf/search/undecided_plans.hpp>
#include <meshtf/tensor/windowed.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Whether windows walk alike through all parts, however many there are: in each part of `along` they make
/// one of `made`, and its halo is the halo of the whole dimension. Others need their dimension whole.
template<class U>
inline constexpr bool walks_alike = U::in.size == U::out.size * U::rule.step;

/// The windows of a plan, as numbers.
template<class Plan, class = std::make_index_sequence<std::size_t{Plan::dims}>>
struct window_numbers;
template<class Plan, std::size_t... I>
struct window_numbers<Plan, std::index_sequence<I...>> {
  static constexpr window_halo reach[sizeof...(I)]{Plan::template at<int{I}>::reach...};
  static constexpr extent step[sizeof...(I)]{Plan::template at<int{I}>::rule.step...};
  static constexpr convolution_walk walk[sizeof...(I)]{walk_of<typename Plan::template at<int{I}>>...};
  static constexpr extent halo(int i) { return reach[i].before + reach[i].after; }
};

/// The layouts under which the windows of `Plan` have a price: those that leave their dimensions whole, or
/// `MaySplit` them.
template<class L, class Plan, bool MaySplit = true, int I = 0, class M>
constexpr void keep_for_windows(M& m) {
  if constexpr (I < Plan::dims) {
    using way            = typename Plan::template at<I>;
    constexpr auto along = sized_under<L, typename way::along>;
    constexpr auto made  = sized_under<L, typename way::made>;
    m.constrain(unsplit{split_over<L, shape<typename way::kernel>>});
    if constexpr (MaySplit && walks_alike<way>) {
      m.constrain(elements_stay<1>{along, {{made}}});
      m.constrain(halo_within_part{along.over, std::max(way::reach.before, way::reach.after)});
    } else {
      m.constrain(unsplit{along.over | made.over});
    }
    keep_for_windows<L, Plan, MaySplit, I + 1>(m);
  }
}

/// The loops of windows as the record keeps them: how many parts there are is said by what the windows make,
/// since no axis may split two loops.
constexpr undecided_loops opened_by_windows(undecided_loops l, int dims) {
  for (int i = 0; i < dims; ++i)
    if (l.along[i] != l.along[dims + i]) l.dim[l.along[i]].open = 0;
  return l;
}

/// The elements of an array whose loops have these extents.
constexpr extent elements_of(dim_list const& array, small_array<extent, max_rank> const& in) {
  extent n = 1;
  for (int d : array) n *= in[d];
  return n;
}

/// The loops of the windows of `Plan` under a layout, and the array as it becomes wider from one of its
/// dimensions to the next.
template<class Plan>
struct widening {
  using numbers = window_numbers<Plan>;

  task_loops loops;
  small_array<extent, max_rank> widened{};  // elements of each loop

  constexpr explicit widening(task_loops const& l) : loops(l) {
    for (int i = 0; i < Plan::dims; ++i) {
      placed const& made = loops.dim[loops.along[Plan::dims + i]];
      placed& wide       = loops.dim[loops.along[i]];
      if (made.parts > 1 && loops.along[i] != loops.along[Plan::dims + i])
        wide = {.size  = made.parts * (made.allocated_extent() * numbers::step[i] + numbers::halo(i)),
                .parts = made.parts,
                .over  = made.over};
    }
    for (int d = 0; d < loops.rank; ++d) widened[d] = loops.dim[d].allocated_extent();
    for (int i = 0; i < Plan::dims; ++i) widened[loops.along[i]] -= numbers::halo(i);
  }
  constexpr dim_list const& array() const { return loops.operand[0]; }
  constexpr extent elements() const { return elements_of(array(), widened); }
  constexpr extent windows() const { return elements_of(loops.operand[1], widened); }

  /// The part of dimension `i`.
  constexpr part_of_rows part(int i, extent allocated) const {
    placed const& wide = loops.dim[loops.along[i]];
    return {allocated, elements() / widened[loops.along[i]], wide.parts, wide.over};
  }
  /// Lines along dimension `i`.
  constexpr displace_steps lines(int i, extent from, extent to) const {
    displace_steps s{.from = from, .from_allocated = from, .to = to, .to_allocated = to};
    bool is_inner = false;
    for (int d : array())
      if (d == loops.along[i]) is_inner = true;
      else (is_inner ? s.inner : s.outer) *= widened[d];
    return s;
  }
};

/// All windows are copied out. Arrays: as of `windows_along`.
template<class T, class Plan>
struct windows_taken_in_parts {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    using handle  = shared<storage<T, M>, M>;
    using numbers = window_numbers<Plan>;
    widening<Plan> x{l};
    handle wide[Plan::dims]{};
    handle seen{};
    for (int i = 0; i < Plan::dims; ++i) {
      extent const allocated = x.widened[x.loops.along[i]];
      extent const before    = numbers::reach[i].before;
      extent const after     = numbers::reach[i].after;
      if (before + after == 0) continue;
      auto const part  = x.part(i, allocated);
      auto const lines = x.lines(i, allocated, allocated + before + after);
      x.widened[x.loops.along[i]] += before + after;
      wide[i] = seen = handle::make(m, m, x.elements());
      if (part.parts > 1) widen_rows<T>(m, lines, part, before, after, T{}, nullptr, nullptr);
      else m.run(task::displace<T>{}, lines);
    }
    for (handle& h : wide) h = {};
    auto const windows = handle::make(m, m, x.windows());
    m.run(task::take_windows<T, typename Plan::steps>{}, Plan::steps::plan(x.loops, full_extents(x.loops)));
  }
};

/// All windows are added to the elements that they came from, and halos are sent back.
template<class T, class Plan>
struct windows_joined_in_parts {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    using handle  = shared<storage<T, M>, M>;
    using numbers = window_numbers<Plan>;
    widening<Plan> x{l};
    for (int i = 0; i < Plan::dims; ++i) x.widened[x.loops.along[i]] += numbers::halo(i);
    handle narrow[Plan::dims]{};
    auto const wide = handle::make(m, m, x.elements());
    m.fill(x.elements(), T{}, wide->data());
    m.run(task::add_windows<T, typename Plan::steps>{}, Plan::steps::plan(x.loops, full_extents(x.loops)));
    for (int i = Plan::dims; i-- > 0;) {
      extent const before    = numbers::reach[i].before;
      extent const after     = numbers::reach[i].after;
      extent const allocated = x.widened[x.loops.along[i]] - before - after;
      if (before + after == 0) continue;
      auto const part             = x.part(i, allocated);
      auto const lines            = x.lines(i, allocated + before + after, allocated);
      x.widened[x.loops.along[i]] = allocated;
      narrow[i]                   = handle::make(m, m, x.elements());
      if (part.parts > 1)
        narrow_rows<T>(m, lines, part, before, after, static_cast<T const*>(nullptr), nullptr);
      else m.run(task::displace<T>{}, lines);
    }
  }
};

/// What `Ask` says is noted for the windows of `Plan`. The result has the shape `Z`.
template<class Plan, template<class, class> class Ask, class Z, class T, class L, class... X>
constexpr auto windows_in_parts(tensor<T, L, X...> const& x) {
  auto& m = x.machine();
  keep_for_windows<actual<L>, Plan>(m);
  m.template ask_in_parts<Ask<T, Plan>>(opened_by_windows(Plan::copies.loops, Plan::dims));
  return tensor_of<T, L, Z>::uninitialised(m);
}

template<class... Open>
struct windows_under<undecided_layout<Open...>> {
  template<class Plan, class X>
  static constexpr auto taken(X const& x, typename X::element_type) {
    return windows_in_parts<Plan, windows_taken_in_parts, typename Plan::windows>(x);
  }
  template<class Plan, class Z>
  static constexpr auto joined(Z const& windows) {
    return windows_in_parts<Plan, windows_joined_in_parts, typename Plan::array>(windows);
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
