// Operations that name or place the elements of a tensor anew, under an undecided layout: reshard, rename and
// reshape. Where a layout makes elements move, what that asks for is priced when a layout is named.
#pragma once

#include <meshtf/ops/shape/rename.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `x` as a `Z`, whose dimensions hold the same elements in the same order.
template<class Z, class T, class L, class... D>
constexpr Z same_elements(tensor<T, L, D...> const& x) {
  Z z{x.machine(), x.handle()};
  if (wants_gradient(x))
    record<incoming::as_it_is>(
        z,
        [x = x.without_value()](auto const& dz, axis_set unreduced) {
          contribute(x, tensor<T, L, D...>{dz.machine(), dz.handle()}, unreduced);
        },
        x.gradient_stays_unreduced());
  return z;
}

/// The loops of a move from shape `X` to shape `Z`. Arrays: before, after.
template<class L, class X, class Z>
inline constexpr undecided_loops loops_of_move =
    loops_of(placed_dims<L, united<X, Z>>.data(), united<X, Z>::rank, arrays_within<united<X, Z>, X, Z>, 2,
             numbers_within<united<X, Z>>, 0);

/// The moves between two arrays of the loops, of a sum over `unreduced` that remains one over `riding`.
template<class M>
constexpr reshard_steps moves_between(M const& m, task_loops const& l, int from, int to,
                                      axis_set unreduced = 0, axis_set riding = 0) {
  small_array<placed, max_rank> before{};
  small_array<placed, max_rank> after{};
  int n = 0;
  for (int d : l.operand[from]) before[n++] = l.dim[d];
  n = 0;
  for (int d : l.operand[to]) after[n++] = l.dim[d];
  reshard_steps const steps =
      plan_reshard(before.first(l.operand[from].count), after.first(n), unreduced, m.axis_sizes(), riding);
  if (steps.fault.reason != reshard_fault::none)
    throw "meshtf: under this layout a value of the recorded step can't move to its place";
  return steps;
}

/// What moves ask for. The record holds the result already, and these arrays are taken in its place.
template<class T, class M>
constexpr void in_place_of_result(M& m, task_loops const& l) {
  extent result = 1;
  for (int d : l.operand[1]) result *= l.dim[d].allocated_extent();
  m.give(static_cast<T*>(nullptr), result);
}
template<class T>
struct shard_moved {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const& open) {
    using handle = shared<storage<T, M>, M>;
    in_place_of_result<T>(m, l);
    shard_after(m, handle::make(m, m, 0),
                moves_between(m, l, 0, 1, static_cast<axis_set>(open[0]), static_cast<axis_set>(open[1])));
  }
};
/// The moves from the second array back to the first are slices, which are undone.
template<class T>
struct shard_unsliced {
  template<class M>
  static constexpr void ask(M& m, task_loops const& l, small_array<extent, 2> const&) {
    using handle = shared<storage<T, M>, M>;
    in_place_of_result<T>(m, l);
    shard_before(m, handle::make(m, m, 0), moves_between(m, l, 1, 0));
  }
};

/// `x` as a `Z`: where a condition holds, after what `Ask` notes; elsewhere the same elements. x is a sum
/// over `unreduced`, which it is no longer then, and over `riding`, which it remains.
template<class Ask, class Z, class T, class L, class... D>
constexpr Z moved_if(undecided_condition const& c, tensor<T, L, D...> const& x, dim_set unreduced = 0,
                     dim_set riding = 0) {
  auto& m  = x.machine();
  auto own = m.when(c, [&] {
    auto after = Z::handle_type::make(m, m, Z::size);
    m.template ask_to_move<Ask>(loops_of_move<actual<L>, shape<D...>, typename Z::shape_type>, unreduced,
                                riding);
    return after;
  });
  m.if_holds(c, [] {}, [&] { x.handle()->alias_as(*own); });
  return Z{m, std::move(own)};
}

