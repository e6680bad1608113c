// The dimensions of a mixture of experts: groups of tokens, the places that experts have for them, and what
// a layout may say of these.
#pragma once

#include <algorithm>
#include <ratio>
#include <source_location>
#include <type_traits>

#include <meshtf/ops/shape/reshape.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

namespace detail {

constexpr extent places_for(extent tokens, extent experts, extent factor, extent divisor) {
  return std::max(extent{4}, std::min(tokens, tokens * factor / (experts * divisor)));
}

}  // namespace detail

/// The places that each expert has for the tokens of a group: `factor` times as many as a group's tokens are
/// per expert, rounded down, at least 4, and not more than tokens unless they are fewer than 4.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), its layer transformer_moe_layer_v1.
template<Dimension Tokens, Dimension Experts, class Factor>
struct capacity : dim<detail::places_for(Tokens::size, Experts::size, Factor::num, Factor::den)> {
  static_assert(Factor::num > 0 && Factor::den > 0, "meshtf: a capacity factor is positive");
};

/// The capacity factors of training and of evaluation, each a `std::ratio`. A factor of E experts drops no
/// token.
template<class Training = std::ratio<5, 4>, class Evaluation = std::ratio<2>>
struct capacity_factors {
  using training   = Training;
  using evaluation = Evaluation;
};

/// `K` of `Experts` are chosen for a token, and there are fewer.
template<class Experts, extent K>
struct more_experts_are_chosen_than_there_are {};

/// A group of tokens has whole rows of the batch, so the number of groups divides that of rows.
template<class Groups, class Batch>
struct groups_do_not_divide_batch {};

/// The layout cuts `Dim` into unequal parts, or it is counted at run time. Groups and experts change places
/// in one all-to-all, in which every process hands over equally much: `split` them, and fill the groups by
/// packing sequences.
template<class Dim>
struct exchanged_dim_is_padded {};

/// The layout splits the groups over other axes than the batch of which they are made, so rows would have to
/// move before anything is computed: split both over the same.
template<class Groups, class Batch>
struct groups_are_not_split_as_batch {};

/// A token's place with its expert depends on those before it in its group, but the layout splits `Dim` over
/// axes: let it be whole, or reshard x before.
template<class Dim>
struct tokens_of_group_are_split {};

/// A mixture of experts takes x[batch, length, model]: `Given` has no dimension of tokens, or does not end
/// with `Model`.
template<class Given, class Model>
struct tokens_have_no_order {};

/// The mask of a mixture of experts has an element for each token, so it has the dimensions of x without the
/// model's, `Tokens`, in this order: it has `Given`.
template<class Given, class Tokens>
struct mask_is_not_of_tokens {};

namespace detail {

/// Rows of the batch in a group, and all tokens of these rows.
template<Dimension Groups, extent Rows>
struct rows_of : dim<Rows> {};
template<Dimension Groups, extent Tokens>
struct tokens_of : dim<Tokens> {};

/// The places of all experts for the tokens of a group, and one more for choices that find none.
template<Dimension Experts, Dimension Capacity>
struct places_of : dim<Experts::size * Capacity::size> {};
template<Dimension Places>
struct places_and_none : dim<Places::size + 1> {};

/// The choices of a group: first all first ones, in the order of the tokens, then all second ones.
template<Dimension Chosen, Dimension Tokens>
struct choices_of : dim<Chosen::size * Tokens::size> {};

template<class L, class D>
using even_verdict =
    std::conditional_t<CountedDimension<D> || placed_under<L, D>.pads, exchanged_dim_is_padded<D>, legal>;
template<class L, class D>
using whole_verdict =
    std::conditional_t<always_split_over<L, shape<D>> == 0, legal, tokens_of_group_are_split<D>>;

/// The dimensions `Inner...` of a group's tokens as one.
template<class Groups, class... Inner>
struct tokens_from {
  using type = tokens_of<Groups, (Inner::size * ... * extent{1})>;
  static constexpr auto merged(auto const& x, std::source_location at) {
    return merge_dims<Inner..., type>(x, at);
  }
  static constexpr auto divided(auto const& z, std::source_location at) {
    return split_dim<type, Inner...>(z, at);
  }
};
template<class Groups, class Inner>
struct tokens_from<Groups, Inner> {
  using type = Inner;
  static constexpr auto merged(auto const& x, std::source_location) { return x; }
  static constexpr auto divided(auto const& z, std::source_location) { return z; }
};

/// How a tensor of shape `S`, [batch, ..., model], becomes [groups, tokens, model] and comes back.
template<class Groups, class S>
struct token_groups;

// each row of the batch is a group
template<class Groups, class... D>
struct token_groups<Groups, shape<Groups, D...>> {
  using inner = tokens_from<Groups, D...>;
  template<class L>
  using verdict = first_objection<even_verdict<L, Groups>, whole_verdict<L, D>...>;

