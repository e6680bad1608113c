// rename: the same elements under another dimension's name.
#pragma once

#include <source_location>

#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/tensor/partial_sums.hpp>

namespace meshtf {
inline namespace v0 {

/// `A` in a tensor that has `B`, after both have changed places: a rename made parts of `B` out of parts of
/// `A`. It is whole where an axis splits both, and elsewhere split as `A`. No layout names it. A record does,
/// so that a search prices both: `record<training, batch, experts, groups, exchanged_dim<groups, experts>>`.
template<Dimension A, Dimension B>
struct exchanged_dim : dim<A::size> {};

namespace detail {

/// What `A` is called in a tensor that has `B`, after both have changed places, and whether they do under
/// `L`. The search has another way (search/undecided_moves.hpp).
template<class L, class A, class B>
struct exchange_under {
  // an axis of one process counts too: it splits at most one dimension of a tensor
  static constexpr bool places = (placed_under<L, A>.over.set() & placed_under<L, B>.over.set()) != 0;
  using type                   = std::conditional_t<places, exchanged_dim<A, B>, A>;
  static constexpr void note(auto&) {}
};

/// Errors: `software_error` if there are fewer elements of `From` than of `To`.
template<class From, class To, class Machine>
constexpr void expect_elements_for(Machine const& m) {
  if constexpr (CountedDimension<From>)
    if (extent const there = m.counted().template of<From>(), wanted = m.counted().template of<To>();
        there < wanted)
      throw_counted_less(m.now(), name_of<From>(), there, wanted);
}

/// Names in pairs, old and new, as two lists. What is left over of an odd number is no list.
template<class From, class To, class... Names>
struct paired_names {
  static constexpr bool paired = false;
};
template<class... F, class... T>
struct paired_names<shape<F...>, shape<T...>> {
  static constexpr bool paired = true;
  using from                   = shape<F...>;
  using to                     = shape<T...>;
};
template<class... F, class... T, class Old, class New, class... Names>
struct paired_names<shape<F...>, shape<T...>, Old, New, Names...>
    : paired_names<shape<F..., Old>, shape<T..., New>, Names...> {};

template<class D, class From, class To>
struct name_after;
template<class D, class... F, class... T>
struct name_after<D, shape<F...>, shape<T...>> {
  using found = decltype((shape<>{} + ... + kept_if<std::is_same_v<F, D>, T>{}));
  using type  = std::conditional_t<found::rank == 0, shape<D>, found>;
};

template<class From, class To>
using same_size = std::conditional_t<From::size == To::size, legal, dims_differ_in_size<From, To>>;

/// A tensor of shape `S` with the names `To` in the places of `From`, all at once. `Riding`: the axes over
/// which it is a local term.
template<class L, class S, class From, class To, axis_set Riding = 0>
struct renaming;
template<class S, class From, class To>
struct renamed_shape;
template<class... D, class... F, class... T>
struct renamed_shape<shape<D...>, shape<F...>, shape<T...>> {
  using result = decltype((shape<>{} + ... + typename name_after<D, shape<F...>, shape<T...>>::type{}));
  using named  = first_objection<dims_are_in<shape<D...>, F...>, named_once<F, F...>...>;
};
template<class L, class... D, class... F, class... T, axis_set Riding>
struct renaming<L, shape<D...>, shape<F...>, shape<T...>, Riding>
    : renamed_shape<shape<D...>, shape<F...>, shape<T...>> {
  using typename renamed_shape<shape<D...>, shape<F...>, shape<T...>>::result;
  using typename renamed_shape<shape<D...>, shape<F...>, shape<T...>>::named;

  static constexpr auto planned() {
    if constexpr (!accepted<named>) return named{};
    else return typename renaming_reshard_plan<L, shape<D...>, L, result, 0, Riding>::verdict{};
  }
  using verdict = decltype(planned());

  template<class X>
  static constexpr auto apply(X const& x, std::source_location at, bool = false) {
    using renamed = tensor_of<typename X::element_type, typename X::layout_type, result>;
    auto& m       = x.machine();
    m.begin_operation("rename", at);
    (expect_elements_for<F, T>(m), ...);
    return relocate<renamed, relocation<L, shape<D...>, L, result>>(
        x, 0, renaming_reshard_plan<L, shape<D...>, L, result, 0, Riding>::steps);
  }
};

}  // namespace detail

/// `x` with `To` in the place of `From`, which has the same size. If elements of `From` are counted at run
/// time, there are at least as many as of `To`. Further pairs of names are renamed at the same time, so they
/// may be exchanged:
///
///     auto here  = rename<length, memory>(x);
///     auto there = rename<groups, all_groups, all_experts, experts>(x);   // one all-to-all, if one axis
///     splits groups and experts
///
/// Where the layout splits them alike, nothing is copied and the result shares the shard. Otherwise it is one
/// reshard: from whole to split a slice (free), from split to whole an all-gather, from one axis to another
/// what `reshard_plan` says. Gradient: the reverse; see `detail::relocate`.
template<Dimension From, Dimension To, Dimension... More, class T, class L, class... D>
constexpr auto rename(tensor<T, L, D...> const& x,
                      std::source_location at = std::source_location::current()) {
  using names = detail::paired_names<shape<>, shape<>, From, To, More...>;
  static_assert(names::paired, "meshtf: rename takes pairs of names, each old and new");
  if constexpr (!names::paired) {
    return detail::rejected{};
  } else {
    using renaming = detail::renaming<actual<L>, shape<D...>, typename names::from, typename names::to>;
    using verdict  = typename renaming::verdict;
    static_assert(accepted<verdict>, "meshtf: rename can't give this dimension that name");
    if constexpr (!accepted<verdict>) return detail::rejected{};
    else return renaming::apply(x, at);
  }
}

/// A partial sum stays partial: its local terms are renamed. `To` must not be split over an axis over which
/// the sum may be unreduced; in that case reshard first.
template<Dimension From, Dimension To, Dimension... More, class T, class L, class... D, class Over>
constexpr auto rename(partial<tensor<T, L, D...>, Over> const& p,
                      std::source_location at = std::source_location::current()) {
  using names = detail::paired_names<shape<>, shape<>, From, To, More...>;
  static_assert(names::paired, "meshtf: rename takes pairs of names, each old and new");
  if constexpr (!names::paired) {
    return detail::rejected{};
  } else {
    using renaming     = detail::renaming<actual<L>, shape<D...>, typename names::from, typename names::to,
                                          detail::possibly_unreduced<L, Over>>;
    using partial_fits = detail::partial_sum_verdict<L, typename renaming::result, Over>;
    static_assert(accepted<partial_fits>,
                  "meshtf: rename can't split a partial sum over an unreduced axis: reshard or finish first");
    using verdict = std::conditional_t<accepted<partial_fits>, typename renaming::verdict, legal>;
    static_assert(accepted<verdict>, "meshtf: rename can't give this dimension that name");
    if constexpr (!accepted<first_objection<partial_fits, verdict>>) return detail::rejected{};
    else
      return detail::handed_through<algebra::use::layout_only>(p, renaming::apply(p.local_terms(), at, true));
  }
}

MESHTF_ACCEPT_REJECTED(rename)

}  // namespace v0
}  // namespace meshtf
