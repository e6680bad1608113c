// Convolutions under an undecided layout, which may split the dimensions that windows walk along.
#pragma once

#include <meshtf/ops/window/conv_transpose.hpp>
#include <meshtf/plan/conv_plan.hpp>
#include <meshtf/search/undecided_windows.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A convolution under a layout: its loops, those over a dimension that is split with its halo, and how its
/// windows walk.
template<class Plan>
struct convolution_in_parts {
  using numbers = window_numbers<Plan>;

  task_loops loops;
  convolution_walk walk[Plan::dims]{};

  constexpr explicit convolution_in_parts(task_loops const& l) : loops(l) {
    for (int i = 0; i < Plan::dims; ++i) {
      placed const made = loops.dim[loops.along[Plan::dims + i]];
      walk[i]           = numbers::walk[i];
      if (made.parts == 1) continue;
      walk[i].whole  = false;
      placed const x = {.size = loops.dim[loops.along[i]].size, .parts = made.parts, .over = made.over};
      placed const wide{.size  = made.parts * (x.allocated_extent() + numbers::halo(i)),
                        .parts = made.parts,
                        .over  = made.over};
      if (numbers::halo(i) == 0) {
        loops.dim[loops.along[i]] = x;
      } else if (loops.along[i] != loops.along[Plan::dims + i]) {
        loops.dim[loops.along[i]] = wide;
      } else {  // one loop becomes two
        for (int k = 0; k < loops.operand[0].count; ++k)
          if (loops.operand[0][k] == loops.along[i])
            loops.operand[0].number[k] = static_cast<signed char>(loops.rank);
        loops.along[i] = loops.rank;
        loops.add_dim(wide);
      }
    }
  }

  /// Lines along dimension `i` of x, and of x with its halo.
  constexpr displace_steps lines(int i, extent from, extent to) const {
    displace_steps s{.from = from, .from_allocated = from, .to = to, .to_allocated = to};
    bool is_inner = false;
    for (int d : loops.operand[0])
      if (d == loops.along[i]) is_inner = true;
      else (is_inner ? s.inner : s.outer) *= loops.dim[d].allocated_extent();
    return s;
  }
};

/// The convolution, or a gradient of it.
template<template<class> class Way, class T>
struct convolving {
  template<class Plan>
  struct along {
    template<class M>
    static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
      convolution_in_parts<Plan> const c{l};
      m.run(task::convolve<Way, T, typename Plan::convolution>{},
            convolution_of<typename Plan::convolution>(c.walk, c.loops, full_extents(c.loops)));
    }
  };
};

/// The halo of dimension `I`, which is split, is sent to x, or back from it.
template<class T, class Plan, int I, bool Back>
struct halo_in_parts {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    convolution_in_parts<Plan> const c{l};
    placed const wide         = c.loops.dim[c.loops.along[I]];
    window_halo const reach   = window_numbers<Plan>::reach[I];
    extent const allocated    = wide.allocated_extent() - reach.before - reach.after;
    displace_steps const line = Back ? c.lines(I, wide.allocated_extent(), allocated)
                                     : c.lines(I, allocated, wide.allocated_extent());
    part_of_rows const part{allocated, line.outer * line.inner, wide.parts, wide.over};
    if constexpr (Back)
      narrow_rows<T>(m, line, part, reach.before, reach.after, static_cast<T const*>(nullptr), nullptr);
    else widen_rows<T>(m, line, part, reach.before, reach.after, T{}, nullptr, nullptr);
  }
};

/// An array that has a halo where one dimension is split, and only there: as much as the array without it,
/// and the halo.
template<class Handle>
struct wide_in_parts {
  Handle body{};
  Handle halo{};
};

/// One for each dimension that windows may walk along. (No array: g++ 12 miscounts the handles in it in
/// constant evaluation.)
template<class Handle>
struct wide_along_dims {
  wide_in_parts<Handle> first{};
  wide_in_parts<Handle> second{};
  wide_in_parts<Handle> third{};

  template<int I>
  constexpr wide_in_parts<Handle>& at() {
    if constexpr (I == 0) return first;
    else if constexpr (I == 1) return second;
    else return third;
  }
  /// The one array of the size of x that there is under some layouts, of which all others have none.
  constexpr Handle& any() {
    if (first.body) return first.body;
    return second.body ? second.body : third.body;
  }
};

