// write: a part replaces consecutive elements along a dimension.
#pragma once

#include <string>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/plan/write_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class D>
[[noreturn]] void throw_write_outside(extent first, extent n, extent there) {
  throw software_error("write to " + std::string{name_of<D>()} + " starts at " + std::to_string(first) +
                       ", expected 0 to " + std::to_string(there - n) + ": the part has " +
                       std::to_string(n) + " elements, and there are " + std::to_string(there));
}

/// Copies `x` to `z`, which keeps what `x` holds past the present counts. If there were fewer elements of `D`
/// when `x` was made, those that are missing must be among the `n` from `first` on, which are written;
/// otherwise `x.data()` says what is missing.
template<class D, class T, class L, class... X>
constexpr void copy_to_write(tensor<T, L, X...> const& x, tensor<T, L, X...>& z, extent first, extent n) {
  auto& m       = x.machine();
  T const* from = nullptr;
  if constexpr ((CountedDimension<X> || ...)) {
    counts const& made    = m.counted(x.handle()->counted());
    counts const& counted = m.counted();
    bool const grown      = made.template of<D>() < counted.template of<D>();
    bool const others = ((std::is_same_v<X, D> || made.template of<X>() >= counted.template of<X>()) && ...);
    bool const brings = first <= made.template of<D>() && first + n >= counted.template of<D>();
    from              = grown && others && brings ? x.handle()->data() : x.data();
    if (!grown) z.handle()->count_as(*x.handle());
  } else {
    from = x.data();
  }
  m.copy(x.size, from, z.handle()->data());
}

/// Whether a part may be written into a tensor itself: it is a finished value of the same kind, and each
/// process knows when it is compiled how many elements there are.
template<class X, class P>
inline constexpr bool operands_fit_in_place = false;
template<class T, class L, class... X, class... P>
inline constexpr bool operands_fit_in_place<tensor<T, L, X...>, tensor<T, L, P...>> =
    !(CountedDimension<X> || ...);

/// The result of `write` of tensors.
template<class D, class Plan, class T, class L, class... X, class... P>
constexpr auto with_part(tensor<T, L, X...> const& x, tensor<T, L, P...> const& part, extent first) {
  auto& m = x.machine();
  expect_one_mesh(m, part.machine());
  auto z = tensor<T, L, X...>::uninitialised(m);
  copy_to_write<D>(x, z, first, m.counted().template of<typename Plan::own>());
  m.run(task::write_part<T>{first}, Plan::part, z.data(), part.data());
  if constexpr (FloatingElement<T>)
    if (wants_gradient(x, part))
      record(z, [x = x.without_value(), part = part.without_value(), first](auto const& dz) {
        auto rest = copied(dz);
        tensor<T, L, P...> taken{dz.machine()};
        dz.machine().run(task::move_part_out<T>{first}, Plan::part, rest.data(), taken.data());
        if (part.needs_gradient())
          contribute(part, taken, Plan::finished_over, &reason_to_look_up<actual<L>, typename Plan::loops>);
        if (x.needs_gradient()) {  // past the counts, too, where the elements of x are still there
          rest.handle()->count_again(true);
          contribute(static_cast<shard<T, machine<L>> const&>(x),
                     static_cast<shard<T, machine<L>> const&>(rest));
        }
      });
  return z;
}

}  // namespace detail

/// `x` with its elements from `first` on along `D` replaced by `part`, which has a dimension of its own in
/// place of `D`: a new tensor.
///
///     auto longer = write<length>(keys, key, now);   // keys[batch, length, model], key[batch, step, model],
///                                                    now = 7
///
/// Local. The part is whole along its own dimension; where `D` is split, each process writes the elements
/// that it has. All processes must say the same `first`. Gradient: of `x` dz, with zeros where the part is;
/// of the part the elements of dz that it was written to, which are unreduced over the axes of `D`. If the
/// elements of `D` are counted at run time, `x` may have been made when there were fewer, as long as the part
/// brings those that are missing; what it holds past the present counts is kept. Errors: `software_error` if
/// the part
/// would reach outside, or past what is counted.
template<Dimension D, detail::Operand X, detail::Operand P>
[[nodiscard]] constexpr auto write(X const& x, P const& part, extent first,
                                   std::source_location at = std::source_location::current()) {
  using L    = detail::layout_in<X>;
  using plan = write_plan<actual<L>, detail::shape_in<X>, D, detail::shape_in<P>>;
  using operands =
      first_objection<detail::meeting_verdict<algebra::meeting::alongside, X, P>, detail::operands_fit<X, P>>;
  using verdict      = first_objection<operands, typename plan::verdict>;
  using partial_fits = detail::partial_sum_verdict<
      L, detail::shape_in<X>,
      detail::union_of<L, detail::unreduced_axes_in<X>, detail::unreduced_axes_in<P>>>;
  static_assert(accepted<detail::with_reshard<first_objection<verdict, partial_fits>, P>>,
                "meshtf: write can't put this part into this dimension");
  if constexpr (!accepted<first_objection<verdict, partial_fits>>) {
    return detail::rejected{};
  } else {
    auto& m            = detail::local_terms(x).machine();
    extent const n     = m.counted().template of<typename plan::own>();
    extent const there = m.counted().template of<D>();
    if (first < 0 || first > there - n) detail::throw_write_outside<D>(first, n, there);
    m.begin_operation("write", at);
    if constexpr (detail::PartialSum<X>) {
      axis_set const unreduced = x.owed() | part.owed();
      auto const whole         = detail::local_terms_over(x, unreduced);
      return detail::result_of<axes<>, X, P>(
          detail::with_part<D, plan>(whole, detail::local_terms_over(part, unreduced), first), unreduced);
    } else {
      return detail::with_part<D, plan>(detail::local_terms(x), detail::local_terms(part), first);
    }
  }
}

/// Of a tensor that is given up, `write<length>(std::move(keys), key, now)`: its own elements are replaced if
/// nobody else holds them and no gradient flows, and nothing else is copied. Otherwise it is as above.
template<Dimension D, Element T, class L, Dimension... X, detail::Operand P>
[[nodiscard]] constexpr auto write(tensor<T, L, X...>&& x, P const& part, extent first,
                                   std::source_location at = std::source_location::current()) {
  using all  = tensor<T, L, X...>;
  using plan = write_plan<actual<L>, shape<X...>, D, detail::shape_in<P>>;
  if constexpr (accepted<typename plan::verdict> && detail::operands_fit_in_place<all, P>) {
    auto& m         = x.machine();
    extent const n  = m.counted().template of<typename plan::own>();
    bool const here = first >= 0 && first + n <= m.counted().template of<D>();
    if (here && x.handle().alone() && !detail::wants_gradient(x, part)) {
      m.begin_operation("write", at);
      detail::expect_one_mesh(m, part.machine());
      m.run(task::write_part<T>{first}, plan::part, x.data_to_write(), part.data());
      return x.without_slot();
    }
  }
  return write<D>(std::as_const(x), part, first, at);
}

MESHTF_ACCEPT_REJECTED(write)

}  // namespace v0
}  // namespace meshtf
