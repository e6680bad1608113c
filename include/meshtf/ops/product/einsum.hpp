// einsum: products of two tensors, summed over every dimension that is not named.
#pragma once

#include <cstdint>
#include <type_traits>

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/plan/einsum_plan.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>
#include <meshtf/tensor/relocate.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class... D, Operand X>
constexpr auto sum_over(shape<D...>, X const& x, std::source_location at) {
  return sum<D...>(x, at);
}

/// An operand of a product: `x`, or if it alone has the dimensions `Alone`, its sum over them.
template<class Alone, Operand X>
constexpr decltype(auto) summed_first(X const& x, std::source_location at) {
  if constexpr (Alone::rank == 0) return (x);
  else return sum_over(Alone{}, x, at);
}

/// `legal`, or the objection to a product over `Out`. Where one operand is a partial sum, the dimensions that
/// only the tensor has and that are summed are left out of the tensor: none of the unreduced axes may split
/// what the local terms are multiplied with.
template<class Out, Operand X, Operand Y>
struct product_of {
  using L     = layout_in<X>;
  using one   = shape_in<X>;
  using other = shape_in<Y>;
  using over  = union_of<L, unreduced_axes_in<X>, unreduced_axes_in<Y>>;
  using met = std::conditional_t<PartialSum<X>, united<one, without<other, summed_only_in<other, one, Out>>>,
                                 united<other, without<one, summed_only_in<one, other, Out>>>>;
  using verdict = first_objection<meeting_verdict<algebra::meeting::times, X, Y>,
                                  einsum_verdict<actual<L>, Out, one, other>,
                                  partial_sum_verdict<L, united<Out, met>, over>>;
};

/// `x` in elements of type `U`, for one product: itself, or converted.
template<class U, class T, class L, class... D>
constexpr decltype(auto) converted(tensor<T, L, D...> const& x) {
  if constexpr (std::is_same_v<U, T>) return (x);
  else return each<U, shape<D...>>(conversion<U, T>{}, x);
}

/// `x` in the elements and under the layout of `P`, for one product: itself, converted, then moved, so that
/// what is sent has the elements in which it is used; or what its block has gathered.
template<class P, class T, class L, class... D>
constexpr decltype(auto) used_with(tensor<T, L, D...> const& x) {
  using own  = actual<L>;
  using used = actual<layout_in<P>>;
  if constexpr (std::is_same_v<own, used> && std::is_same_v<element_in<P>, T>) {
    return (x);
  } else if constexpr (std::is_same_v<own, used>) {
    return converted<element_in<P>>(x);
  } else {
    using result = tensor<element_in<P>, layout_in<P>, D...>;
    if constexpr (is_kept_part_of<used, own>)
      if (auto const found = find_packed<element_in<P>>(x))
        return found.block->template used<result>(*found.weight);
    x.machine().because(&reason_to_move<own, shape<D...>, used, shape<D...>>);
    return relocated<result>(converted<element_in<P>>(x), reshard_plan<own, used, shape<D...>>::steps);
  }
}

/// Contributes the product of dz and the other operand. Where it is computed from local terms of a sum over
/// `unreduced`, it is unreduced over those axes too. If x is kept under another layout than it is used in,
/// the gradient moves back: what is unreduced over the axes that split x is reduce-scattered.
template<class T, class L, class... X, class DZ, class Y>
constexpr void contribute_product(tensor<T, L, X...> const& x, axis_set unreduced, DZ const& dz, Y const& y) {
  using used   = actual<typename DZ::layout_type>;
  auto const g = contracted<shape<X...>>(dz, y);
  if constexpr (std::is_same_v<actual<L>, used>)
    contribute(x, converted<T>(g.value), g.unreduced | unreduced, g.why);
  else
    contribute_moved<relocation<actual<L>, shape<X...>, used, shape<X...>>>(x, converted<T>(g.value),
                                                                            g.unreduced | unreduced);
}

/// What becomes of a sum over a split dimension: it is reduced over the axes, or stays a partial sum.
enum class sum_policy : std::uint8_t { reduce, keep_partial };

