// What a scaled dot-product attention will do, decided before it runs.
#pragma once

#include <meshtf/plan/attention_steps.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/placement_needs.hpp>

namespace meshtf {
inline namespace v0 {

/// Keys have the dimensions of the queries, with the memory's in place of the query's: `Expected`, in any
/// order, or fewer of them, and values those of the keys, with one that says their width in place of the
/// compared one. But not `Given`.
template<class Expected, class Given>
struct memory_has_other_dims {};

/// Keys and values have `Groups` where the queries have `Heads`, but `Heads::size` is no multiple of
/// `Groups::size`: every key serves as many heads.
template<class Heads, class Groups>
struct heads_are_no_multiple {};

/// Keys and values have `Groups` where the queries have `Heads`, so several heads share a key. Split the
/// heads of q: the dimension that only q has shares the keys.
template<class Heads, class Groups>
struct heads_share_keys {};

/// A bias by distance has one element for each distance from a position to another: `Dim::size` must be
/// `Needed`, the positions of the queries and the memory less one.
template<class Dim, extent Needed>
struct bias_has_no_such_distances {};

/// A bias or segment ids have a dimension that the queries do not have, or one that they must not have, or
/// lack the one along which they lie.
template<class Expected, class Given>
struct term_has_other_dims {};

/// Attention compares a position with all of the memory within a process, so neither the memory nor the
/// dimension along which queries and keys are compared can be split. The queries can: give the memory a name
/// of its own that is whole,
/// `attention<length, memory, key>(q, rename<length, memory>(k), rename<length, memory>(v))`, which gathers
/// keys and values. Or `reshard` to a layout that keeps the positions whole.
template<class Dim, class Axes>
struct attention_along_split_dim {};

namespace task {

/// z = the mean of the values, weighted for each query; log_total = the logarithm of the sum of each query's
/// weights. Arrays: `attention_arrays<T>`.
template<Element T>
struct attend {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  attention_view view{};
  double scale = 0;  // 0 means 1 / sqrt(depth)

  constexpr unsigned options() const { return detail::to_bits(view.dropped > 0); }
  static constexpr attend from_bits(unsigned w) { return {{.dropped = detail::has_bit(w, 0) ? 0.5 : 0}}; }

  constexpr meshtf::work work(attention_steps const& s) const {
    extent const pairs  = s.pairs.iterations;
    extent const shares = pairs * s.shares.iterations;
    extent const rows   = shares * s.queries;
    return {.kind        = "attention",
            .flops       = s.scores_flops() + s.mixture_flops(),
            .elementwise = s.softmax_flops() + attention_dropout_flops(s, view),
            .bytes       = ((rows + pairs * s.memories) * (s.depth + s.width) + shares * s.biases()) *
                         extent{sizeof(T)} +
                     rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_scratch(s); }
  void compute(attention_steps const& steps, place_in_mesh const&, attention_arrays<T> const& arrays,
               computed<T>* scratch) const;
};

/// The gradients that are wanted. Arrays: `attention_gradient_arrays<T>`.
template<Element T>
struct attention_gradient {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  attention_wishes wants{};
  attention_view view{};
  double scale = 0;

  constexpr unsigned options() const {
    return detail::to_bits(wants.query, wants.key, wants.value, wants.bias, view.dropped > 0);
  }
  static constexpr attention_gradient from_bits(unsigned w) {
    return {{detail::has_bit(w, 0), detail::has_bit(w, 1), detail::has_bit(w, 2), detail::has_bit(w, 3)},
            {.dropped = detail::has_bit(w, 4) ? 0.5 : 0}};
  }

  constexpr meshtf::work work(attention_steps const& s) const {
    extent const pairs    = s.pairs.iterations;
    extent const shares   = pairs * s.shares.iterations;
    extent const rows     = shares * s.queries;
    extent const memories = pairs * s.memories;
    extent const written  = (wants.query ? rows * s.depth : 0) + (wants.key ? memories * s.depth : 0) +
                           (wants.value ? memories * s.width : 0);
    extent const read = rows * (s.depth + 2 * s.width) + memories * (s.depth + s.width);
    return {.kind        = "attention",
            .flops       = attention_gradient_flops(s, wants),
            .elementwise = s.softmax_flops() + attention_dropout_flops(s, view),
            .bytes       = (read + written + shares * s.biases() * (wants.bias ? 2 : 1)) * extent{sizeof(T)} +
                     rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_gradient_scratch(s); }
  void compute(attention_steps const& steps, place_in_mesh const&, attention_gradient_arrays<T> const& arrays,
               computed<T>* scratch) const;
};

}  // namespace task

namespace detail {

template<class L, class D>
using whole_for_attention = std::conditional_t<always_split_over<L, shape<D>> == 0, legal,
                                               attention_along_split_dim<D, axes_of<L, D>>>;

/// The verdict on dimensions that must be whole.
template<class L, class S>
struct all_whole_for_attention;
template<class L, class... D>
struct all_whole_for_attention<L, shape<D...>> {
  using verdict = first_objection<whole_for_attention<L, D>...>;
};

/// The verdict on keys of shape `Given`, which may lack dimensions of `Expected`. If they have one other
/// dimension, it may be that of grouped heads.
template<class Expected, class Given, class Missing = without<Expected, Given>,
         class Strange = without<Given, Expected>>
struct keys_objection : std::type_identity<memory_has_other_dims<Expected, Given>> {};
template<class Expected, class Given, class Missing>
struct keys_objection<Expected, Given, Missing, shape<>> : std::type_identity<legal> {};
template<class Expected, class Given, class Heads, class Groups>
  requires(Heads::size > Groups::size && Heads::size % Groups::size == 0)
struct keys_objection<Expected, Given, shape<Heads>, shape<Groups>>
    : std::type_identity<heads_share_keys<Heads, Groups>> {};

template<class Expected, class Given, class Heads, class Groups>
  requires(Heads::size > Groups::size && Heads::size % Groups::size != 0)
struct keys_objection<Expected, Given, shape<Heads>, shape<Groups>>
    : std::type_identity<heads_are_no_multiple<Heads, Groups>> {};

template<class Expected, class Given, class Memory, class Key>
using keys_verdict = std::conditional_t<Given::template has<Memory> && Given::template has<Key>,
                                        typename keys_objection<Expected, Given>::type,
                                        memory_has_other_dims<Expected, Given>>;

/// The width of values of shape `V` with keys of shape `K`: `Key`, or the one dimension that they have in
/// its place.
template<class Key, class K, class V, class Q, class Missing = without<K, V>, class Strange = without<V, K>>
struct width_of_values {
  using type    = Key;
  using verdict = memory_has_other_dims<K, V>;
};
template<class Key, class K, class V, class Q>
struct width_of_values<Key, K, V, Q, shape<>, shape<>> {
  using type    = Key;
  using verdict = legal;
};
template<class Key, class K, class V, class Q, class Width>
  requires(!Q::template has<Width>)
struct width_of_values<Key, K, V, Q, shape<Key>, shape<Width>> {
  using type    = Width;
  using verdict = legal;
};

/// A bias of shape `B`. If it has the memory's dimension, it has an element for each score; otherwise one for
/// each distance, along the one dimension that it has and the queries do not.
template<class Query, class Memory, class Key, class Q, class B, class Strange = without<B, Q>>
struct shape_of_bias {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = term_has_other_dims<Q, B>;
};
template<class Query, class Memory, class Key, class Q>
struct shape_of_bias<Query, Memory, Key, Q, shape<>, shape<>> {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = legal;
};
template<class Query, class Memory, class Key, class Q, class B>
struct shape_of_bias<Query, Memory, Key, Q, B, shape<Memory>> {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = std::conditional_t<B::template has<Key>, term_has_other_dims<Q, B>, legal>;
};
template<class Query, class Memory, class Key, class Q, class B, class Distance>
  requires(!std::same_as<Distance, Memory>)
struct shape_of_bias<Query, Memory, Key, Q, B, shape<Distance>> {
  using distance                 = shape<Distance>;
  static constexpr extent count  = Distance::size;
  static constexpr extent needed = Query::size + Memory::size - 1;
  using enough =
      std::conditional_t<(Distance::size >= needed), legal, bias_has_no_such_distances<Distance, needed>>;
  using verdict =
      std::conditional_t<B::template has<Key> || B::template has<Query>, term_has_other_dims<Q, B>, enough>;
};

/// Segment ids of shape `S` for rows of shape `Rows`, of which they have `Along`.
template<class Rows, class S, class Along>
using segments_verdict =
    std::conditional_t<S::rank == 0 || (S::template has<Along> && without<S, Rows>::rank == 0), legal,
                       term_has_other_dims<Rows, S>>;

template<class L, class Loops, class Query, class Memory, class Key, class Width, class... Distance,
         class... S>
constexpr auto plan_attention(shape<Distance...>, arrays_of<S...> arrays) {
  return plan_steps<L, attention_steps, Loops, Query, Memory, Key, Width, Distance...>(arrays);
}

}  // namespace detail

/// Queries of shape `Q` attend to keys of shape `K` and values of shape `V`: positions `Query` to positions
/// `Memory` (in self-attention the same dimension), compared along `Key`. All other dimensions are batch
/// dimensions: they may be split. Those that only the queries have, also their own positions, share the keys
/// and values, whose gradients are unreduced over the axes that split them; nothing else is sent. `B`, `QS`
/// and `MS` are the shapes of a bias and of segment ids, `shape<>` where there are none.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V, class B = shape<>,
         class QS = shape<>, class MS = shape<>>
struct attention_plan {
  using memory    = std::conditional_t<std::same_as<Query, Memory>, Q, replaced<Q, Query, shape<Memory>>>;
  using row       = without<Q, shape<Key>>;
  using widths    = detail::width_of_values<Key, K, V, Q>;
  using width     = typename widths::type;
  using result    = std::conditional_t<std::same_as<width, Key>, Q, replaced<Q, Key, shape<width>>>;
  using biases    = detail::shape_of_bias<Query, Memory, Key, Q, B>;
  using distance  = typename biases::distance;
  using pairs     = without<row, shape<Query>>;
  using full_bias = std::conditional_t<
      B::rank == 0, shape<>,
      united<pairs, std::conditional_t<distance::rank == 0, shape<Query, Memory>, distance>>>;
  using loops      = united<united<united<Q, shape<Memory>>, shape<width>>, distance>;
  using whole_dims = united<united<shape<Memory>, shape<Key>>, united<shape<width>, distance>>;
  using whole      = typename detail::all_whole_for_attention<L, whole_dims>::verdict;
  static constexpr unsplit needs{split_over<L, whole_dims>};
  using terms = first_objection<typename biases::verdict, detail::segments_verdict<row, QS, Query>,
                                detail::segments_verdict<without<memory, shape<Key>>, MS, Memory>>;
  using verdict =
      first_objection<detail::dims_are_in<Q, Query, Key>, detail::keys_verdict<memory, K, Memory, Key>,
                      typename widths::verdict, terms, whole, placement_verdict_of<L, loops>>;
  using arrays = std::conditional_t<B::rank + QS::rank + MS::rank == 0, arrays_of<Q, K, V, result, row>,
                                    arrays_of<Q, K, V, result, row, full_bias, QS, MS>>;

  static constexpr steps_under<L, attention_steps, loops> steps =
      detail::plan_attention<L, loops, Query, Memory, Key, width>(distance{}, arrays{});

  /// The elements of a row of the bias.
  static constexpr extent distance_count = biases::count;

  /// The gradients of keys and values are sums over what shares them, that of a bias over the queries.
  static constexpr axis_set memory_unreduced = split_over<L, without<Q, K>> & ~split_over<L, K>;
  static constexpr axis_set bias_unreduced   = split_over<L, shape<Query>> & ~split_over<L, full_bias>;
};

/// `legal`, or the objection to `attention<Query, Memory, Key>` of these shapes.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V, class B = shape<>,
         class QS = shape<>, class MS = shape<>>
using attention_verdict = typename attention_plan<L, Query, Memory, Key, Q, K, V, B, QS, MS>::verdict;

}  // namespace v0
}  // namespace meshtf
