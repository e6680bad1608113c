// block_of: one of the fixed blocks of a batch, on the process that has it.
#pragma once

#include <source_location>
#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/plan/batch_blocks.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The number of the first block of this process. A ledger accounts for the first process.
template<class Blocks, class Machine>
constexpr extent first_block(Machine const& m) {
  if constexpr (Machine::computes) return m.place().part_of(Blocks::batch.over) * Blocks::own;
  else return 0;
}

[[noreturn]] inline void throw_block_elsewhere(std::string_view batch, extent i, extent first, extent own) {
  throw software_error("block_of " + std::string{batch} + " expects a block of this process, " +
                       std::to_string(first) + " to " + std::to_string(first + own - 1) + ", got " +
                       std::to_string(i) + ": call it in reproducible with the number that its step gets");
}
[[noreturn]] inline void throw_block_of_value(std::string_view batch) {
  throw software_error("block_of " + std::string{batch} +
                       " takes a part of data, but this value was computed from parameters: compute it from "
                       "a block in the step, or pass stop_gradient(x)");
}

}  // namespace detail

//= || x.split(size)[i] || jax.lax.dynamic_slice_in_dim(x, i * size, size) || block_of<batch, block>(x, i)
/// Block `i` of `x`, as the dimension `Block` in the place of `Batch`: the elements from i `Block::size` on.
/// For the steps of `reproducible`, which say which blocks this process has; others have other blocks of the
/// same name at that time. A copy: nothing is sent.
///
/// `x` is data, of any element type. Errors: `blocks_are_no_power_of_two`, `block_is_split`,
/// `parts_do_not_divide_blocks`, `blocks_of_counted_dim`; `software_error` for a block of another process, or
/// if `x` needs a gradient.
template<Dimension Batch, Dimension Block, Tensor X>
constexpr auto block_of(X const& x, extent i, std::source_location at = std::source_location::current()) {
  using L       = typename X::layout_type;
  using plan    = block_plan<actual<L>, typename X::shape_type, Batch, Block>;
  using verdict = typename plan::verdict;
  static_assert(accepted<verdict>, "meshtf: block_of can't take this block of this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using blocks = typename plan::blocks;
    using value  = typename X::element_type;
    auto& m      = x.machine();
    m.begin_operation("block_of", at);
    extent const local = i - detail::first_block<blocks>(m);
    if (local < 0 || local >= blocks::own)
      detail::throw_block_elsewhere(name_of<Batch>(), i, i - local, blocks::own);
    if (x.needs_gradient()) detail::throw_block_of_value(name_of<Batch>());
    auto z = tensor_of<value, L, typename plan::result>::uninitialised(m);
    m.run(task::take_part<value>{local * Block::size}, plan::part, x.data(), z.data());
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(block_of)

}  // namespace v0
}  // namespace meshtf