/// Contracts p and q, and records the backward function. With `sum_policy::reduce` the product of two tensors
/// is reduced over the axes of the summed dimensions; all other sums stay unreduced. If q has other elements,
/// or another layout, it is converted and moved to those of p for the product, and once more for the gradient
/// of p: the tape keeps q, which as a weight lives anyway, and not its image.
template<sum_policy Policy, class Out, Operand P, Operand Q>
constexpr auto contract_and_record(char const* name, std::source_location at, P const& p, Q const& q) {
  using L       = layout_in<P>;
  auto const& x = local_terms(p);
  auto const& y = local_terms(q);
  x.machine().begin_operation(name, at);
  auto z = contracted<Out>(x, used_with<P>(y));
  if constexpr (Policy == sum_policy::reduce) reduce_unless_partial<P, Q>(z);
  if constexpr (is_kept_part_of<actual<L>, actual<layout_in<Q>>>)
    if (auto const found = find_packed<element_in<P>>(y); found && x.needs_gradient())
      found.weight->used_again = true;
  if (wants_gradient(x, y))
    record(z.value, [x = keep(x, y.needs_gradient()), y = keep(y, x.needs_gradient()),
                     x_unreduced = unreduced_axes_of(p), y_unreduced = unreduced_axes_of(q)](auto const& dz) {
      if (x.needs_gradient()) contribute_product(x.target(), y_unreduced, dz, used_with<P>(y.value()));
      if (y.needs_gradient()) contribute_product(y.target(), x_unreduced, dz, x.value());
    });
  if constexpr (Policy == sum_policy::reduce && !PartialSum<P> && !PartialSum<Q>) {
    return std::move(z.value);
  } else {
    using loops  = typename einsum_plan<actual<L>, Out, shape_in<P>, shape_in<Q>>::loops;
    using summed = typename remaining_axes<axes_that_split<L, loops>, splitting_axes<L, Out>>::type;
    using over   = union_of<L, unreduced_axes_in<P>, unreduced_axes_in<Q>, summed>;
    return partial<tensor_of<element_in<P>, L, Out>, over>{
        std::move(z.value), z.unreduced | unreduced_axes_of(p) | unreduced_axes_of(q)};
  }
}

/// Whether `Y` is a parameter that the layout of `X` keeps in smaller parts (`kept_over`).
template<class X, class Y>
inline constexpr bool is_kept_for = false;
template<Operand X, Tensor Y>
inline constexpr bool is_kept_for<X, Y> =
    is_kept_part_of<actual<layout_in<X>>, actual<typename Y::layout_type>>;

/// einsum of x and a parameter that is kept in smaller parts: gathered for the product, and again in the
/// backward pass.
template<class Out, Operand X, Tensor Y>
constexpr auto einsum_with_kept(X const& x, Y const& y, std::source_location at) {
  using used    = tensor_of<typename Y::element_type, layout_in<X>, typename Y::shape_type>;
  using fit     = operands_fit<X, used>;
  using verdict = first_objection<fit, typename product_of<Out, X, used>::verdict>;
  static_assert(accepted<fit>, "meshtf: einsum can't join these operands");
  static_assert(accepted<verdict> || !accepted<fit>, "meshtf: this layout can't contract these operands");
  constexpr bool all_summed_in_both = summed_only_in<shape_in<X>, shape_in<Y>, Out>::rank == 0 &&
                                      summed_only_in<shape_in<Y>, shape_in<X>, Out>::rank == 0;
  static_assert(all_summed_in_both || !accepted<verdict>,
                "meshtf: a dimension of one operand alone is summed: gather the parameter first, "
                "einsum<...>(x, reshard<L>(w))");
  if constexpr (accepted<verdict> && all_summed_in_both)
    return contract_and_record<sum_policy::reduce, Out>("einsum", at, x, y);
  else return rejected{};
}

}  // namespace detail