/// The same where a layout splits `over`.
template<class Ask, class Z, class T, class L, class... D>
constexpr Z moved_if_split(dim_set over, tensor<T, L, D...> const& x) {
  auto& m = x.machine();
  // it is a copy itself under some layouts only
  if (!x.handle()->can_alias_unless(undecided_condition{over})) m.constrain(unsplit{over});
  if (m.may_be_split(over) == 0) return Z{m, x.handle()};
  return moved_if<Ask, Z>({over}, x);
}

/// `x`, of which every process has all, as a `Z`, of which it keeps its part where a layout splits `over`; as
/// `relocate` does it.
template<class Z, class T, class L, class... D>
constexpr Z part_kept_if_split(dim_set over, tensor<T, L, D...> const& x) {
  x.machine().constrain(parts_in_order{over});
  Z z = moved_if_split<shard_moved<T>, Z>(over, x);
  if (!wants_gradient(x)) return z;
  bool const stays_unreduced = x.gradient_stays_unreduced();
  record<incoming::as_it_is>(
      z,
      [x = x.without_value(), over, stays_unreduced](auto const& dz, axis_set unreduced) {
        using operand = tensor<T, L, D...>;
        if (stays_unreduced) {
          auto const dx = moved_if_split<shard_unsliced<T>, operand>(over, dz);
          return contribute(x, dx, unreduced | dz.machine().may_be_split(over));
        }
        // what shares these elements would be finished before they move
        if (unreduced != 0 && !dz.handle().alone()) dz.machine().constrain(unsplit{over});
        contribute(x, moved_if_split<shard_moved<T>, operand>(over, dz), unreduced);
      },
      stays_unreduced);
  return z;
}

/// `x` as a `Z`, which has other names for some of its dimensions: where a layout does not split those of all
/// pairs alike, the elements move, as `relocate` does it. Not priced are moves of parameters, whose gradients
/// stay unreduced over axes that would depend on the layout, and of copies that exist under some layouts
/// only; under layouts that are priced, these dimensions are split alike.
template<class Z, class T, class L, class... D>
constexpr Z renamed_either_way(dim_pairs const& pairs, bool partial_sum, tensor<T, L, D...> const& x) {
  auto& m = x.machine();
  undecided_condition const c{pairs.dims(), true, pairs};
  bool const stays_unreduced = wants_gradient(x) && x.gradient_stays_unreduced();
  if (c.dims == 0) return same_elements<Z>(x);
  if (stays_unreduced || partial_sum || !x.handle()->can_alias_unless(c)) {
    m.constrain(pairs);
    return same_elements<Z>(x);
  }
  m.move_between(pairs);
  Z z = moved_if<shard_moved<T>, Z>(c, x);
  if (!wants_gradient(x)) return z;
  record<incoming::as_it_is>(z, [x = x.without_value(), c](auto const& dz, axis_set unreduced) {
    using operand           = tensor<T, L, D...>;
    constexpr dim_set split = split_over<actual<L>, shape<D...>>;
    auto& back              = dz.machine();
    // others see these elements, or they are a copy
    if (!dz.handle().alone() || !dz.handle()->can_alias_unless(c)) {
      back.constrain(c.pairs);
      return contribute(x, operand{back, dz.handle()}, unreduced & ~split);
    }
    // so it is known over which axes it is still unreduced
    for (int i = 0; i < c.pairs.count; ++i) back.keep_apart(c.pairs.first[i], unreduced & ~split);
    contribute(x, moved_if<shard_moved<T>, operand>(c, dz, unreduced & split, unreduced & ~split),
               unreduced & ~split);
  });
  return z;
}

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
  []<class... P>(auto& m, shape<P...>) {
    m.constrain(elements_stay<sizeof...(P)>{sized_under<L, Seen>, {sized_under<L, P>...}});
  }(x.machine(), Parts{});
  return same_elements<Z>(x);
}

// ---- the operations

// Under an undecided layout nothing is planned and nothing moves.
template<axis_set Riding, class From, class To, class... Open, class S>
struct splitting<Riding, From, To, undecided_layout<Open...>, S> {
  using out   = replaced<S, From, To>;
  using seen  = From;
  using parts = To;
  using size  = std::conditional_t<To::size == From::size, legal, parts_do_not_multiply_to_dim<From, To>>;
  using verdict =
      first_objection<dims_are_in<S, From>, size, placement_verdict_of<undecided_layout<Open...>, out>>;
};

