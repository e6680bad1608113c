// Moving values between placements, forward and back.
#pragma once

#include <forward_list>
#include <span>
#include <type_traits>

#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/tensor/packed_weights.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A shard after these moves, while `now`, the shard before them, lives on: the same on a machine and on the
/// record of a search for a layout.
template<class M, class T>
constexpr shared<storage<T, M>, M> shard_after(M& m, shared<storage<T, M>, M> shard,
                                               reshard_steps const& steps) {
  using handle = shared<storage<T, M>, M>;
  for (int i = 0; i < steps.count; ++i) {
    auto const& move = steps.moves[static_cast<std::size_t>(i)];
    if (move.kind == transfer_kind::all_reduce) {
      if (!shard.alone() || i == 0) {  // others still see the local terms
        handle own = handle::make(m, m, move.result);
        m.copy(move.result, static_cast<T const*>(shard->data()), own->data());
        shard = std::move(own);
      }
      m.all_reduce(reduction::sum, shard->data(), move.result, move.over);
      continue;
    }
    handle next = handle::make(m, m, move.result);
    m.move(move, static_cast<T const*>(shard->data()), next->data());
    shard = std::move(next);
  }
  return shard;
}

/// A shard before these moves, which are slices, while `now`, the shard after them, lives on: each part is
/// put in its place, with zeros around it.
template<class M, class T>
constexpr shared<storage<T, M>, M> shard_before(M& m, shared<storage<T, M>, M> shard,
                                                reshard_steps const& steps) {
  using handle = shared<storage<T, M>, M>;
  for (int i = steps.count; i-- > 0;) {
    auto const& move = steps.moves[static_cast<std::size_t>(i)];
    handle wider     = handle::make(m, m, move.send);
    m.fill(move.send, T{}, wider->data());
    m.unslice(move, static_cast<T const*>(shard->data()), wider->data());
    shard = std::move(wider);
  }
  return shard;
}

/// The elements of `x` after `steps`, as a tensor of type `Result`. Without steps it has the same shard.
template<class Result, class T, class L, class... D>
constexpr Result relocated(tensor<T, L, D...> const& x, reshard_steps const& steps) {
  using handle = typename Result::handle_type;
  auto& m      = x.machine();
  if constexpr ((CountedDimension<D> || ...)) (void)x.data();  // looks whether all that is counted is there
  handle shard = shard_after(m, x.handle(), steps);
  if constexpr (!std::is_same_v<shape<D...>, typename Result::shape_type> && is_uneven<L, shape<D...>>)
    // of the new names it would say nothing
    if (steps.count == 0 && shard->counted() != 0 && shard->counted() != m.counted_number()) {
      handle own = handle::make(m, m, x.size);
      m.copy(x.size, static_cast<T const*>(shard->data()), own->data());
      shard = std::move(own);
    }
  return Result{m, std::move(shard)};
}

/// Undoes a sequence of slices.
template<class Result, class T, class L, class... D>
constexpr Result unsliced(tensor<T, L, D...> const& x, reshard_steps const& steps) {
  return Result{x.machine(), shard_before(x.machine(), x.handle(), steps)};
}

constexpr bool only_slices(reshard_steps const& steps) {
  for (auto const& move : steps)
    if (move.kind != transfer_kind::slice) return false;
  return true;
}

constexpr axis_set axes_of_moves(reshard_steps const& steps) {
  axis_set over = 0;
  for (auto const& move : steps) over |= move.over;
  return over;
}

/// From where to where a value moves: its dimensions as placed there, perhaps under other names.
template<class From, class S1, class To, class S2>
struct relocation {
  static constexpr auto from = placed_dims<From, S1>;
  static constexpr auto to   = placed_dims<To, S2>;
};

/// The moves from `From` to `To` of a value that needs no reduction, under the layout `L`.
template<auto const& From, auto const& To, class L>
inline constexpr reshard_steps moves_of_whole = plan_reshard(From, To, 0, axis_sizes_in_stage<L>);

/// The moves of partial values between two placements under the layout `L`, as a process planned and
/// remembers them. (Of a class that is no template, compilers would make the list for each program that
/// includes it.)
template<class L>
class planned_moves {
public:
  reshard_steps const& of(std::span<placed const> from, std::span<placed const> to, axis_set unreduced,
                          axis_set riding) {
    for (entry const& e : all_)
      if (e.unreduced == unreduced && e.riding == riding) return e.steps;
    all_.push_front({unreduced, riding, plan_reshard(from, to, unreduced, axis_sizes_in_stage<L>, riding)});
    return all_.front().steps;
  }

private:
  struct entry {
    axis_set unreduced;
    axis_set riding;
    reshard_steps steps;
  };
  std::forward_list<entry> all_;  // a list, so references to its elements stay valid
};

/// The moves of a value that is unreduced over `unreduced` and remains a sum over `riding`.
template<auto const& From, auto const& To, class L>
reshard_steps const& remembered_moves(axis_set unreduced, axis_set riding) {
  static planned_moves<L> all;
  return all.of(From, To, unreduced, riding);
}