/// The axes over which z, x and the filter of a convolution are unreduced.
template<class Plan, class L, class F>
struct convolution_sums {
  using to_z      = einsum_plan<actual<L>, typename Plan::result, typename Plan::windows, F>;
  using to_x      = einsum_plan<actual<L>, typename Plan::windows, typename Plan::result, F>;
  using to_filter = einsum_plan<actual<L>, F, typename Plan::result, typename Plan::windows>;
};
/// `value`, which is unreduced over the axes that split the summed dimensions of `Product`.
template<class Product, class L, class Value>
constexpr local_result<Value> unreduced_over(Value value) {
  return {std::move(value), Product::finished_over, &reason_to_sum<actual<L>, typename Product::loops>};
}

/// Notes for the convolution of `Plan` what depends on how its dimensions are split.
template<class Plan, class T, class L>
struct convolution_recorder {
  using handle = typename tensor_of<T, L, typename Plan::array>::handle_type;
  using wide   = wide_along_dims<handle>;

  machine<L>& m;
  undecided_loops loops = opened_by_windows(Plan::direct.loops, Plan::dims);

  template<int I>
  static constexpr undecided_dim along =
      placed_dims<actual<L>, shape<typename Plan::template at<I>::along>>[0];
  /// The dimension `I`, if its halo is sent where a layout splits it.
  template<int I>
  static constexpr dim_set sent =
      Plan::template at<I>::widens && walks_alike<typename Plan::template at<I>> ? along<I>.open : 0;
  static constexpr dim_set all_sent = []<std::size_t... I>(std::index_sequence<I...>) {
    return (sent<int{I}> | ...);
  }(std::make_index_sequence<std::size_t{Plan::dims}>{});

  template<template<class> class Way>
  constexpr void convolve() {
    m.template ask_in_parts<typename convolving<Way, T>::template along<Plan>>(loops);
  }
  constexpr handle body() { return handle::make(m, m, tensor_of<T, L, typename Plan::array>::size); }
  template<int I>
  constexpr handle halo() {
    constexpr undecided_size size = tensor_of<T, L, typename Plan::array>::size;
    return handle::make(m, m,
                        undecided_size{size.whole / along<I>.size * window_numbers<Plan>::halo(I),
                                       size.dims & ~along<I>.open});
  }
  template<int I, bool Back>
  constexpr void exchange() {
    m.template ask_in_parts<halo_in_parts<T, Plan, I, Back>>(loops);
  }

  /// x with its halo, where it is sent.
  template<int I = 0>
  constexpr void widen(wide& x) {
    if constexpr (I < Plan::dims) {
      if constexpr (sent<I> != 0)
        m.if_joined(
            sent<I>,
            [&] {
              auto& mine = x.template at<I>();
              mine.body = body(), mine.halo = halo<I>();
              exchange<I, false>();
            },
            [] {});
      widen<I + 1>(x);
    }
  }
  /// Halos in addition to x, which is the result without them.
  template<int I = 0>
  constexpr void make_halos(wide& x) {
    if constexpr (I < Plan::dims) {
      if constexpr (sent<I> != 0) m.if_joined(sent<I>, [&] { x.template at<I>().halo = halo<I>(); }, [] {});
      make_halos<I + 1>(x);
    }
  }
  /// The halos are sent back; what remains is another array, until these are gone.
  template<int I = 0>
  constexpr void narrow(wide& x) {
    if constexpr (I < Plan::dims) {
      if constexpr (sent<I> != 0)
        m.if_joined(
            sent<I>,
            [&] {
              x.template at<I>().body = body();
              exchange<I, true>();
            },
            [] {});
      narrow<I + 1>(x);
    }
  }
};