  static constexpr auto grouped(auto const& x, std::source_location at) { return inner::merged(x, at); }
  static constexpr auto ungrouped(auto const& z, std::source_location at) { return inner::divided(z, at); }
};

template<class Groups, class Batch, class... D>
struct token_groups<Groups, shape<Batch, D...>> {
  using rows  = rows_of<Groups, std::max(extent{1}, Batch::size / Groups::size)>;
  using inner = tokens_from<Groups, rows, D...>;
  template<class L>
  using verdict = first_objection<
      std::conditional_t<Batch::size % Groups::size == 0, legal, groups_do_not_divide_batch<Groups, Batch>>,
      even_verdict<L, Groups>, even_verdict<L, Batch>,
      std::conditional_t<always_split_over<L, shape<Groups>> == always_split_over<L, shape<Batch>>, legal,
                         groups_are_not_split_as_batch<Groups, Batch>>,
      whole_verdict<L, D>...>;

  static constexpr auto grouped(auto const& x, std::source_location at) {
    return inner::merged(split_dim<Batch, Groups, rows>(x, at), at);
  }
  static constexpr auto ungrouped(auto const& z, std::source_location at) {
    return merge_dims<Groups, rows, Batch>(inner::divided(z, at), at);
  }
};

/// `legal`, or the objection to a layer of these experts under `L`, of which `Chosen` are chosen.
template<class L, class Experts, class Chosen>
using experts_verdict =
    first_objection<std::conditional_t<(Chosen::size <= Experts::size), legal,
                                       more_experts_are_chosen_than_there_are<Experts, Chosen::size>>,
                    placement_verdict<L, Experts>, even_verdict<L, Experts>>;

template<class Groups, class X>
using way_to_groups = token_groups<Groups, typename meshtf::detail::but_last<typename X::shape_type>::rest>;

/// `legal`, or the objection to groups of the tokens of `X`.
template<class Groups, class Model, class X, class S>
struct groups_check : std::type_identity<tokens_have_no_order<S, Model>> {};
template<class Groups, class Model, class X, class First, class Second, class... More>
  requires(std::is_same_v<typename meshtf::detail::but_last<shape<First, Second, More...>>::last, Model> &&
           !(std::is_same_v<First, Groups> && sizeof...(More) == 0))
struct groups_check<Groups, Model, X, shape<First, Second, More...>>
    : std::type_identity<
          typename way_to_groups<Groups, X>::template verdict<actual<typename X::layout_type>>> {};

template<class X>
struct shape_if_any : std::type_identity<void> {};
template<Tensor X>
struct shape_if_any<X> : std::type_identity<typename X::shape_type> {};
// what was refused before has been reported
template<class Groups, class Model, class X>
struct groups_check<Groups, Model, X, void> : std::type_identity<legal> {};
template<class Groups, class Model, class X>
using groups_verdict = typename groups_check<Groups, Model, X, typename shape_if_any<X>::type>::type;

/// `legal`, or the objection to `Mask` as that of the tokens of `X`.
template<class X, class Mask>
struct token_mask_check : std::type_identity<legal> {};
template<Tensor X, Tensor Mask>
  requires(!std::is_same_v<typename Mask::shape_type,
                           typename meshtf::detail::but_last<typename X::shape_type>::rest>)
struct token_mask_check<X, Mask>
    : std::type_identity<mask_is_not_of_tokens<
          typename Mask::shape_type, typename meshtf::detail::but_last<typename X::shape_type>::rest>> {};
template<class X, class Mask>
using token_mask_verdict = typename token_mask_check<X, Mask>::type;

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
