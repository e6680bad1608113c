// Moving values between placements, forward and back.
#pragma once

#include <meshtf/plan/reshard_plan.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0::detail {

/// The elements of `x` after `steps`, as a tensor of type `Result`. Without steps it is the same shard.
template<class Result, class T, class L, class... D>
constexpr Result relocated(tensor<T, L, D...> const& x, reshard_steps const& steps) {
  using handle = typename Result::handle_type;
  auto& m      = x.machine();
  handle now   = x.handle();
  for (int i = 0; i < steps.count; ++i) {
    auto const& move = steps.moves[static_cast<std::size_t>(i)];
    if (move.what == transfer::all_reduce) {
      if (!now.alone() || i == 0) {   // others go on seeing the addends
        handle own = handle::make(m, m, move.result);
        m.copy(move.result, static_cast<T const*>(now->data()), own->data());
        now = std::move(own);
      }
      m.all_reduce(reduction::sum, now->data(), move.result, move.over);
      continue;
    }
    handle next = handle::make(m, m, move.result);
    m.move(move, static_cast<T const*>(now->data()), next->data());
    now = std::move(next);
  }
  return Result{m, std::move(now)};
}

/// Undoes a sequence of slices: each part in its place, zeros around it.
template<class Result, class T, class L, class... D>
constexpr Result padded(tensor<T, L, D...> const& x, reshard_steps const& steps) {
  using handle = typename Result::handle_type;
  auto& m      = x.machine();
  handle now   = x.handle();
  for (int i = steps.count; i-- > 0;) {
    auto const& move = steps.moves[static_cast<std::size_t>(i)];
    handle wider     = handle::make(m, m, move.send);
    m.fill(move.send, T{}, wider->data());
    m.unslice(move, static_cast<T const*>(now->data()), wider->data());
    now = std::move(wider);
  }
  return Result{m, std::move(now)};
}

constexpr bool only_slices(reshard_steps const& steps) {
  for (auto const& move : steps)
    if (move.what != transfer::slice) return false;
  return true;
}

constexpr axis_set axes_of_moves(reshard_steps const& steps) {
  axis_set over = 0;
  for (auto const& move : steps) over |= move.over;
  return over;
}

/// The same for an open sum: what it owes is added up on the way, or before it where it does not fit into the way. `steps` are those of a finished value.
template<class Result, class Plan, class T, class L, class... D>
constexpr Result relocated_open(tensor<T, L, D...> const& x, axis_set owed, reshard_steps const& steps) {
  if (owed == 0) return relocated<Result>(x, steps);
  auto const joining = plan_reshard(Plan::from, Plan::to, owed, axis_sizes<typename L::mesh_type>);
  if (joining.fault.what == reshard_fault::none) return relocated<Result>(x, joining);
  auto whole = x.without_slot();
  finish_in_place(whole, owed);
  return relocated<Result>(whole, steps);
}

/// `x`, placed as `Plan::from`, becomes a `Result`, placed as `Plan::to`; `owed` is what x still owes as a partial value.
///
/// The gradient goes the other way and takes its open sums with it: one that is owed over an axis that splits x is reduce-scattered, others stay owed. Where
/// a parameter (or an image of one) was sliced, the gradient is padded with zeros, which owes the sum over the axes of the slice and sends nothing now.
template<class Result, class Plan, class T, class L, class... D>
constexpr Result relocate(tensor<T, L, D...> const& x, axis_set owed, reshard_steps const& steps) {
  using mesh_type = typename L::mesh_type;
  Result z        = relocated_open<Result, Plan>(x, owed, steps);
  if (!wants_gradient(x)) return z;

  bool const open = x.gradient_stays_open();
  record<incoming::as_it_is>(
      z,
      [x = x.without_value(), open](auto const& dz, axis_set dz_owes) {
        using operand  = tensor<T, L, D...>;
        auto const way = plan_reshard(Plan::from, Plan::to, 0, axis_sizes<mesh_type>);
        if (open && only_slices(way)) {
          contribute(x, padded<operand>(dz, way), dz_owes | axes_of_moves(way));
          return;
        }
        constexpr axis_set split = split_over<L, shape<D...>>;
        auto back                = plan_reshard(Plan::to, Plan::from, dz_owes & split, axis_sizes<mesh_type>);
        if (back.fault.what == reshard_fault::none) {
          contribute(x, relocated<operand>(dz, back), dz_owes & ~split);
        } else {  // the sums do not fit into the way back: they are finished before it
          auto whole = dz;
          finish_in_place(whole, dz_owes);
          back = plan_reshard(Plan::to, Plan::from, 0, axis_sizes<mesh_type>);
          contribute(x, relocated<operand>(whole, back));
        }
      },
      open);
  return z;
}

}  // namespace meshtf::inline v0::detail