/// `conv` where one task does it. Where a dimension is split whose halo is sent, the gradient keeps x with
/// the halo; otherwise it keeps x.
template<class Plan, class T, class L, class... X, class... F>
constexpr auto convolved_in_parts(tensor<T, L, X...> const& x, tensor<T, L, F...> const& filter) {
  using recorder = convolution_recorder<Plan, T, L>;
  using sums     = convolution_sums<Plan, L, shape<F...>>;
  auto& m        = x.machine();
  recorder r{m};
  typename recorder::wide wide;
  keep_for_windows<actual<L>, Plan>(m);
  m.constrain(one_split{recorder::all_sent});
  bool const keeps   = wants_gradient(x, filter) && filter.needs_gradient(),
             aliases = x.handle()->can_alias_unless(undecided_condition{recorder::all_sent});
  if (keeps && !aliases) m.constrain(unsplit{recorder::all_sent});
  r.widen(wide);
  auto z = tensor_of<T, L, typename Plan::result>::uninitialised(m);
  r.template convolve<task::convolved>();
  finish_in_place(z, sums::to_z::finished_over, &reason_to_sum<actual<L>, typename sums::to_z::loops>);
  if (!wants_gradient(x, filter)) return z;
  bool const in_parts = keeps && aliases && recorder::all_sent != 0;
  if (in_parts) m.if_joined(recorder::all_sent, [] {}, [&] { x.handle()->alias_as(*wide.any()); });
  else wide = typename recorder::wide{};
  record(z, [x = x.without_value(), seen = keep(x, keeps && !in_parts), wide = std::move(wide),
             filter = keep(filter, x.needs_gradient())](auto const&) {
    auto& m_back = filter.target().machine();
    recorder back{m_back};
    if (filter.needs_gradient()) {
      auto g = tensor<T, L, F...>::uninitialised(m_back);
      back.template convolve<task::convolved_to_filter>();
      contribute(filter.target(), unreduced_over<typename sums::to_filter, L>(std::move(g)));
    }
    if (x.needs_gradient()) {
      auto g = tensor<T, L, X...>::uninitialised(m_back);
      {
        typename recorder::wide given;
        back.make_halos(given);
        back.template convolve<task::convolved_to_input>();
        back.narrow(given);
      }
      contribute(x, unreduced_over<typename sums::to_x, L>(std::move(g)));
    }
  });
  return z;
}

/// `conv_transpose` where one task does it, to an x of shape `X`: the backward pass of a convolution, and the
/// convolution for its gradient.
template<class Plan, class X, class T, class L, class... Z, class... F>
constexpr auto conv_transposed_in_parts(tensor<T, L, Z...> const& z, tensor<T, L, F...> const& filter) {
  using recorder = convolution_recorder<Plan, T, L>;
  using sums     = convolution_sums<Plan, L, shape<F...>>;
  auto& m        = z.machine();
  recorder r{m};
  keep_for_windows<actual<L>, Plan>(m);
  m.constrain(one_split{recorder::all_sent});
  auto x = tensor_of<T, L, X>::uninitialised(m);
  {
    typename recorder::wide given;
    r.make_halos(given);
    r.template convolve<task::convolved_to_input>();
    r.narrow(given);
  }
  finish_in_place(x, sums::to_x::finished_over, &reason_to_sum<actual<L>, typename sums::to_x::loops>);
  if (wants_gradient(z, filter))
    record(x, [z = keep(z, filter.needs_gradient()), filter = keep(filter, z.needs_gradient())](auto const&) {
      auto& m_back = filter.target().machine();
      recorder back{m_back};
      typename recorder::wide seen;
      back.widen(seen);
      if (z.needs_gradient()) {
        auto g = tensor<T, L, Z...>::uninitialised(m_back);
        back.template convolve<task::convolved>();
        contribute(z.target(), unreduced_over<typename sums::to_z, L>(std::move(g)));
      }
      if (filter.needs_gradient()) {
        auto g = tensor<T, L, F...>::uninitialised(m_back);
        back.template convolve<task::convolved_to_filter>();
        contribute(filter.target(), unreduced_over<typename sums::to_filter, L>(std::move(g)));
      }
    });
  return x;
}

template<class... Open>
struct convolution_under<undecided_layout<Open...>> {
  template<class Plan, class X, class F>
  static constexpr auto forward(X const& x, F const& filter) {
    if constexpr (convolves_directly<Plan, typename X::element_type>)
      return convolved_in_parts<Plan>(x, filter);
    else return convolved<Plan>(x, filter);
  }
};

template<class... Open>
struct transposed_convolution_under<undecided_layout<Open...>> {
  template<class Plan, class X, class Z, class F>
  static constexpr auto transposed(Z const& z, F const& filter) {
    if constexpr (convolves_directly<Plan, typename Z::element_type>) {
      return conv_transposed_in_parts<Plan, X>(z, filter);
    } else {
      keep_for_windows<undecided_layout<Open...>, Plan, false>(z.machine());
      return conv_transposed<Plan, X>(z, filter);
    }
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