/// z[Out...] = the sum of x * y over all dimensions but `Out...`, which are named as on the right side of the
/// formula.
///
/// Where a summed dimension is split, each process multiplies the parts it holds, and one all-reduce of z
/// over the axes of the summed dimensions adds the products up; every other einsum is local. A summed
/// dimension that only one operand has is summed in that operand first. If one operand is a partial sum, the
/// result is unreduced over its own unreduced axes and the axes of the summed dimensions, and nothing is
/// sent.
/// Gradients: dx = einsum<X...>(dz, y), dy = einsum<Y...>(dz, x); each is unreduced over the axes of the
/// dimensions it sums over, and the unreduced axes of the other operand.
/// y may be a `kept_parameter` of x's layout: it is gathered for the product and once more for dx, and dy is
/// reduce-scattered.
/// Errors: `einsum_verdict`. Source: Shazeer et al., Mesh-TensorFlow (2018), sections 3.2 and 3.3.
template<Dimension... Out, detail::Operand X, detail::Operand Y>
constexpr auto einsum(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  if constexpr (detail::is_kept_for<X, Y>) {
    return detail::einsum_with_kept<shape<Out...>>(x, y, at);
  } else {
    using fit     = detail::operands_fit<X, Y>;
    using verdict = typename detail::product_of<shape<Out...>, X, Y>::verdict;
    static_assert(accepted<fit>, "meshtf: einsum can't join these operands");
    static_assert(NumberElement<detail::element_in<X>>,
                  "meshtf: bools are not multiplied: einsum<...>(cast<int>(x), ...)");
    if constexpr (detail::PartialSum<X> && detail::PartialSum<Y>)
      static_assert(accepted<verdict>,
                    "meshtf: einsum can't multiply two partial sums: write einsum<...>(finish(p), q)");
    else if constexpr (detail::PartialSum<X> || detail::PartialSum<Y>)
      static_assert(
          accepted<verdict>,
          "meshtf: this layout can't contract a partial sum with this: write einsum<...>(finish(p), y)");
    else static_assert(accepted<verdict>, "meshtf: this layout can't contract these operands");
    if constexpr (!accepted<first_objection<fit, verdict>>) {
      return detail::rejected{};
    } else {
      using only_in_x   = detail::summed_only_in<detail::shape_in<X>, detail::shape_in<Y>, shape<Out...>>;
      using only_in_y   = detail::summed_only_in<detail::shape_in<Y>, detail::shape_in<X>, shape<Out...>>;
      auto const& left  = detail::summed_first<only_in_x>(x, at);
      auto const& right = detail::summed_first<only_in_y>(y, at);
      return detail::contract_and_record<detail::sum_policy::reduce, shape<Out...>>("einsum", at, left,
                                                                                    right);
    }
  }
}

/// `einsum` without its all-reduce: the sum over split dimensions stays unreduced, so that it can be finished
/// at a better place.
///
/// Result: `partial<tensor<T, L, Out...>, axes<...>>` over the axes of the summed dimensions. Nothing is
/// sent. Gradients are those of einsum: the gradient of a partial sum is whole, as it is for the local terms
/// of any sum. If an operand is a partial sum, einsum sends nothing either, and this is the same.
template<Dimension... Out, detail::Operand X, detail::Operand Y>
constexpr auto partial_einsum(X const& x, Y const& y,
                              std::source_location at = std::source_location::current()) {
  if constexpr (detail::PartialSum<X> || detail::PartialSum<Y>) {
    return einsum<Out...>(x, y, at);
  } else {
    using fit     = detail::operands_fit<X, Y>;
    using verdict = typename detail::product_of<shape<Out...>, X, Y>::verdict;
    static_assert(accepted<fit>, "meshtf: partial_einsum can't join these operands");
    static_assert(NumberElement<detail::element_in<X>>,
                  "meshtf: bools are not multiplied: partial_einsum<...>(cast<int>(x), ...)");
    static_assert(accepted<verdict>, "meshtf: this layout can't contract these operands");
    constexpr bool all_summed_in_both =
        detail::summed_only_in<detail::shape_in<X>, detail::shape_in<Y>, shape<Out...>>::rank == 0 &&
        detail::summed_only_in<detail::shape_in<Y>, detail::shape_in<X>, shape<Out...>>::rank == 0;
    static_assert(
        all_summed_in_both,
        "meshtf: partial_einsum sums dimensions that both operands have: sum<D>(x) the others first");
    if constexpr (all_summed_in_both && accepted<first_objection<fit, verdict>>)
      return detail::contract_and_record<detail::sum_policy::keep_partial, shape<Out...>>("partial_einsum",
                                                                                          at, x, y);
    else return detail::rejected{};
  }
}

MESHTF_ACCEPT_REJECTED(einsum)
MESHTF_ACCEPT_REJECTED(partial_einsum)

}  // namespace v0
}  // namespace meshtf
