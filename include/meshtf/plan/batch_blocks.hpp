// Blocks of a batch: neighbours that one process works on alone, the same ones for every number of processes.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <meshtf/plan/reason.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The number of blocks is not a power of two: `Batch` has `Size` elements, and `Block` has `Each`.
template<class Batch, class Block, extent Size, extent Each>
struct blocks_are_no_power_of_two {};

/// One process works on a block alone, so `Block` is whole, but the layout splits it over `Axes`.
template<class Block, class Axes>
struct block_is_split {};

/// The layout cuts `Batch` into `Parts` parts. For its `Blocks` blocks they must be a power of two, and at
/// most as many.
template<class Batch, extent Parts, extent Blocks>
struct parts_do_not_divide_blocks {};

/// How many elements of `Batch` there are is known at run time, so its blocks are not fixed.
template<class Batch>
struct blocks_of_counted_dim {};

/// Only `Batch` may be split, but the layout has `Rule`.
template<class Batch, class Rule>
struct rule_besides_batch {};

/// `Batch` under `L` as blocks of the size of `Block`. Block number i has the elements from i `Block::size`
/// on; a process has the `own` blocks of its part.
template<Layout L, Dimension Batch, Dimension Block>
struct batch_blocks {
  static constexpr placed batch = always_placed<L, Batch>;
  static constexpr extent count = Batch::size / Block::size;
  static constexpr extent parts = batch.parts;
  static constexpr extent own   = count / parts;

  static constexpr bool is_power =
      count * Block::size == Batch::size && std::has_single_bit(static_cast<std::uint64_t>(count));
  static constexpr bool divides = std::has_single_bit(static_cast<std::uint64_t>(parts)) && parts <= count;

  using verdict = first_objection<
      std::conditional_t<CountedDimension<Batch>, blocks_of_counted_dim<Batch>, legal>,
      std::conditional_t<is_power, legal, blocks_are_no_power_of_two<Batch, Block, Batch::size, Block::size>>,
      std::conditional_t<detail::may_be_whole<L, Block>, legal, block_is_split<Block, axes_of<L, Block>>>,
      std::conditional_t<divides, legal, parts_do_not_divide_blocks<Batch, parts, count>>>;
};

/// One block of a tensor of shape `X`, as the dimension `Block` in the place of `Batch`: a copy of neighbours
/// in a process's own part.
template<Layout L, class X, class Batch, class Block>
struct block_plan {
  using blocks  = batch_blocks<L, Batch, Block>;
  using result  = replaced<X, Batch, shape<Block>>;
  using verdict = first_objection<detail::dims_are_in<X, Batch>, placement_verdict_of<L, X>,
                                  typename blocks::verdict, placement_verdict_of<L, result>>;

  static constexpr steps_under<L, part_steps, united<X, shape<Block>>> part =
      plan_steps<L, part_steps, united<X, shape<Block>>, Batch, Block>(arrays_of<X, result>{});
};

inline constexpr collective_reason reason_to_join_blocks{.words = "a tree joins the blocks of a batch"};

namespace detail {

template<class Batch, class M, class Rule>
using allowed_beside_batch = std::conditional_t<std::is_same_v<typename Rule::dimension, Batch> ||
                                                    joining_among<M, typename Rule::over> == 0,
                                                legal, rule_besides_batch<Batch, Rule>>;

template<class Batch, class Base>
struct rules_beside_batch;
template<class Batch, class M, class... Rules>
struct rules_beside_batch<Batch, layout<M, Rules...>>
    : std::type_identity<first_objection<legal, allowed_beside_batch<Batch, M, Rules>...>> {};

}  // namespace detail

/// `legal`, or the objection to `reproducible<Batch, Block>` under `L`: a process computes a block alone.
template<Layout L, class Batch, class Block>
using reproducible_verdict =
    first_objection<typename detail::rules_beside_batch<Batch, detail::base_layout_of<L>>::type,
                    typename batch_blocks<L, Batch, Block>::verdict>;

}  // namespace v0
}  // namespace meshtf