template<axis_set Riding, class Names, class... Open, class S>
struct merging<Riding, Names, undecided_layout<Open...>, S> {
  using names  = but_last<Names>;
  using parts  = typename names::rest;
  using into   = typename names::last;
  using seen   = into;
  using merged = merged_shape<S, parts, into>;
  using out    = typename merged::type;
  using stand  = std::conditional_t<merged::together, legal, dims_are_not_neighbours<parts, S>>;
  using size =
      std::conditional_t<parts::size == into::size, legal, parts_do_not_multiply_to_dim<into, parts>>;
  using verdict = first_objection<all_are_in<S, parts>, stand, size,
                                  placement_verdict_of<undecided_layout<Open...>, out>>;
};

template<class... Open, class... D, class... F, class... T, axis_set Riding>
struct renaming<undecided_layout<Open...>, shape<D...>, shape<F...>, shape<T...>, Riding>
    : renamed_shape<shape<D...>, shape<F...>, shape<T...>> {
  using L = undecided_layout<Open...>;
  using typename renamed_shape<shape<D...>, shape<F...>, shape<T...>>::result;
  using typename renamed_shape<shape<D...>, shape<F...>, shape<T...>>::named;

  static constexpr auto planned() {
    if constexpr (!accepted<named>) return named{};
    else return first_objection<same_size<F, T>..., placement_verdict_of<L, result>>{};
  }
  using verdict = decltype(planned());

  template<class X>
  static constexpr auto apply(X const& x, std::source_location at, bool local_result = false) {
    x.machine().begin_operation("rename", at);
    dim_pairs pairs;
    (pairs.add(placed_dims<L, shape<F>>[0], placed_dims<L, shape<T>>[0]), ...);
    return renamed_either_way<tensor_of<typename X::element_type, typename X::layout_type, result>>(
        pairs, local_result, x);
  }
};

// Both ways are one program, whose parts differ, if the record leaves open the dimension for it.
template<class... Open, class A, class B>
struct exchange_under<undecided_layout<Open...>, A, B> {
  using name                      = exchanged_dim<A, B>;
  static constexpr dim_set result = opened<name, Open...>.open;
  static constexpr bool places = result != 0 && opened<A, Open...>.open != 0 && opened<B, Open...>.open != 0;
  using type                   = std::conditional_t<places, name, A>;
  static constexpr void note(auto& m) {
    if constexpr (places)
      m.constrain(exchanged_dims{opened<A, Open...>.open, opened<B, Open...>.open, result});
  }
};

template<class... Open>
struct relocation_under<undecided_layout<Open...>> {
  template<class Z, class To, class X>
  static constexpr Z keep_part(X const& x) {
    return part_kept_if_split<Z>(split_over<undecided_layout<Open...>, shape<To>>, x);
  }
  template<class Z, class Reshaping, class X>
  static constexpr Z reshape(X const& x) {
    return renamed_undecided<Z, typename Reshaping::seen, typename Reshaping::parts>(x);
  }
};

}  // namespace detail

/// A program that names another layout has chosen it, so nothing is left to search.
template<Layout L2, class T, class... Open, class... D>
constexpr auto reshard(tensor<T, dry<undecided_layout<Open...>>, D...> const& x,
                       std::source_location at = std::source_location::current()) {
  x.machine().begin_operation("reshard", at);
  return detail::reshard_undecided<L2>(x);
}
template<Layout L2, class T, class... Open, class... D, class Over>
constexpr auto reshard(partial<tensor<T, dry<undecided_layout<Open...>>, D...>, Over> const&,
                       std::source_location = std::source_location::current()) {
  static_assert(sizeof(T) == 0,
                "meshtf: reshard can't be recorded of a partial sum without a layout: write finish(p)");
  return detail::rejected{};
}

}  // namespace v0
}  // namespace meshtf