/// What `use` returns for these moves.
template<auto const& From, auto const& To, class L, class F>
constexpr auto with_moves(axis_set unreduced, axis_set riding, F const& use) {
  if ((unreduced | riding) == 0) return use(moves_of_whole<From, To, L>);
  if (std::is_constant_evaluated())
    return use(plan_reshard(From, To, unreduced, axis_sizes_in_stage<L>, riding));
  return use(remembered_moves<From, To, L>(unreduced, riding));
}

/// The same for a partial sum. It is reduced by the moves, or before them if the moves can't do it.
/// `steps` are those of a finished value. Of a parameter that its block has gathered nothing moves.
template<class Result, class Plan, class T, class L, class... D>
constexpr Result relocated_partial(tensor<T, L, D...> const& x, axis_set unreduced,
                                   reshard_steps const& steps) {
  if constexpr (is_kept_part_of<actual<typename Result::layout_type>, actual<L>>)
    if (auto const found = find_packed<T>(x)) return found.block->template used<Result>(*found.weight);
  if (unreduced == 0) return relocated<Result>(x, steps);
  return with_moves<Plan::from, Plan::to, actual<L>>(unreduced, 0,
                                                     [&](reshard_steps const& joining) -> Result {
                                                       if (joining.fault.reason == reshard_fault::none)
                                                         return relocated<Result>(x, joining);
                                                       auto whole = x.without_slot();
                                                       finish_in_place(whole, unreduced);
                                                       return relocated<Result>(whole, steps);
                                                     });
}

/// Adds `dz`, the gradient of `x` after the moves of `Plan`, to the gradient of x: moved back, with its
/// partial sums. `dz_unreduced` are the axes over which it is unreduced; a sum over an axis that splits x is
/// reduce-scattered, others stay unreduced.
template<class Plan, class T, class L, class... D, class Z>
constexpr void contribute_moved(tensor<T, L, D...> const& x, Z const& dz, axis_set dz_unreduced) {
  using operand = tensor<T, L, D...>;
  if constexpr (is_kept_part_of<actual<typename Z::layout_type>, actual<L>>)
    if (contribute_packed(x, dz, dz_unreduced)) return;
  dz.machine().because(
      &reason_to_move<actual<typename Z::layout_type>, typename Z::shape_type, actual<L>, shape<D...>>);
  constexpr axis_set split = split_over<L, shape<D...>>;
  bool fits                = false;
  with_moves<Plan::to, Plan::from, actual<L>>(
      dz_unreduced & split, dz_unreduced & ~split, [&](reshard_steps const& back) {
        fits = back.fault.reason == reshard_fault::none;
        if (fits) contribute(x, relocated<operand>(dz, back), dz_unreduced & ~split);
      });
  if (fits) return;
  // the moves back can't add up these sums, so they are finished first
  static_assert(moves_of_whole<Plan::to, Plan::from, actual<L>>.fault.reason == reshard_fault::none,
                "meshtf: the gradient of this reshard needs more loops than a nest has: go through an "
                "intermediate layout");
  auto whole = dz;
  finish_in_place(whole, dz_unreduced);
  contribute(x, relocated<operand>(whole, moves_of_whole<Plan::to, Plan::from, actual<L>>));
}

/// `x`, placed as `Plan::from`, becomes a `Result`, placed as `Plan::to`. `unreduced` are the axes over which
/// x is unreduced as a partial value. `steps` are the moves of a finished value; if x stands for local terms
/// that are handed through, they touch none of the axes over which it may be unreduced.
///
/// The gradient moves the other way and takes its partial sums with it: a sum that is unreduced over an axis
/// that splits x is reduce-scattered, others stay unreduced. If a parameter (or an image of one) was sliced,
/// the gradient is padded with zeros; it then is unreduced over the axes of the slice and sends nothing now.
template<class Result, class Plan, class T, class L, class... D>
constexpr Result relocate(tensor<T, L, D...> const& x, axis_set unreduced, reshard_steps const& steps) {
  x.machine().because(&reason_to_move<actual<L>, shape<D...>, actual<typename Result::layout_type>,
                                      typename Result::shape_type>);
  Result z = relocated_partial<Result, Plan>(x, unreduced, steps);
  if (!wants_gradient(x)) return z;

  bool const stays_unreduced = x.gradient_stays_unreduced();
  record<incoming::as_it_is>(
      z,
      [x = x.without_value(), stays_unreduced, moves = &steps](auto const& dz, axis_set dz_unreduced) {
        using operand = tensor<T, L, D...>;
        if (stays_unreduced && only_slices(*moves)) {
          contribute(x, unsliced<operand>(dz, *moves), dz_unreduced | axes_of_moves(*moves));
          return;
        }
        contribute_moved<Plan>(x, dz, dz_unreduced);
      },
      stays_unreduced);
  return z;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
